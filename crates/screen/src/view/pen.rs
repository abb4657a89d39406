//! Writes text into the buffer, within the area.

use crate::look::{Ink, ScreenLook};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

/// Writes at columns and lines of an area; what has no room is cut.
pub(super) struct Pen<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    pub(super) look: ScreenLook,
}

impl<'a> Pen<'a> {
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

    /// Writes `text`; gives the column behind it.
    pub(super) fn write(&mut self, column: u16, line: u16, text: &str, ink: Ink) -> u16 {
        self.write_in(column, line, text, ink, u16::MAX)
    }

    /// Writes as much of `text` as fits into `room` columns; gives the column behind it.
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

    /// Writes `text` so that it ends before `end`.
    pub(super) fn write_before(&mut self, end: u16, line: u16, text: &str, ink: Ink) {
        let columns = u16::try_from(report::text::escape::columns(text)).unwrap_or(u16::MAX);
        self.write(end.saturating_sub(columns), line, text, ink);
    }

    /// Puts the style of `ink` on a whole line.
    pub(super) fn underlay(&mut self, line: u16, ink: Ink) {
        if line < self.area.height {
            let area = Rect::new(self.area.x, self.area.y + line, self.area.width, 1);
            self.buffer.set_style(area, self.look.style(ink));
        }
    }
}
