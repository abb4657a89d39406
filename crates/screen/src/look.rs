//! With which characters and colours the screen is drawn.

use ratatui_core::style::{Color, Modifier, Style};

/// How the screen is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenLook {
    /// Which characters bars and lines are of.
    pub glyphs: Glyphs,
    /// Whether in colour. Colour repeats what characters say.
    pub colour: bool,
}

/// The characters of bars and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks and lines of Unicode.
    Unicode,
    /// Letters and signs of ASCII.
    Ascii,
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Heading,
    Faint,
    Client,
    Network,
    Server,
    Pooler,
    Predicted,
    Warning,
    Selected,
}

impl ScreenLook {
    pub(crate) fn style(self, ink: Ink) -> Style {
        let plain = Style::new();
        let coloured = |colour| match self.colour {
            true => plain.fg(colour),
            false => plain,
        };
        match ink {
            Ink::Plain => plain,
            Ink::Heading => plain.add_modifier(Modifier::BOLD),
            Ink::Faint => plain.add_modifier(Modifier::DIM),
            Ink::Client => coloured(Color::Blue),
            Ink::Network => coloured(Color::Yellow),
            Ink::Server => coloured(Color::Green),
            Ink::Pooler => coloured(Color::Magenta),
            Ink::Predicted => coloured(Color::Cyan).add_modifier(Modifier::BOLD),
            Ink::Warning => coloured(Color::Red).add_modifier(Modifier::BOLD),
            Ink::Selected => plain.add_modifier(Modifier::REVERSED),
        }
    }

    /// What a part of a bar is made of: each its own, as colours may be missing.
    pub(crate) fn block(self, ink: Ink) -> &'static str {
        match (self.glyphs, ink) {
            (Glyphs::Unicode, Ink::Client) => "░",
            (Glyphs::Unicode, Ink::Network) => "█",
            (Glyphs::Unicode, Ink::Server) => "▒",
            (Glyphs::Unicode, Ink::Pooler) => "▞",
            (Glyphs::Unicode, _) => "·",
            (Glyphs::Ascii, Ink::Client) => "c",
            (Glyphs::Ascii, Ink::Network) => "N",
            (Glyphs::Ascii, Ink::Server) => "s",
            (Glyphs::Ascii, Ink::Pooler) => "p",
            (Glyphs::Ascii, _) => ".",
        }
    }

    pub(crate) fn line(self) -> &'static str {
        match self.glyphs {
            Glyphs::Unicode => "─",
            Glyphs::Ascii => "-",
        }
    }

    /// Which way a column is sorted.
    pub(crate) fn arrow(self, ascending: bool) -> &'static str {
        match (self.glyphs, ascending) {
            (Glyphs::Unicode, true) => "▲",
            (Glyphs::Unicode, false) => "▼",
            (Glyphs::Ascii, true) => "^",
            (Glyphs::Ascii, false) => "v",
        }
    }
}
