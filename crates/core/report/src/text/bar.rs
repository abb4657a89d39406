//! Parts of a time in one bar, each with its mark.

use super::paragraph::paragraph;
use super::style::{Ink, Style};
use model::Share;
use std::fmt::Write;
use std::time::Duration;

pub(super) struct Part {
    time: Duration,
    words: String,
    kind: PartKind,
}

/// Name, mark and ink.
pub(super) type PartKind = (&'static str, char, Ink);

pub(super) const CLIENT: PartKind = ("client", '#', Ink::Client);
pub(super) const SERVER: PartKind = ("server", '=', Ink::Server);
pub(super) const POOLER: PartKind = ("pooler", '+', Ink::Server);
pub(super) const NETWORK: PartKind = ("network", '-', Ink::Network);
pub(super) const UNKNOWN: PartKind = ("unknown", '?', Ink::Faint);

impl Part {
    /// `words` follow its name in the legend.
    pub(super) fn new(kind: PartKind, time: Duration, words: &str) -> Self {
        let (name, mark, _) = kind;
        Self {
            time,
            words: format!("{mark} {name} {words}"),
            kind,
        }
    }
}

pub(super) fn bar(parts: &[Part], style: &Style, out: &mut String) {
    let whole: Duration = parts.iter().map(|part| part.time).sum();
    let room = style.columns() - INDENT.len();
    let (mut bar, mut drawn, mut sum) = (String::new(), 0, Duration::ZERO);
    for Part { time, kind, .. } in parts {
        let (_, mark, ink) = *kind;
        sum += *time;
        let until = Share::from_parts(sum, whole).map_or(0.0, Share::as_fraction) * room as f64;
        let length = (until.round() as usize).saturating_sub(drawn);
        drawn += length;
        if length > 0 {
            bar += &style.paint(ink, &mark.to_string().repeat(length));
        }
    }
    let legend: Vec<&str> = parts.iter().map(|part| part.words.as_str()).collect();
    paragraph(&legend.join(" "), INDENT, Ink::Faint, style, out);
    let _ = writeln!(out, "{INDENT}{bar}");
}

const INDENT: &str = "  ";
