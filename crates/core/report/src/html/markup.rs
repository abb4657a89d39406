//! Parts of all pages, and the wording of their numbers.

use crate::text::escape::printable;
use maud::{Markup, PreEscaped, Render, html};
use model::{Share, format_duration};
use serde_json::Value;
use std::time::Duration;

/// Escapes characters that control a terminal or change the order of others; for whole sections.
/// Line breaks stay: to a browser they are blanks, but for tooltips.
pub fn harmless(markup: Markup) -> Markup {
    // Markup stays escaped: this adds only backslashes, letters, digits and braces.
    let lines: Vec<_> = markup.0.split('\n').map(printable).collect();
    PreEscaped(lines.join("\n"))
}

/// `id` is unique in the page.
pub fn section(id: &str, heading: &str, content: Markup) -> Markup {
    html! {
        section aria-labelledby={ "h-" (id) } {
            h2 id={ "h-" (id) } { (heading) }
            (content)
        }
    }
}

/// The first column has names, the others figures.
pub fn table_head(name: &str, figures: impl IntoIterator<Item = impl Render>) -> Markup {
    html! {
        thead { tr {
            th scope="col" { (name) }
            @for figure in figures { th.n scope="col" { (figure) } }
        } }
    }
}

/// A figure in a table. Narrow screens show its label.
pub fn cell(label: impl Render, figure: impl Render) -> Markup {
    html! { td.n data-label=(label) { (figure) } }
}

/// Figures for the script.
pub fn data_script(id: &str, data: &Value) -> Markup {
    // A script element has no escapes, but JSON has.
    html! { script type="application/json" id=(id) { (PreEscaped(script_safe(&data.to_string()))) } }
}

/// Escapes characters that could end the script element or a line of script.
fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            character => out.push(character),
        }
    }
    out
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
pub fn statement(text: &str) -> Markup {
    let text = crate::text::shown_statement(text);
    let short = cut(text, SHORT_STATEMENT);
    html! {
        @if short.len() == text.len() {
            code { (text) }
        } @else {
            details {
                summary { code { (short) } }
                code { (cut(text, MAX_STATEMENT_LEN)) }
            }
        }
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
        Some(fraction) if fraction > 0.0 && fraction < 0.005 => "<1 %".to_owned(),
        Some(fraction) => format!("{:.0} %", fraction * 100.0),
    }
}

pub fn small_print(text: impl Render) -> Markup {
    html! { p.small { (text) } }
}

/// A position or length in a drawing.
pub fn px(length: f64) -> impl Render {
    format!("{length:.1}")
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
            harmless(html! { a title=(hostile) { (hostile) } }).0,
            "<a title=\"&lt;/script&gt;&lt;img src='x' onerror=&quot;a&amp;b&quot;&gt;\\u{202e}\\u{0}\">\
             &lt;/script&gt;&lt;img src='x' onerror=&quot;a&amp;b&quot;&gt;\\u{202e}\\u{0}</a>"
        );
    }

    #[test]
    fn long_statements_unfold_and_are_cut() {
        let out = statement(&"é".repeat(3000)).0;
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
        assert_eq!(share(Duration::from_nanos(1), Duration::from_secs(1)), "<1 %");
        assert_eq!(share(Duration::ZERO, Duration::ZERO), "–");
    }
}
