//! How wide, and in colour or not.

/// How a view is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; tables are cut to it. Below 40 it counts as 40.
    pub width: usize,
    /// Whether to colour.
    pub colour: Colour,
    /// How much of the tables.
    pub extent: Extent,
}

/// How much of its tables a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The first rows of each, and the columns that fit into the width: one screen.
    First,
    /// All rows and all columns, in lines as long as they need to be.
    All,
}

/// Whether a view is coloured. Colour repeats what the text says and never says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Text only.
    Plain,
    /// With ANSI escape sequences.
    Ansi,
}

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Heading,
    Client,
    Server,
    Network,
    Faint,
    Warning,
}

impl Style {
    /// Columns to use.
    pub(super) fn columns(&self) -> usize {
        self.width.max(MIN_WIDTH)
    }

    /// Columns that tables may use.
    pub(super) fn table_columns(&self) -> usize {
        match self.extent {
            Extent::First => self.columns(),
            Extent::All => ENDLESS,
        }
    }

    /// How many rows to show where one screen has room for `usual`.
    pub(super) fn rows(&self, usual: usize) -> usize {
        match self.extent {
            Extent::First => usual,
            Extent::All => usize::MAX,
        }
    }

    /// `text` in the colour of `ink`.
    pub(super) fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match (self.colour, ink) {
            (Colour::Plain, _) => return text.to_owned(),
            (Colour::Ansi, Ink::Heading) => "1",
            (Colour::Ansi, Ink::Client) => "34",
            (Colour::Ansi, Ink::Server) => "32",
            (Colour::Ansi, Ink::Network) => "33",
            (Colour::Ansi, Ink::Faint) => "2",
            (Colour::Ansi, Ink::Warning) => "31",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

impl Default for Style {
    /// 100 columns, plain: for output that is not a terminal.
    fn default() -> Self {
        Self {
            width: 100,
            colour: Colour::Plain,
            extent: Extent::First,
        }
    }
}

const MIN_WIDTH: usize = 40;
/// Columns that no row needs.
const ENDLESS: usize = 1 << 20;
