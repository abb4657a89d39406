//! Escapes and cuts text, and formats numbers for the page.

use crate::text::escape::printable;
use model::{Share, format_duration};
use std::fmt::{self, Write};
use std::time::Duration;

/// Text from outside, escaped for element content and quoted attributes.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in printable(self.0).chars() {
            match character {
                '&' => formatter.write_str("&amp;")?,
                '<' => formatter.write_str("&lt;")?,
                '>' => formatter.write_str("&gt;")?,
                '"' => formatter.write_str("&quot;")?,
                '\'' => formatter.write_str("&#39;")?,
                character => formatter.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// Ends with an ellipsis if `text` is longer.
pub fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

/// A statement in a table: short ones complete, longer ones unfold, all cut at
/// [`MAX_STATEMENT_LEN`].
pub fn statement(text: &str, out: &mut String) {
    let text = crate::text::shown_statement(text);
    let short = cut(text, SHORT_STATEMENT);
    if short.len() == text.len() {
        let _ = write!(out, "<code>{}</code>", Escaped(text));
    } else {
        let _ = write!(
            out,
            "<details><summary><code>{}</code></summary><code>{}</code></details>",
            Escaped(&short),
            Escaped(&cut(text, MAX_STATEMENT_LEN))
        );
    }
}

/// Three digits and a unit: `5.16 µs`, `12.3 ms`, `0 ms`.
pub fn time(span: Duration) -> String {
    if span.is_zero() {
        return "0 ms".to_owned();
    }
    format_duration(span).replace(" us", " µs")
}

/// A dash if unknown or withheld.
pub fn time_or_dash(span: Option<Duration>) -> String {
    span.map_or_else(|| DASH.to_owned(), time)
}

/// With thousands separators, as in `12,345`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 turn`, `2 turns`: for words with a plural in s.
pub fn counted(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Two decimals below 10, one below 1,000.
pub fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() => DASH.to_owned(),
        value if value.abs() < 10.0 => format!("{value:.2}"),
        value if value.abs() < 1000.0 => format!("{value:.1}"),
        value => count(value.round() as u64),
    }
}

/// `27`, `27.6`.
pub fn turns(value: f64) -> String {
    let text = number(value);
    let trimmed = text.trim_end_matches('0').trim_end_matches('.');
    if text.contains('.') {
        trimmed.to_owned()
    } else {
        text
    }
}

/// The mean per operation, without a fraction if it is whole.
pub fn per_one(amount: u64, of: u64) -> String {
    match of {
        0 => DASH.to_owned(),
        of if amount.is_multiple_of(of) => count(amount / of),
        of => format!("{:.1}", amount as f64 / of as f64),
    }
}

/// A percentage, or a dash if `whole` is zero. Marks shares that round to zero without being zero.
pub fn share(part: Duration, whole: Duration) -> String {
    match Share::from_parts(part, whole).map(Share::as_fraction) {
        None => DASH.to_owned(),
        Some(fraction) if fraction > 0.0 && fraction < 0.005 => "&lt;1 %".to_owned(),
        Some(fraction) => format!("{:.0} %", fraction * 100.0),
    }
}

pub fn small_print(text: &str, out: &mut String) {
    let _ = writeln!(out, "<p class=\"small\">{text}</p>");
}

/// Shown for unknown or withheld figures.
pub const DASH: &str = "–";

const SHORT_STATEMENT: usize = 140;
const MAX_STATEMENT_LEN: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_of_a_text_can_end_its_place() {
        let hostile = "</script><img src='x' onerror=\"a&b\">\u{202e}\0";
        assert_eq!(
            Escaped(hostile).to_string(),
            "&lt;/script&gt;&lt;img src=&#39;x&#39; onerror=&quot;a&amp;b&quot;&gt;\\u{202e}\\u{0}"
        );
    }

    #[test]
    fn long_statements_unfold_and_are_cut() {
        let mut out = String::new();
        statement(&"é".repeat(3000), &mut out);
        assert!(out.contains("<details>"), "{out}");
        assert_eq!(out.matches('é').count(), SHORT_STATEMENT + MAX_STATEMENT_LEN);
        assert_eq!(out.matches('…').count(), 2);
    }

    #[test]
    fn amounts_are_easy_to_read() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "round trip"), "1 round trip");
        assert_eq!(per_one(54, 2), "27");
        assert_eq!(per_one(55, 2), "27.5");
        assert_eq!(number(f64::NAN), "–");
        assert_eq!(
            [turns(27.0), turns(27.6), turns(0.0), turns(1200.0)],
            ["27", "27.6", "0", "1,200"]
        );
        assert_eq!(number(12_345.6), "12,346");
        assert_eq!(time(Duration::from_nanos(5_160)), "5.16 µs");
        assert_eq!(share(Duration::from_nanos(1), Duration::from_secs(1)), "&lt;1 %");
        assert_eq!(share(Duration::ZERO, Duration::ZERO), "–");
    }
}
