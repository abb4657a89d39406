//! A terminal backend that sends no queries.
//!
//! A terminal that does not answer `ESC[6n` (cursor position), like a serial console or a session
//! recorder, would end the screen. The cursor is not needed here, as each cell is written at its
//! position.

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_crossterm::CrosstermBackend;
use std::io::{self, Stdout};

/// Writes to stdout and reports the cursor position last set.
#[derive(Debug)]
pub(super) struct SilentBackend {
    inner: CrosstermBackend<Stdout>,
    cursor: Position,
}

impl Default for SilentBackend {
    fn default() -> Self {
        Self {
            inner: CrosstermBackend::new(io::stdout()),
            cursor: Position::ORIGIN,
        }
    }
}

impl Backend for SilentBackend {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        self.inner.draw(content)
    }

    fn append_lines(&mut self, lines: u16) -> io::Result<()> {
        self.inner.append_lines(lines)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        self.inner.set_cursor_position(self.cursor)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        self.inner.size()
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        Backend::flush(&mut self.inner)
    }
}
