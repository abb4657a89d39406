//! Characters and colours of the screen.

use ratatui_core::style::{Color, Modifier, Style};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenLook {
    pub glyphs: Glyphs,
    /// Colour only repeats information.
    pub colour: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    Unicode,
    Ascii,
}

/// The role of a piece of text.
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

    /// A distinct fill character per role, since colours may be missing.
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

    pub(crate) fn arrow(self, ascending: bool) -> &'static str {
        match (self.glyphs, ascending) {
            (Glyphs::Unicode, true) => "▲",
            (Glyphs::Unicode, false) => "▼",
            (Glyphs::Ascii, true) => "^",
            (Glyphs::Ascii, false) => "v",
        }
    }
}
