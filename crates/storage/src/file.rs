//! A file that gets its name once it is whole.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tables::{TableName, TableRows, TableWriter};

/// A file of a table under way: in its folder, under a name that no reader of tables takes for one
/// (`.NAME.parquet.PROCESS.tmp`), which no other process that writes the same has.
pub struct UnfinishedFile {
    writer: Option<TableWriter<File>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl UnfinishedFile {
    /// Begins the file that will be `path`; makes its folder.
    pub fn create(table: TableName, run: &str, path: PathBuf) -> io::Result<Self> {
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
        let writer = Some(TableWriter::new(table, run, file)?);
        Ok(Self {
            writer,
            temporary,
            path,
        })
    }

    /// Writes rows as one row group; gives the bytes of the file so far.
    pub fn write(&mut self, rows: &TableRows) -> io::Result<u64> {
        let Some(writer) = &mut self.writer else {
            return Ok(0);
        };
        writer.write(rows)?;
        Ok(writer.bytes())
    }

    /// Completes it: it has its name once all of it is on the disk. Gives its name.
    pub fn finish(mut self) -> io::Result<PathBuf> {
        if let Some(writer) = self.writer.take() {
            writer.finish()?.sync_all()?;
            fs::rename(&self.temporary, &self.path)?;
            if let Some(folder) = self.path.parent() {
                File::open(folder)?.sync_all()?;
            }
            self.temporary = PathBuf::new();
        }
        Ok(std::mem::take(&mut self.path))
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // One that stays behind is harmless: no reader takes it for a table.
            fs::remove_file(&self.temporary).ok();
        }
    }
}

const OWNER_ONLY: u32 = 0o600;
