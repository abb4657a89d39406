//! Draws the screen into a buffer.

mod bar;
mod header;
mod help;
mod pen;
mod table;

use crate::look::Ink;
use crate::state::{InputKind, Screen};
use pen::Pen;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

/// The smallest size that has room for everything.
const LEAST: (u16, u16) = (60, 16);

/// Lines above the table: what was seen, the bar, the distance, the tabs.
const HEADER: u16 = 7;

/// Lines that show the selected row in full.
const DETAIL: u16 = 3;

impl Screen {
    /// Draws it over all of `area`; in one that is too small, that this is so.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer) {
        let mut pen = Pen::new(buffer, area, self.look);
        pen.clear();
        if area.width < LEAST.0 || area.height < LEAST.1 {
            return too_small(&mut pen, area);
        }
        header::draw(self, &mut pen);
        let foot = area.height - 1;
        let rows = foot - DETAIL - 1 - HEADER;
        self.set_page(usize::from(rows.saturating_sub(1)));
        if self.help {
            help::draw(self, &mut pen, HEADER, foot);
        } else {
            table::draw(self, &mut pen, HEADER, rows, DETAIL);
        }
        self.foot(&mut pen, foot);
    }

    fn foot(&self, pen: &mut Pen<'_>, line: u16) {
        if let Some(message) = &self.message {
            pen.write(0, line, &report::text::escape::printable(message), Ink::Warning);
        } else if let Some(input) = &self.input {
            let (what, how) = match input.what {
                InputKind::Filter => ("filter", "Enter keeps it, Escape ends"),
                InputKind::Link => (
                    "link",
                    "for example rtt=40ms rate=10mbit; Enter predicts, Escape ends",
                ),
            };
            let text = report::text::escape::printable(&input.text).into_owned();
            let at = pen.write(0, line, &format!("{what}: {text}_"), Ink::Heading);
            pen.write(at + 2, line, how, Ink::Faint);
        } else {
            let keys = match self.snapshot.position {
                Some(_) => "q quit  ? help  arrows time  + - distance  l link  s sort  / filter  m baseline",
                None => "q quit  ? help  + - distance  l link  s sort  / filter  m baseline  space pause",
            };
            pen.write(0, line, keys, Ink::Faint);
        }
    }
}

fn too_small(pen: &mut Pen<'_>, area: Rect) {
    let text = [
        "longwire top".to_owned(),
        format!("needs {} x {},", LEAST.0, LEAST.1),
        format!("this is {} x {}", area.width, area.height),
        "q quits".to_owned(),
    ];
    for (line, text) in (0..area.height).zip(text) {
        pen.write(0, line, &text, Ink::Plain);
    }
}
