//! Fits a view into one screen: its sections in order, as far as lines are left.

use super::counted;
use super::paragraph::wrapped;
use super::style::{Extent, Ink, Style};
use super::table::Table;
use model::Warning;

pub(super) struct Screen<'a> {
    style: &'a Style,
    above: usize,
    out: String,
    kept: usize,
    omitted: Vec<&'static str>,
}

impl<'a> Screen<'a> {
    pub(super) const fn new(style: &'a Style) -> Self {
        Self::below(0, style)
    }

    /// Below lines that were printed before.
    pub(super) const fn below(above: usize, style: &'a Style) -> Self {
        Self {
            style,
            above,
            out: String::new(),
            kept: 0,
            omitted: Vec::new(),
        }
    }

    /// Lines for the next sections.
    pub(super) fn left(&self) -> usize {
        let taken = self.above + self.out.lines().count() + self.kept + MORE_LINES;
        self.style.rows(LINES.saturating_sub(taken))
    }

    /// Keeps lines for later sections, instead of those kept before.
    pub(super) const fn keep(&mut self, lines: usize) {
        self.kept = lines;
    }

    /// Shown in any case.
    pub(super) fn put(&mut self, text: &str) {
        self.out += text;
    }

    /// Shown if it fits, else named in the last line.
    pub(super) fn section(&mut self, name: &'static str, text: &str) {
        if text.lines().count() <= self.left() {
            self.out += text;
        } else {
            self.omit(name);
        }
    }

    pub(super) fn lines(&mut self, name: &'static str, text: &str) {
        for line in text.lines() {
            self.section(name, &format!("{line}\n"));
        }
    }

    /// How to read the sections above.
    pub(super) fn add_note(&mut self, text: &str) {
        self.section("notes", &wrapped(text, "  ", Ink::Faint, self.style));
    }

    /// For the first, and the number of others.
    pub(super) fn lines_of_warnings(&self, warnings: &[Warning]) -> usize {
        let first = warnings.first().map(|warning| self.warning(warning));
        first.map_or(0, |text| text.lines().count() + usize::from(warnings.len() > 1))
    }

    fn warning(&self, warning: &Warning) -> String {
        let text = format!("warning: {}", warning.text);
        wrapped(&text, "", Ink::Warning, self.style)
    }

    /// The first in any case, others that fit; their number otherwise.
    pub(super) fn warnings(&mut self, warnings: &[Warning]) {
        for (shown, warning) in warnings.iter().enumerate() {
            let text = self.warning(warning);
            if shown > 0 && text.lines().count() + 1 > self.left() {
                let others = counted((warnings.len() - shown) as u64, "more warning");
                self.put(&format!("and {others}: --all lists all\n"));
                return;
            }
            self.put(&text);
        }
    }

    pub(super) fn omit(&mut self, name: &'static str) {
        if !self.omitted.contains(&name) {
            self.omitted.push(name);
        }
    }

    /// A heading, the first rows that fit, and notes on them.
    pub(super) fn table(&mut self, name: &'static str, heading: &str, table: &Table, notes: &str) {
        let rendered = |rows| {
            let mut text = heading.to_owned();
            table.render_first(rows, self.style, &mut text);
            text + notes
        };
        let left = self.left();
        let all = rendered(usize::MAX);
        if table.len() == 0 || all.lines().count() <= left {
            self.out += &all;
            return;
        }
        let rows = (left + 1).saturating_sub(rendered(1).lines().count());
        match rows {
            0 => self.omit(name),
            rows => self.out += &rendered(rows),
        }
    }

    /// Ends with a line that says how to see more; `others` are ways besides `--all`.
    pub(super) fn finish(mut self, others: &str) -> String {
        if self.style.extent == Extent::First {
            let all = format!("--all: {}", self.omitted.join(", "));
            let ways = [if self.omitted.is_empty() { "" } else { &all }, others];
            let ways: Vec<&str> = ways.into_iter().filter(|way| !way.is_empty()).collect();
            let line = wrapped(&ways.join("; "), "", Ink::Faint, self.style);
            if !line.is_empty() {
                self.out += "\n";
                self.out += &line;
            }
        }
        self.out
    }
}

pub(super) const PAGE: &str = "--html FILE: a page";
pub(super) const LINES: usize = 24;
/// An empty line and up to two of text.
const MORE_LINES: usize = 3;
