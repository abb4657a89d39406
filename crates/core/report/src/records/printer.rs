//! Records for stdout: all as JSON Lines, or those of one type as a table.

use super::types::RecordType;
use super::writer::{BUFFER_BYTES, RecordEncoder, RecordWriter, write_line};
use super::{RecordBody, RecordLine};
use crate::text::escape::{inert, printable};
use model::Conditions;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

#[derive(Debug, Clone, Copy)]
pub enum RecordFormat {
    JsonLines,
    Csv(RecordType),
    Markdown(RecordType),
}

impl RecordFormat {
    /// Whether records of this type are written.
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::JsonLines => true,
            Self::Csv(table) | Self::Markdown(table) => table.name == name,
        }
    }
}

/// Like [`super::writer::JsonWriter`], in one of several formats.
pub type RecordPrinter<W> = RecordWriter<PrintedRecords<W>>;

pub struct PrintedRecords<W: Write> {
    out: BufWriter<W>,
    format: RecordFormat,
    file: FileColumn,
}

/// The key `file`, of runs with several files.
#[derive(Debug, Clone)]
pub enum FileColumn {
    None,
    OfRun(RunFile),
    /// In the records of a connection: the file with its first packet.
    OfConnections(Option<Arc<str>>),
}

impl FileColumn {
    fn is_in(&self, table: RecordType) -> bool {
        match self {
            Self::None => false,
            Self::OfRun(_) => true,
            Self::OfConnections(_) => ["connection", "exchange", "opened"].contains(&table.name),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::OfRun(file) => Some(&file.name),
            Self::OfConnections(name) => name.as_deref(),
        }
    }
}

/// One of several files, each with an outcome of its own.
#[derive(Debug, Clone)]
pub struct RunFile {
    /// Written in each record.
    pub name: Arc<str>,
    /// The first has the header of a table.
    pub is_first: bool,
}

impl<W: Write> RecordPrinter<W> {
    pub fn new(format: RecordFormat, out: W) -> Self {
        Self::with_files(format, FileColumn::None, out)
    }

    pub fn with_files(format: RecordFormat, file: FileColumn, out: W) -> Self {
        Self::encoding(PrintedRecords {
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            format,
            file,
        })
    }

    /// Sets the file of a connection's records that follow.
    pub fn in_file(&mut self, name: Option<Arc<str>>) {
        if let FileColumn::OfConnections(file) = &mut self.encoder().file {
            *file = name;
        }
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.encoder().out.flush()
    }
}

impl<W: Write> RecordEncoder for PrintedRecords<W> {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()> {
        let file = self.file.name();
        let line = &RecordLine { file, ..*line };
        let (table, row): (_, fn(&[Cell]) -> String) = match self.format {
            RecordFormat::JsonLines => return write_line(&mut self.out, line),
            RecordFormat::Csv(table) => (table, csv_row),
            RecordFormat::Markdown(table) => (table, markdown_row),
        };
        // Conditions are the first record of a run, also of one without rows.
        let has_file = self.file.is_in(table);
        let is_first = match &self.file {
            FileColumn::OfRun(file) => file.is_first,
            FileColumn::None | FileColumn::OfConnections(_) => true,
        };
        if line.name() == Conditions::NAME && is_first {
            let keys = has_file.then_some("file").into_iter().chain(table.keys());
            let names: Vec<Cell> = keys.map(|key| Cell::Plain(key.to_owned())).collect();
            self.out.write_all(row(&names).as_bytes())?;
            if let RecordFormat::Markdown(_) = self.format {
                let rule = vec![Cell::Plain("---".to_owned()); names.len()];
                self.out.write_all(row(&rule).as_bytes())?;
            }
        }
        if line.name() != table.name {
            return Ok(());
        }
        let Value::Object(mut record) = serde_json::to_value(line.body())? else {
            return Ok(());
        };
        let of_file = has_file.then(|| Cell::new(file.map(Value::from)));
        let keys = table.keys().map(|key| Cell::new(record.remove(key)));
        let cells = of_file.into_iter().chain(keys);
        let cells = cells.collect::<io::Result<Vec<Cell>>>()?;
        debug_assert!(
            record.is_empty(),
            "keys of {} without a column: {record:?}",
            table.name
        );
        self.out.write_all(row(&cells).as_bytes())
    }
}

#[derive(Clone)]
enum Cell {
    Unknown,
    /// A number, a boolean or a name: needs no quotes.
    Plain(String),
    Text(String),
}

impl Cell {
    /// An object or a list is a text of JSON.
    fn new(value: Option<Value>) -> io::Result<Self> {
        Ok(match value {
            None | Some(Value::Null) => Self::Unknown,
            Some(value @ (Value::Bool(_) | Value::Number(_))) => Self::Plain(value.to_string()),
            Some(Value::String(text)) => Self::Text(printable(&text).into_owned()),
            Some(value @ (Value::Array(_) | Value::Object(_))) => {
                let mut text = Vec::new();
                write_line(&mut text, &value)?;
                Self::Text(String::from_utf8_lossy(text.trim_ascii_end()).into_owned())
            }
        })
    }
}

/// RFC 4180, except that lines end in LF. Control characters, line breaks among them, are escaped,
/// so that each row is a line.
fn csv_row(cells: &[Cell]) -> String {
    let quoted = |cell: &Cell| match cell {
        Cell::Unknown => String::new(),
        Cell::Plain(text) => text.clone(),
        Cell::Text(text) if !text.is_empty() && !text.contains([',', '"']) => text.clone(),
        Cell::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
    };
    let cells: Vec<String> = cells.iter().map(quoted).collect();
    inert(&(cells.join(",") + "\n"))
}

/// Texts are code spans, in which Markdown and HTML have no meaning.
fn markdown_row(cells: &[Cell]) -> String {
    let escaped = |cell: &Cell| match cell {
        Cell::Unknown => String::new(),
        Cell::Plain(text) => text.clone(),
        Cell::Text(text) => code_span(text),
    };
    let cells: Vec<String> = cells.iter().map(escaped).collect();
    inert(&format!("| {} |\n", cells.join(" | ")))
}

/// Its delimiters are longer than any run of backticks inside. A table's cells end at `|` even in
/// code.
fn code_span(text: &str) -> String {
    let runs = text.split(|character| character != '`').map(str::len);
    let longest = runs.max().unwrap_or(0);
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace('|', "\\|");
    match longest {
        0 => format!("`{text}`"),
        _ => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {text} {fence}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Cell {
        Cell::new(Some(Value::from(text))).expect("a cell")
    }

    #[test]
    fn csv_quotes_what_would_end_a_cell() {
        let cells = [
            text("select a, b"),
            Cell::Unknown,
            text(""),
            text("say \"no\""),
            Cell::Plain("-12".into()),
            text("=1+1"),
        ];
        assert_eq!(
            csv_row(&cells),
            "\"select a, b\",,\"\",\"say \"\"no\"\"\",-12,=1+1\n"
        );
        assert_eq!(csv_row(&[text("a\r\nb\u{1b}[2J")]), "a\\r\\nb\\u{1b}[2J\n");
        assert_eq!(csv_row(&[text("::add-mask::x")]), ":\\u{3a}add-mask::x\n");
    }

    #[test]
    fn markdown_cells_stay_in_their_row() {
        let cells = [text("a | b"), Cell::Unknown, text("x `y` ``z``"), text("l\n2")];
        assert_eq!(
            markdown_row(&cells),
            "| `a \\| b` |  | ``` x `y` ``z`` ``` | `l\\n2` |\n"
        );
    }

    #[test]
    fn objects_are_json() {
        let cell = Cell::new(Some(serde_json::json!({"client_encoding": "UTF8"}))).expect("a cell");
        assert_eq!(csv_row(&[cell]), "\"{\"\"client_encoding\"\":\"\"UTF8\"\"}\"\n");
    }
}
