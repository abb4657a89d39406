//! Wraps sentences to the style's width.

use super::escape::{columns, columns_of, printable};
use super::style::{Ink, Style};
use std::fmt::Write;

pub(super) fn paragraph(text: &str, indent: &str, ink: Ink, style: &Style, out: &mut String) {
    let room = style.columns() - indent.len();
    let text = printable(text.trim_end());
    let mut line = String::new();
    for word in text.split_whitespace().flat_map(|word| pieces(word, room)) {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > room {
            let _ = writeln!(out, "{indent}{}", style.paint(ink, &line));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        let _ = writeln!(out, "{indent}{}", style.paint(ink, &line));
    }
}

/// A message of which no line is longer than `width` (40 at least). Continued lines are indented.
pub fn wrapped_message(message: &str, width: usize) -> String {
    let style = Style {
        width: width.saturating_sub(CONTINUED.len()),
        ..Style::default()
    };
    let line = |line: &str| match columns(line) <= width {
        true => format!("{line}\n"),
        false => {
            let lines = wrapped(line, "", Ink::Plain, &style);
            lines.trim_end().replace('\n', &format!("\n{CONTINUED}")) + "\n"
        }
    };
    message.lines().map(line).collect()
}

const CONTINUED: &str = "  ";

pub(super) fn wrapped(text: &str, indent: &str, ink: Ink, style: &Style) -> String {
    let mut out = String::new();
    paragraph(text, indent, ink, style, &mut out);
    out
}

/// A word that is longer than a line is broken.
fn pieces(word: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut begin, mut used) = (0, 0);
    for (at, character) in word.char_indices() {
        let width = columns_of(character);
        if used + width > room {
            pieces.push(&word[begin..at]);
            (begin, used) = (at, 0);
        }
        used += width;
    }
    pieces.push(&word[begin..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_wrapped_and_a_short_one_is_not() {
        let words = "word ".repeat(30);
        let wrapped = wrapped_message(&format!("short  line\n{words}"), 60);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines[0], "short  line");
        assert!(
            lines[1].starts_with("word") && lines[2].starts_with("  word"),
            "{wrapped}"
        );
        assert!(lines.iter().all(|line| columns(line) <= 60), "{wrapped}");
        assert_eq!(wrapped.split_whitespace().count(), 32);
    }
}
