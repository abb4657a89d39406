//! A file that gets its name once complete.

use crate::{TableName, TableRows, TableWriter};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A table's file in progress. In a folder it has a unique name that readers of tables ignore
/// (`.NAME.parquet.RANDOM.tmp`); for a bucket it has no name. Dropping it deletes it.
pub(crate) struct UnfinishedFile {
    writer: TableWriter<File>,
    /// Temporary and final path; `None` for a bucket.
    in_folder: Option<(TempPath, PathBuf)>,
}

impl UnfinishedFile {
    /// Creates the file that becomes `path`, with the rows of `run`, and its folder. Only the owner
    /// may read it.
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

    pub(crate) fn unnamed(table: TableName, run: &str) -> io::Result<Self> {
        Ok(Self {
            writer: TableWriter::new(table, run, tempfile::tempfile()?)?,
            in_folder: None,
        })
    }

    /// Returns the file's size after writing a row group.
    pub(crate) fn write(&mut self, rows: &TableRows) -> io::Result<u64> {
        self.writer.write(rows)?;
        Ok(self.writer.bytes())
    }

    /// In a folder, the file gets its name once it is completely on disk.
    pub(crate) fn finish(self) -> io::Result<File> {
        let file = self.writer.finish()?;
        if let Some((temporary, path)) = self.in_folder {
            file.sync_all()?;
            temporary.persist(&path)?;
            // A folder may be writable but not readable.
            if let Some(Ok(folder)) = path.parent().map(File::open) {
                folder.sync_all()?;
            }
        }
        Ok(file)
    }
}
