//! What `read` and `watch` report: the same flags for both.

use analysis::operations::rule::Rule;
use std::path::PathBuf;

/// What is reported.
#[derive(Debug, Clone, clap::Args)]
pub struct Reporting {
    /// What an operation is: auto, connection, transaction, gap:50ms, http or whole.
    #[arg(long, default_value = "auto", value_name = "RULE")]
    pub operations: Rule,
    /// Write records (JSON Lines) instead of the view.
    #[arg(long)]
    pub json: bool,
    /// With --json: one record for each exchange too.
    #[arg(long, requires = "json")]
    pub exchanges: bool,
    /// Keep statement texts as sent; they may hold personal data and secrets.
    #[arg(long)]
    pub keep_literals: bool,
    /// Write a page too: one HTML file with what was measured and what distance would cost; predictions come with it.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}
