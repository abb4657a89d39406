//! A file that gets its name once it is whole.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tables::{TableName, TableRows, TableWriter};

/// A file of a table under way. In a folder it is there under a name that no reader of tables takes for one (`.NAME.parquet.PROCESS.tmp`), which no other
/// process that writes the same has; for a bucket it has no name at all, so that nothing is left of it whatever happens.
pub(crate) struct UnfinishedFile {
    writer: Option<TableWriter<File>>,
    in_folder: Option<InFolder>,
}

struct InFolder {
    temporary: PathBuf,
    path: PathBuf,
}

impl UnfinishedFile {
    /// Begins the file that will be `path`, with the rows of `run`; makes its folder.
    pub(crate) fn in_folder(table: TableName, run: &str, path: PathBuf) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(".{name}.{}.tmp", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(OWNER_ONLY)
            .open(&temporary)?;
        Ok(Self {
            writer: Some(TableWriter::new(table, run, file)?),
            in_folder: Some(InFolder { temporary, path }),
        })
    }

    /// Begins a file without a name.
    pub(crate) fn unnamed(table: TableName, run: &str) -> io::Result<Self> {
        Ok(Self {
            writer: Some(TableWriter::new(table, run, tempfile::tempfile()?)?),
            in_folder: None,
        })
    }

    /// Writes rows as one row group; gives the bytes of the file so far.
    pub(crate) fn write(&mut self, rows: &TableRows) -> io::Result<u64> {
        let Some(writer) = &mut self.writer else {
            return Ok(0);
        };
        writer.write(rows)?;
        Ok(writer.bytes())
    }

    /// Completes it: in a folder it has its name once all of it is on the disk.
    pub(crate) fn finish(mut self) -> io::Result<Option<File>> {
        let Some(writer) = self.writer.take() else {
            return Ok(None);
        };
        let file = writer.finish()?;
        if let Some(InFolder { temporary, path }) = &self.in_folder {
            file.sync_all()?;
            fs::rename(temporary, path)?;
            if let Some(folder) = path.parent() {
                File::open(folder)?.sync_all()?;
            }
            self.in_folder = None;
        }
        Ok(Some(file))
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let Some(InFolder { temporary, .. }) = &self.in_folder {
            // One that stays behind is harmless: no reader takes it for a table.
            fs::remove_file(temporary).ok();
        }
    }
}

const OWNER_ONLY: u32 = 0o600;
