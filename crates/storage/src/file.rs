//! A file that gets its name once it is whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tables::{TableName, TableRows, TableWriter};
use tempfile::TempPath;

/// A file of a table in progress. In a folder it is there under a name that no reader of tables takes for one
/// (`.NAME.parquet.RANDOM.tmp`), and that nobody else who writes the same has; for a bucket it has no name at
/// all. Either is gone when it is dropped.
pub(crate) struct UnfinishedFile {
    writer: TableWriter<File>,
    /// Its name of now, and that to come.
    in_folder: Option<(TempPath, PathBuf)>,
}

impl UnfinishedFile {
    /// Begins the file that will be `path`, with the rows of `run`; makes its folder. It is for its owner
    /// only.
    pub(crate) fn in_folder(table: TableName, run: &str, path: PathBuf) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (file, temporary) = tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            .tempfile_in(folder)?
            .into_parts();
        Ok(Self {
            writer: TableWriter::new(table, run, file)?,
            in_folder: Some((temporary, path)),
        })
    }

    /// Begins a file without a name.
    pub(crate) fn unnamed(table: TableName, run: &str) -> io::Result<Self> {
        Ok(Self {
            writer: TableWriter::new(table, run, tempfile::tempfile()?)?,
            in_folder: None,
        })
    }

    /// Writes rows as one row group; returns the bytes of the file so far.
    pub(crate) fn write(&mut self, rows: &TableRows) -> io::Result<u64> {
        self.writer.write(rows)?;
        Ok(self.writer.bytes())
    }

    /// Completes it: in a folder it has its name once all of it is on the disk.
    pub(crate) fn finish(self) -> io::Result<File> {
        let file = self.writer.finish()?;
        if let Some((temporary, path)) = self.in_folder {
            file.sync_all()?;
            temporary.persist(&path)?;
            // Whoever may not read the folder may still write into it.
            if let Some(Ok(folder)) = path.parent().map(File::open) {
                folder.sync_all()?;
            }
        }
        Ok(file)
    }
}
