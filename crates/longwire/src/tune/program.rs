//! Tuning a program of the user's own: run with each setting in turn.

use crate::output::Status;
use anyhow::Result;
use link::LinkDescription;
use std::ffi::OsString;
use std::path::Path;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The database that the program talks to.
    pub target: &'a str,
    /// `NAME=VALUE,...` or `URL:NAME=VALUE,...`, as given.
    pub settings: &'a [String],
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Links in front of the distance that is there.
    pub at: &'a [LinkDescription],
    /// Runs of each setting.
    pub runs: u32,
    /// Whether records are written.
    pub json: bool,
    /// Where a page is written.
    pub html: Option<&'a Path>,
}

/// Runs the program with each setting.
///
/// # Errors
/// When it cannot be run.
pub fn run(asked: &Asked<'_>) -> Result<Status> {
    anyhow::bail!("{} settings cannot be tried yet", asked.settings.len())
}
