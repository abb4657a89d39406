//! Tuning: a job done over a real connection in one way with one setting, and what it took.
//!
//! What can do that is a [`Workbench`]: longwire's own clients of PostgreSQL and MySQL/MariaDB
//! ([`mod@native`]), a driver behind the bridge. What to run when, and what follows from it, is not decided
//! here.
//!
//! Calling order: [`Workbench::prepare`] once, [`Workbench::fill`] and [`Workbench::run`] as often as wanted,
//! [`Workbench::clean_up`] last, whatever came before.

#![forbid(unsafe_code)]

mod error;
pub mod jdbc;
mod mysql;
mod native;
mod postgres;

pub use error::TuneError;

use client::Watch;
use model::{Job, Method, TrialOutcome};
use mysql::MySql;
use native::Native;
use postgres::PostgreSql;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use sys::target::{Scheme, Target};

/// The rows that a job works on. Their content is the same in every way and run.
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
    pub method: &'a Method,
    /// Its setting; `None` for a way without.
    pub value: Option<u64>,
    /// Where to connect instead of the target's own address: a relay with a link in it.
    pub address: Option<SocketAddr>,
    /// The observer that sees every byte of the job's connection, login included; `None` if there is none, so
    /// that nothing is added to the time.
    pub watch: Option<Watch<'a>>,
}

/// What a workbench has and can do, once it is prepared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prepared {
    /// The server's product and version, as it introduces itself; `None` if it does not.
    pub server: Option<String>,
    /// Name of the scratch schema.
    pub scratch: String,
    /// The ways there are, jobs in the order of [`Job`], each with the values a full sweep tries.
    pub methods: Vec<Method>,
    /// Ways that this kind of database has, and this server, user or driver has not.
    pub absent: Vec<MissingMethod>,
}

/// A way that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingMethod {
    /// The job it would do.
    pub job: Job,
    /// Its name.
    pub name: Arc<str>,
    /// Why not, and what would have to be set: `local_infile is off at the server`.
    pub reason: String,
}

/// A place that can do jobs on one target.
pub trait Workbench {
    /// Makes a scratch schema with empty tables, and finds out what the server and the user can do. Nothing
    /// outside of the schema is written, ever; one that exists already is left alone and is an error.
    ///
    /// # Errors
    /// When the server refuses.
    fn prepare(&mut self, shape: &Shape) -> Result<Prepared, TuneError>;

    /// Puts the rows that a job selects or updates into its table, unless they are there as they should be.
    /// [`Workbench::run`] does it too.
    ///
    /// # Errors
    /// When the server refuses.
    fn fill(&mut self, job: Job) -> Result<(), TuneError>;

    /// Runs one job on a connection of its own and checks its result. Connecting, checking and filling tables
    /// are no part of the time.
    ///
    /// # Errors
    /// When the server refuses, or the rows are not all there.
    fn run(&mut self, trial: &Trial<'_>) -> Result<TrialOutcome, TuneError>;

    /// Removes the scratch schema, on a connection of its own: also after an error, or when the run was
    /// stopped. Does nothing when there is none of this workbench's.
    ///
    /// # Errors
    /// When the server refuses; has the name of the rest.
    fn clean_up(&mut self) -> Result<(), TuneError>;
}

/// A workbench of longwire's own client for `target`, whose scratch schema is `longwire_tune_` and `suffix`:
/// letters and digits that no other run has. `stop` set ends what is in progress within a fifth of a second;
/// cleaning up does not look at it.
///
/// # Errors
/// [`TuneError::Scheme`] when longwire has no client for such a target.
pub fn native<'a>(
    target: &Target,
    suffix: &str,
    stop: &'a AtomicBool,
) -> Result<Box<dyn Workbench + 'a>, TuneError> {
    let safe = suffix.chars().filter(char::is_ascii_alphanumeric);
    let scratch: String = "longwire_tune_"
        .chars()
        .chain(safe.map(|letter| letter.to_ascii_lowercase()))
        .collect();
    match target.scheme {
        Scheme::Postgres | Scheme::Kingbase => Ok(Box::new(Native::<PostgreSql>::new(target, scratch, stop))),
        Scheme::Mysql | Scheme::Mariadb => Ok(Box::new(Native::<MySql>::new(target, scratch, stop))),
        Scheme::Redis
        | Scheme::Http
        | Scheme::Tcp
        | Scheme::Oracle
        | Scheme::SqlServer
        | Scheme::Informix
        | Scheme::Drda => Err(TuneError::Scheme {
            scheme: target.scheme.name(),
        }),
    }
}
