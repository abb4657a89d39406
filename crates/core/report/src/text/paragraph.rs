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
