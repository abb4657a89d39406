//! Finds the fastest way to do a job, and its best setting.
//!
//! [`jobs`] runs jobs in every way, [`search`] decides which to run next. [`program`] tunes the
//! user's own program. A [`Workbench`] runs one job in one way with one setting: it is one of
//! longwire's own clients of PostgreSQL and MySQL/MariaDB ([`mod@native`]), or a driver behind the
//! bridge.
//!
//! Call [`Workbench::prepare`] once, [`Workbench::fill`] and [`Workbench::run`] any number of
//! times, and always [`Workbench::clean_up`] last.

#![forbid(unsafe_code)]

mod campaign;
mod curve;
pub mod distance;
mod error;
pub mod jdbc;
pub mod jobs;
pub mod jobs_plan;
mod mysql;
mod native;
mod postgres;
pub mod program;
pub mod scratch;
pub mod search;
mod watched;

pub use error::Error;

use client::Watch;
use model::{Job, Method, Protocol, TrialOutcome};
use mysql::MySql;
use native::Native;
use postgres::PostgreSql;
use std::net::SocketAddr;
use std::sync::Arc;
use sys::StopToken;
use sys::target::Target;

/// The rows of a job, with the same content in every way and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    pub rows: u64,
    pub select_rows: u64,
    /// Total over a row's columns.
    pub row_bytes: u32,
    /// Table to copy columns from instead of synthetic ones. It is only read.
    pub like: Option<String>,
}

pub struct Trial<'a> {
    pub method: &'a Method,
    /// `None` for a way without settings.
    pub value: Option<u64>,
    /// Address to use instead of the target's, such as a relay with a link.
    pub address: Option<SocketAddr>,
    /// Observer of all bytes on the job's connection, login included; `None` adds no overhead.
    pub watch: Option<Watch<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prepared {
    /// Product and version, if the server reports them.
    pub server: Option<String>,
    pub scratch: String,
    /// In the order of [`Job`], each with the values of a full sweep.
    pub methods: Vec<Method>,
    /// Ways of this kind of database that this server, user or driver lacks.
    pub absent: Vec<MissingMethod>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingMethod {
    pub job: Job,
    pub name: Arc<str>,
    /// Cause and remedy, as in `local_infile is off at the server`.
    pub reason: String,
}

pub trait Workbench {
    /// Creates a scratch schema with empty tables, and determines capabilities of server and user.
    /// Never writes outside of the schema. An existing one is an error and left alone.
    fn prepare(&mut self, shape: &Shape) -> Result<Prepared, Error>;

    /// Ensures that a job's table has the rows to select or update. [`Workbench::run`] does so too.
    fn fill(&mut self, job: Job) -> Result<(), Error>;

    /// Runs one job on a new connection and verifies the result. The time excludes connecting,
    /// verifying and filling tables.
    ///
    /// # Errors
    /// If the server refuses, or rows are missing.
    fn run(&mut self, trial: &Trial<'_>) -> Result<TrialOutcome, Error>;

    /// Removes the scratch schema on a new connection, also after errors or a stop. Does nothing if
    /// this workbench created none.
    ///
    /// # Errors
    /// If the server refuses. The error names the remaining objects.
    fn clean_up(&mut self) -> Result<(), Error>;
}

/// A workbench with longwire's own client for `target`. Its scratch schema is `longwire_tune_` and
/// the unique `suffix` (letters and digits). Setting `stop` halts work within 0.2 s, but not
/// `clean_up`.
///
/// # Errors
/// [`Error::Scheme`] for an unsupported target.
pub fn native<'a>(
    target: &Target,
    suffix: &str,
    stop: &'a StopToken,
) -> Result<Box<dyn Workbench + 'a>, Error> {
    let safe = suffix.chars().filter(char::is_ascii_alphanumeric);
    let scratch: String = "longwire_tune_"
        .chars()
        .chain(safe.map(|letter| letter.to_ascii_lowercase()))
        .collect();
    match target.scheme.protocol() {
        Protocol::Postgres => Ok(Box::new(Native::<PostgreSql>::new(target, scratch, stop))),
        Protocol::Mysql => Ok(Box::new(Native::<MySql>::new(target, scratch, stop))),
        _ => Err(Error::Scheme {
            scheme: target.scheme.name(),
        }),
    }
}
