//! Tuning: a job done over a real connection in one way with one setting, and what it took.
//!
//! Who can do that is a [`Workbench`]: longwire's own clients of PostgreSQL and MySQL/MariaDB, a driver behind the bridge. What to
//! run when, and what follows from it, is not decided here.

use crate::load::Watch;
use model::{TrialOutcome, Way};
use std::net::SocketAddr;

/// The rows that a job works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// How many rows an insert or update takes.
    pub rows: u64,
    /// How many rows a select brings.
    pub select_rows: u64,
    /// Bytes of a row's columns together.
    pub row_bytes: u32,
    /// A table whose columns are taken instead of made ones; it is read, never written.
    pub like: Option<String>,
}

/// One run.
pub struct Trial<'a> {
    /// Which way.
    pub way: &'a Way,
    /// Its setting; absent for a way without.
    pub value: Option<u64>,
    /// Where to connect instead of the target's own address: a relay with a link in it.
    pub address: Option<SocketAddr>,
    /// Who sees every byte; absent when nobody does, so that nothing is added to the time.
    pub watch: Option<Watch<'a>>,
}

/// Whoever can do jobs on one target.
pub trait Workbench {
    /// The ways there are, each with the values a full sweep tries.
    fn ways(&self) -> Vec<Way>;

    /// Makes a scratch schema with the tables that jobs need. Nothing outside of it is written, ever.
    ///
    /// # Errors
    /// When the server refuses.
    fn prepare(&mut self, shape: &Shape) -> Result<(), TuneError>;

    /// Runs one job on a connection of its own and checks its result; leaves the tables as they were before.
    ///
    /// # Errors
    /// When the server refuses, or the rows are not all there.
    fn run(&mut self, trial: &Trial<'_>) -> Result<TrialOutcome, TuneError>;

    /// Removes the scratch schema, on a connection of its own: also after an error, or Ctrl-C.
    ///
    /// # Errors
    /// When the server refuses; tells the name of what is left.
    fn clean_up(&mut self) -> Result<(), TuneError>;
}

/// Why a job could not be done.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// Connecting or talking failed.
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
}
