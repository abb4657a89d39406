//! `--all`, for commands with records.

use pipeline::output;
use report::Style;

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct AllArgument {
    /// Show all rows, columns and notes, at any width, instead of one screen.
    #[arg(long, conflicts_with = "records")]
    pub all: bool,
}

impl AllArgument {
    pub fn style(self) -> Style {
        output::style_of(self.all)
    }
}
