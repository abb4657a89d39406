//! Width, colour and extent of a view.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; tables are cut to them. The minimum is 40.
    pub width: usize,
    pub colour: Colour,
    pub extent: Extent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// One screen, with the first rows of each table and the columns that fit.
    First,
    /// All rows and columns, in lines of any length.
    All,
}

/// Colour repeats the text and adds no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Plain,
    Ansi,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Heading,
    Client,
    Server,
    Network,
    Faint,
    Warning,
}

impl Style {
    pub(super) fn columns(&self) -> usize {
        self.width.max(MIN_WIDTH)
    }

    pub(super) fn table_columns(&self) -> usize {
        match self.extent {
            Extent::First => self.columns(),
            Extent::All => ENDLESS,
        }
    }

    /// Rows to show, if one screen has room for `usual`.
    pub(super) fn rows(&self, usual: usize) -> usize {
        match self.extent {
            Extent::First => usual,
            Extent::All => usize::MAX,
        }
    }

    pub(super) fn paint(&self, ink: Ink, text: &str) -> String {
        let code = match (self.colour, ink) {
            (Colour::Plain, _) | (Colour::Ansi, Ink::Plain) => return text.to_owned(),
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
    /// 100 columns without colour, for output that is not a terminal.
    fn default() -> Self {
        Self {
            width: 100,
            colour: Colour::Plain,
            extent: Extent::First,
        }
    }
}

const MIN_WIDTH: usize = 40;
/// More columns than any row needs.
const ENDLESS: usize = 1 << 20;
