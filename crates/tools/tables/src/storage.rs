//! Folders of Parquet files:
//! `TABLE/date=2026-11-23/host=NAME/protocol=postgresql/RUN-0000.parquet`. Files appear atomically.

mod background;
mod bucket;
mod file;
mod files;
mod place;
mod reader;
mod run_name;
mod worker;
mod writer;

pub use files::RunKind;
pub use reader::{is_folder_of_tables, recordings};
pub use writer::Folder;
