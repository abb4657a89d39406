//! Wraps sentences to the style's width.

use super::escape::printable;
use super::style::{Ink, Style};
use std::fmt::Write;

pub(super) fn paragraph(text: &str, indent: &str, ink: Ink, style: &Style, out: &mut String) {
    let room = style.columns() - indent.len();
    let text = printable(text);
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
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
