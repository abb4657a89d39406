//! Reads a folder of tables as lines of records: one recording per run.

use crate::storage::bucket::{ObjectStore, is_bucket};
use crate::storage::place::TablesPlace;
use crate::{TableName, TableReader, TableRows};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Whether [`crate::storage::Folder`] wrote `directory`, or it names a bucket.
pub fn is_folder_of_tables(directory: &Path) -> bool {
    let names_bucket = directory.to_str().is_some_and(is_bucket);
    names_bucket
        || TableName::ALL
            .into_iter()
            .any(|table| table.is_read_back() && directory.join(table.name()).is_dir())
}

/// The runs of a folder of tables, with the name of their files and their records as lines in the
/// original order. Each holds no more rows than its writer did. Unfinished files of crashed runs
/// are skipped.
///
/// # Errors
/// If a file cannot be read, or is not a table.
pub fn recordings(directory: &Path) -> io::Result<Vec<(String, Box<dyn BufRead + Send>)>> {
    match TablesPlace::new(directory)? {
        TablesPlace::Folder(folder) => recordings_in(directory, &folder, None),
        TablesPlace::Bucket(store) => {
            let copy = Arc::new(fetched(directory, &store)?);
            recordings_in(directory, copy.path(), Some(&copy))
        }
    }
}

/// Copies the tables of a bucket: row order needs random access to the files.
fn fetched(directory: &Path, store: &ObjectStore) -> io::Result<TempDir> {
    let copy = tempfile::Builder::new().prefix("longwire-tables-").tempdir()?;
    let mut is_empty = true;
    for table in TableName::ALL.into_iter().filter(|table| table.is_read_back()) {
        for name in store.names(table.name())? {
            let path = copy.path().join(&name);
            // A store may have objects of any name.
            let is_below = !name
                .split('/')
                .any(|part| part.is_empty() || part == "." || part == "..");
            if is_below && is_whole(&path) {
                fs::create_dir_all(path.parent().unwrap_or(copy.path()))?;
                store.get(&name, &mut File::create(&path)?)?;
                is_empty = false;
            }
        }
    }
    match is_empty {
        true => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("there are no tables in {}", directory.display()),
        )),
        false => Ok(copy),
    }
}

fn recordings_in(
    directory: &Path,
    folder: &Path,
    copy: Option<&Arc<TempDir>>,
) -> io::Result<Vec<(String, Box<dyn BufRead + Send>)>> {
    let mut runs: BTreeMap<String, Vec<Group>> = BTreeMap::new();
    for table in TableName::ALL.into_iter().filter(|table| table.is_read_back()) {
        let mut files = Vec::new();
        find(&folder.join(table.name()), FOLDERS, &mut files)?;
        for path in files {
            if !is_whole(&path) {
                continue;
            }
            let no_run = || io::Error::new(io::ErrorKind::InvalidData, "its name is not RUN-0000.parquet");
            let run = run_of(&path).ok_or_else(|| of_file(&path, no_run()))?;
            let begins = open(table, &path)?.begins();
            let groups = begins.into_iter().enumerate().map(|(number, begin)| Group {
                begin,
                table,
                path: path.clone(),
                number,
            });
            runs.entry(run).or_default().extend(groups);
        }
    }
    let lines = runs.into_iter().map(|(run, mut groups)| {
        groups.sort_unstable();
        groups.reverse();
        let name = directory.join(run).display().to_string();
        let lines = Lines {
            groups,
            waiting: BinaryHeap::new(),
            last: None,
            line: Vec::new(),
            read: 0,
            _copy: copy.cloned(),
        };
        (name, Box::new(lines) as Box<dyn BufRead + Send>)
    });
    Ok(lines.collect())
}

/// Excludes unfinished files, and those of other programs.
fn is_whole(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".parquet") && !name.starts_with('.')
}

fn run_of(path: &Path) -> Option<String> {
    let name = path.file_stem()?.to_str()?;
    let (run, part) = name.rsplit_once('-')?;
    part.parse::<u32>().is_ok().then(|| run.to_owned())
}

fn open(table: TableName, path: &Path) -> io::Result<TableReader<File>> {
    TableReader::new(table, sys::files::open_regular(path)?).map_err(|error| of_file(path, error.into()))
}

fn of_file(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// All files below `directory`, following links, at most `depth` folders down (date, host and
/// protocol). Empty if it does not exist.
fn find(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let is_folder = fs::metadata(&path)
            .map_err(|error| of_file(&path, error))?
            .is_dir();
        match (is_folder, depth.checked_sub(1)) {
            (true, Some(depth)) => find(&path, depth, files)?,
            (true, None) => {}
            (false, _) => files.push(path),
        }
    }
    Ok(())
}

/// From a table's folder to its files, plus one.
const FOLDERS: usize = 4;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    begin: u64,
    table: TableName,
    path: PathBuf,
    number: usize,
}

struct Lines {
    /// Unread row groups, in reverse order.
    groups: Vec<Group>,
    waiting: BinaryHeap<Reverse<Waiting>>,
    last: Option<u64>,
    line: Vec<u8>,
    read: usize,
    /// Deleted when no run needs it.
    _copy: Option<Arc<TempDir>>,
}

struct Waiting {
    next: u64,
    rows: TableRows,
    /// Numbers and indices of rows, in reverse order.
    order: Vec<(u64, usize)>,
}

impl Waiting {
    fn new(rows: TableRows) -> Option<Self> {
        let mut order: Vec<(u64, usize)> = (0..rows.count()).map(|row| (rows.sequence(row), row)).collect();
        order.sort_unstable();
        order.reverse();
        let (next, _) = *order.last()?;
        Some(Self { next, rows, order })
    }

    /// Returns the remaining rows.
    fn line(mut self, line: &mut Vec<u8>) -> Option<Self> {
        let (_, row) = self.order.pop()?;
        self.rows.line(row, line);
        let (next, _) = *self.order.last()?;
        self.next = next;
        Some(self)
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.next == other.next
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.next.cmp(&other.next)
    }
}

impl Lines {
    /// The line is empty at the end.
    fn next_line(&mut self) -> io::Result<()> {
        self.line.clear();
        self.read = 0;
        loop {
            let next = self.waiting.peek().map(|Reverse(waiting)| waiting.next);
            match self.groups.last() {
                Some(group) if next.is_none_or(|next| group.begin <= next) => {}
                _ => break,
            }
            if let Some(group) = self.groups.pop() {
                let rows = open(group.table, &group.path)?.rows(group.number);
                let rows = rows.map_err(|error| of_file(&group.path, error.into()))?;
                self.waiting.extend(Waiting::new(rows).map(Reverse));
            }
        }
        if let Some(Reverse(waiting)) = self.waiting.pop() {
            if self.last == Some(waiting.next) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("row {} is there twice: are files of it copied?", waiting.next),
                ));
            }
            self.last = Some(waiting.next);
            let rest = waiting.line(&mut self.line);
            self.line.push(b'\n');
            self.waiting.extend(rest.map(Reverse));
        }
        Ok(())
    }
}

impl BufRead for Lines {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read >= self.line.len() {
            self.next_line()?;
        }
        Ok(self.line.get(self.read..).unwrap_or_default())
    }

    fn consume(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

impl Read for Lines {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let read = bytes.read(into)?;
        self.consume(read);
        Ok(read)
    }
}
