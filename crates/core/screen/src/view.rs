//! Draws the screen into a buffer.

mod bar;
mod cell_writer;
mod header;
mod help;
mod table;

use crate::look::Ink;
use crate::state::{InputKind, Screen};
use cell_writer::CellWriter;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

/// Minimum size for all contents.
const MIN_SIZE: (u16, u16) = (60, 16);

/// Lines above the table: observation, bar, distance, tabs.
const HEADER: u16 = 7;

/// Lines for the selected row in full.
const DETAIL: u16 = 3;

impl Screen {
    /// Fills `area`, or draws a message if it is too small.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer) {
        let mut writer = CellWriter::new(buffer, area, self.look);
        writer.clear();
        if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
            return too_small(&mut writer, area);
        }
        header::draw(self, &mut writer);
        let foot = area.height - 1;
        let rows = foot - DETAIL - 1 - HEADER;
        self.set_page(usize::from(rows.saturating_sub(1)));
        if self.help {
            help::draw(self, &mut writer, HEADER, foot);
        } else {
            table::draw(self, &mut writer, HEADER, rows, DETAIL);
        }
        self.foot(&mut writer, foot);
    }

    fn foot(&self, writer: &mut CellWriter<'_>, line: u16) {
        if let Some(message) = &self.message {
            writer.write(0, line, &report::text::escape::printable(message), Ink::Warning);
        } else if let Some(input) = &self.input {
            let (what, how) = match input.what {
                InputKind::Filter => ("filter", "Enter keeps it, Escape ends"),
                InputKind::Link => (
                    "link",
                    "for example rtt=40ms rate=10mbit; Enter predicts, Escape ends",
                ),
            };
            let text = report::text::escape::printable(&input.text).into_owned();
            let at = writer.write(0, line, &format!("{what}: {text}_"), Ink::Heading);
            writer.write(at + 2, line, how, Ink::Faint);
        } else {
            let keys = match self.snapshot.position {
                Some(_) => "q quit  ? help  arrows time  + - distance  l link  s sort  / filter  m baseline",
                None => "q quit  ? help  + - distance  l link  s sort  / filter  m baseline  space pause",
            };
            writer.write(0, line, keys, Ink::Faint);
        }
    }
}

fn too_small(writer: &mut CellWriter<'_>, area: Rect) {
    let text = [
        "longwire top".to_owned(),
        format!("needs {} x {},", MIN_SIZE.0, MIN_SIZE.1),
        format!("this is {} x {}", area.width, area.height),
        "q quits".to_owned(),
    ];
    for (line, text) in (0..area.height).zip(text) {
        writer.write(0, line, &text, Ink::Plain);
    }
}
