//! The flag for an outcome of each file, the same for all commands that have it.

use anyhow::Result;
use pipeline::output::{self, Status};
use report::RunFile;
use std::path::PathBuf;

#[derive(Debug, Clone, clap::Args)]
pub struct PerFileArg {
    /// Write an outcome for each file instead of one of all. Its records name it (`file`).
    #[arg(long, conflicts_with = "html")]
    per_file: bool,
}

impl PerFileArg {
    /// Calls `each` with all files, or with one at a time.
    pub fn run(
        &self,
        files: &[PathBuf],
        has_records: bool,
        mut each: impl FnMut(&[PathBuf], Option<RunFile>) -> Result<Status>,
    ) -> Result<Status> {
        if !self.per_file {
            return each(files, None);
        }
        let mut status = Status::Done;
        for (place, path) in files.iter().enumerate() {
            let name = path.display().to_string();
            if !has_records {
                output::print(&format!("{}{name}\n", if place > 0 { "\n" } else { "" }))?;
            }
            let file = RunFile {
                name: name.into(),
                is_first: place == 0,
            };
            status = each(std::slice::from_ref(path), Some(file))?;
        }
        Ok(status)
    }
}
