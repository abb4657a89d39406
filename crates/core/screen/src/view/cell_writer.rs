//! Writes text into an area of the buffer.

use crate::look::{Ink, ScreenLook};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use report::text::escape::{columns, cut};

/// Text outside the area is cut.
pub(super) struct CellWriter<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    pub(super) look: ScreenLook,
}

impl<'a> CellWriter<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, area: Rect, look: ScreenLook) -> Self {
        let area = area.intersection(buffer.area);
        Self { buffer, area, look }
    }

    pub(super) fn width(&self) -> u16 {
        self.area.width
    }

    pub(super) fn clear(&mut self) {
        for line in self.area.y..self.area.bottom() {
            for column in self.area.x..self.area.right() {
                if let Some(cell) = self.buffer.cell_mut((column, line)) {
                    cell.reset();
                }
            }
        }
    }

    /// Returns the next column.
    pub(super) fn write(&mut self, column: u16, line: u16, text: &str, ink: Ink) -> u16 {
        self.write_in(column, line, text, ink, u16::MAX)
    }

    /// Writes at most `room` columns; returns the next column.
    pub(super) fn write_in(&mut self, column: u16, line: u16, text: &str, ink: Ink, room: u16) -> u16 {
        if line >= self.area.height || column >= self.area.width {
            return column;
        }
        let room = room.min(self.area.width - column);
        let at = (self.area.x + column, self.area.y + line);
        let style = self.look.style(ink);
        let (end, _) = self
            .buffer
            .set_stringn(at.0, at.1, text, usize::from(room), style);
        end - self.area.x
    }

    /// Right-aligns `text` before `end`.
    pub(super) fn write_before(&mut self, end: u16, line: u16, text: &str, ink: Ink) {
        let columns = u16::try_from(columns(text)).unwrap_or(u16::MAX);
        self.write(end.saturating_sub(columns), line, text, ink);
    }

    /// Wraps text from `column` over at most `lines` lines and cuts the last; returns the number
    /// used.
    pub(super) fn paragraph(&mut self, column: u16, line: u16, text: &str, lines: u16) -> u16 {
        let width = usize::from(self.area.width.saturating_sub(column));
        let mut rest = text;
        for number in 0..lines {
            if rest.is_empty() {
                return number;
            }
            let taken = match number + 1 == lines {
                true => rest.len(),
                false => break_at(rest, width),
            };
            let (now, later) = rest.split_at(taken);
            self.write(column, line + number, &cut(now.trim_end(), width), Ink::Plain);
            rest = later.trim_start();
        }
        lines
    }

    /// Styles a whole line.
    pub(super) fn underlay(&mut self, line: u16, ink: Ink) {
        if line < self.area.height {
            let area = Rect::new(self.area.x, self.area.y + line, self.area.width, 1);
            self.buffer.set_style(area, self.look.style(ink));
        }
    }
}

/// The part of `text` that fits, broken at a blank if possible.
fn break_at(text: &str, width: usize) -> usize {
    let mut used = 0;
    let mut blank = None;
    for (index, character) in text.char_indices() {
        used += columns(text.get(index..index + character.len_utf8()).unwrap_or_default());
        if used > width {
            return blank.unwrap_or(index).max(character.len_utf8());
        }
        if character == ' ' {
            blank = Some(index + 1);
        }
    }
    text.len()
}
