//! The flags for records, the same for all commands that write them.

use report::{RecordFormat, RecordPrinter, RecordType};
use std::io::{self, Stdout};

#[derive(Debug, Clone, clap::Args)]
#[group(id = "records", multiple = false)]
pub struct RecordArgs {
    /// Write records (JSON Lines) instead of text. Output of a command behind `--` then goes to
    /// stderr.
    #[arg(long)]
    json: bool,
    /// Write the records of one type, as CSV with a header row. Columns: docs/output.md.
    #[arg(long, value_parser = parse, value_name = "TABLE")]
    csv: Option<RecordType>,
    /// Write the same as a Markdown table.
    #[arg(long, value_parser = parse, value_name = "TABLE", hide_possible_values = true)]
    markdown: Option<RecordType>,
}

impl RecordArgs {
    /// `None` for text.
    pub fn format(&self) -> Option<RecordFormat> {
        let csv = self.csv.map(RecordFormat::Csv);
        let markdown = self.markdown.map(RecordFormat::Markdown);
        let json = self.json.then_some(RecordFormat::JsonLines);
        json.or(csv).or(markdown)
    }

    pub fn is_given(&self) -> bool {
        self.format().is_some()
    }

    pub fn printer(&self) -> Option<RecordPrinter<Stdout>> {
        let format = self.format()?;
        Some(RecordPrinter::new(format, io::stdout()))
    }
}

/// # Errors
/// When there are no records of this type.
pub fn parse(name: &str) -> Result<RecordType, String> {
    RecordType::find(name).ok_or_else(|| format!("there are no records of type '{name}'"))
}
