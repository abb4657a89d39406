//! Jobs with longwire's own clients.
//!
//! A [`Database`] defines statements, messages and methods of one product. Common parts are here:
//! scratch schema, use of connections, and timing. Each job has a new connection
//! ([`job_connection`]); checks, restoring tables and the server's memory use a second one, direct
//! to the server.

pub(super) mod content;
pub(super) mod job_connection;
pub(super) mod memory;
pub(super) mod method;
pub(super) mod text_rows;

use super::{Error, MissingMethod, Prepared, Shape, Trial, Workbench};
use client::session::{Rows, Session, SessionOptions};
use client::{ErrorReply, ReplyReader};
use content::Content;
use job_connection::JobConnection;
use method::{MethodRow, Work};
use model::{ByteCount, ConnectionId, Job, TrialOutcome};
use std::time::Duration;
use sys::StopToken;
use sys::target::Target;

pub(super) trait Database {
    type Replies: ReplyReader + 'static;
    const METHODS: &'static [MethodRow<Self::Replies>];
    const GOODBYE: &'static [u8];
    /// Error codes for an existing schema.
    const TAKEN: &'static [&'static str];
    const TRANSACTION: [&'static str; 2];

    /// Appends a request for `statement` and expects its reply.
    fn send_request(talk: &mut JobConnection<'_, Self::Replies>, statement: &str) -> Result<(), Error>;
    /// Product and version from the server's self-description.
    fn product(session: &Session<'_>, version: &str) -> String;
    fn schema(scratch: &str) -> [String; 2];
    /// Columns of synthetic rows after key and counter.
    fn columns(widths: &[usize]) -> String;
    /// Statements that create table `name` with the columns of `origin`.
    fn table(scratch: &str, name: &str) -> Vec<String>;
    /// Statement to run after filling a table.
    fn settled(scratch: &str, table: &str) -> String;
    /// Inserts rows 1 to `work.rows`.
    fn fill(talk: &mut JobConnection<'_, Self::Replies>, work: &Work<'_>, table: &str) -> Result<(), Error>;
    /// Determines the maximum request length and unavailable ways.
    fn limits(control: &mut Control<'_>) -> Result<(u64, Vec<MissingMethod>), Error>;
    /// Current and peak memory of the connection's server process, in bytes, if known.
    fn memory(control: &mut Control<'_>, process: u32) -> Option<(u64, u64)>;
    /// Statement that kills the server side of a connection.
    fn kill(process: u32) -> String;
}

pub(super) struct Native<'a, D: Database> {
    target: Target,
    scratch: String,
    stop: &'a StopToken,
    made: bool,
    ready: Option<Ready>,
    connections: u32,
    /// Server process of a failed job's connection.
    abandoned: Option<u32>,
    database: std::marker::PhantomData<D>,
}

struct Ready {
    shape: Shape,
    content: Content,
    longest_request: u64,
    /// Jobs with an unmodified table.
    filled: Vec<Job>,
}

impl Ready {
    fn rows(&self, job: Job) -> u64 {
        match job {
            Job::Select => self.shape.select_rows,
            Job::Insert | Job::Update => self.shape.rows,
        }
    }
}

/// A session besides that of the job: direct to the server, without the job's link.
pub(super) struct Control<'a> {
    pub session: Session<'a>,
}

impl<'a> Control<'a> {
    fn open(target: &Target, stop: &'a StopToken) -> Result<Self, Error> {
        let options = SessionOptions {
            // Same mode as jobs, so that the server's settings apply to both.
            loading: true,
            ..SessionOptions::new(stop)
        };
        Ok(Self {
            session: Session::open(target, options)?,
        })
    }

    /// `doing` describes `sql` in errors.
    pub fn run_query(&mut self, doing: &str, sql: &str) -> Result<Rows, Error> {
        let rows = self.session.query(sql, A_STATEMENT)?;
        match rows.reply.error.clone() {
            None => Ok(rows),
            Some(ErrorReply { code, text }) => Err(Error::Statement {
                doing: doing.to_owned(),
                code,
                text,
            }),
        }
    }

    /// The first number of the result, or 0 without one.
    pub fn number(&mut self, doing: &str, sql: &str) -> Result<u64, Error> {
        let rows = self.run_query(doing, sql)?;
        Ok(rows.first().and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}

impl<'a, D: Database> Native<'a, D> {
    pub fn new(target: &Target, scratch: String, stop: &'a StopToken) -> Self {
        Self {
            target: target.clone(),
            scratch,
            stop,
            made: false,
            ready: None,
            connections: 0,
            abandoned: None,
            database: std::marker::PhantomData,
        }
    }

    fn make_schema(&mut self, control: &mut Control<'_>) -> Result<(), Error> {
        let [make, _] = D::schema(&self.scratch);
        let scratch = || self.scratch.clone();
        match control.run_query("making the scratch schema", &make) {
            Ok(_) => {
                self.made = true;
                Ok(())
            }
            Err(Error::Statement { code, .. }) if D::TAKEN.contains(&code.as_str()) => {
                Err(Error::ScratchExists { scratch: scratch() })
            }
            Err(Error::Statement { code, text, .. }) => Err(Error::NoScratch {
                scratch: scratch(),
                code,
                text,
            }),
            Err(other) => Err(other),
        }
    }

    /// Creates the table that provides the columns of the others, and determines the content.
    fn make_origin(&self, control: &mut Control<'_>, shape: &Shape) -> Result<Content, Error> {
        let scratch = &self.scratch;
        let Some(like) = &shape.like else {
            let content = Content::made(shape.row_bytes);
            if let Content::Made(widths) = &content {
                let columns = D::columns(widths);
                let sql = format!("create table {scratch}.origin ({KEY} bigint, {COUNTER} bigint{columns})");
                control.run_query(MAKING, &sql)?;
            }
            return Ok(content);
        };
        if !is_a_name(like) {
            return Err(Error::LikeName);
        }
        let refused = |error| match error {
            Error::Statement { code, text, .. } => Error::Like { code, text },
            other => other,
        };
        let values = control
            .run_query(MAKING, &format!("select * from {like} limit {SAMPLE}"))
            .map_err(refused)?;
        if values.rows.is_empty() {
            return Err(Error::LikeEmpty);
        }
        // 64-bit numbers in every database.
        let sql = format!(
            "create table {scratch}.origin as select {NUMBER} as {KEY}, {NUMBER} as {COUNTER}, t.* from {like} t limit 0"
        );
        control.run_query(MAKING, &sql).map_err(refused)?;
        Ok(Content::Like(values.rows))
    }

    fn make_tables(&self, control: &mut Control<'_>) -> Result<(), Error> {
        for statement in Job::ALL
            .iter()
            .flat_map(|job| D::table(&self.scratch, table_of(*job)))
        {
            control.run_query(MAKING, &statement)?;
        }
        Ok(())
    }

    fn fill_table(&mut self, job: Job, control: &mut Control<'_>) -> Result<(), Error> {
        let ready = self.ready.as_ref().ok_or(Error::NotPrepared)?;
        if job == Job::Insert || ready.filled.contains(&job) {
            return Ok(());
        }
        let (scratch, table) = (&self.scratch, table_of(job));
        control.run_query(PUTTING_BACK, &format!("truncate table {scratch}.{table}"))?;
        let work = Work {
            scratch,
            content: &ready.content,
            rows: ready.rows(job),
            value: 1,
            longest_request: ready.longest_request,
        };
        let session = Session::open(&self.target, self.options())?;
        let mut talk = JobConnection::over(session);
        talk.doing = FILLING;
        D::fill(&mut talk, &work, table)?;
        talk.leave(D::GOODBYE);
        control.run_query(FILLING, &D::settled(scratch, table))?;
        if let Some(ready) = &mut self.ready {
            ready.filled.push(job);
        }
        Ok(())
    }

    fn options(&self) -> SessionOptions<'a> {
        SessionOptions {
            loading: true,
            ..SessionOptions::new(self.stop)
        }
    }

    /// Closes the connection before it returns.
    fn work(&mut self, trial: &Trial<'_>, control: &mut Control<'_>) -> Result<TrialOutcome, Error> {
        let row = Self::row(trial)?;
        let ready = self.ready.as_ref().ok_or(Error::NotPrepared)?;
        let mut options = SessionOptions {
            address: trial.address,
            ..self.options()
        };
        if let Some(watch) = &trial.watch {
            let id = ConnectionId(self.connections);
            self.connections += 1;
            options.clock = watch.clock;
            options.observer = Some((id, watch.factory.observe(id)));
        }
        let session = Session::open(&self.target, options)?;
        let process = session.server_process();
        self.abandoned = process;
        let work = Work {
            scratch: &self.scratch,
            content: &ready.content,
            rows: ready.rows(row.job),
            value: trial.value.unwrap_or(1).max(1),
            longest_request: ready.longest_request,
        };
        let memory = process.and_then(|process| D::memory(control, process));
        let mut talk = JobConnection::over(session);
        let before = talk.passed();
        let [begin, commit] = D::TRANSACTION;
        D::send_request(&mut talk, begin)?;
        (row.run)(&mut talk, &work)?;
        D::send_request(&mut talk, commit)?;
        let mut outcome = talk.outcome(before);
        outcome.rows = talk.replies.rows();
        let after = process.and_then(|process| D::memory(control, process));
        outcome.server_memory = memory
            .zip(after)
            .map(|((used, _), (_, most))| ByteCount::from_bytes(most.saturating_sub(used)));
        talk.leave(D::GOODBYE);
        self.abandoned = None;
        Ok(outcome)
    }

    fn row(trial: &Trial<'_>) -> Result<&'static MethodRow<D::Replies>, Error> {
        let method = trial.method;
        D::METHODS
            .iter()
            .find(|row| row.job == method.job && row.name == &*method.name)
            .ok_or_else(|| Error::NoSuchMethod {
                job: method.job.name(),
                method: method.name.to_string(),
            })
    }

    /// Checks row counts and empties the insert table. The update table is refilled before the next
    /// update.
    fn check(&self, job: Job, outcome: &mut TrialOutcome, control: &mut Control<'_>) -> Result<(), Error> {
        let ready = self.ready.as_ref().ok_or(Error::NotPrepared)?;
        let scratch = &self.scratch;
        let expected = ready.rows(job);
        let doing = match job {
            Job::Insert => {
                let count = format!(
                    "select count(distinct {KEY}) from {scratch}.inserted where {KEY} between 1 and {expected}"
                );
                outcome.rows = control.number(CHECKING, &count)?;
                control.run_query(PUTTING_BACK, &format!("truncate table {scratch}.inserted"))?;
                "inserting"
            }
            Job::Select => "selecting",
            Job::Update => {
                let count = format!("select count(*) from {scratch}.updated where {COUNTER} = 1");
                outcome.rows = control.number(CHECKING, &count)?;
                "updating"
            }
        };
        if outcome.rows == expected {
            return Ok(());
        }
        Err(Error::Rows {
            doing: doing.to_owned(),
            expected,
            found: outcome.rows,
        })
    }
}

impl<D: Database> Workbench for Native<'_, D> {
    fn prepare(&mut self, shape: &Shape) -> Result<Prepared, Error> {
        let mut control = Control::open(&self.target, self.stop)?;
        let version = control.run_query("asking for the version", "select version()")?;
        let server = D::product(&control.session, version.first().unwrap_or_default());
        let (longest_request, absent) = D::limits(&mut control)?;
        self.make_schema(&mut control)?;
        let content = self.make_origin(&mut control, shape)?;
        let ready = Ready {
            shape: shape.clone(),
            content,
            longest_request,
            filled: Vec::new(),
        };
        self.make_tables(&mut control)?;
        control.session.close();
        let methods = D::METHODS
            .iter()
            .filter(|row| {
                !absent
                    .iter()
                    .any(|method| method.job == row.job && *method.name == *row.name)
            })
            .map(|row| row.method(shape, ready.content.row_bytes(), longest_request))
            .collect();
        self.ready = Some(ready);
        Ok(Prepared {
            server: Some(server),
            scratch: self.scratch.clone(),
            methods,
            absent,
        })
    }

    fn fill(&mut self, job: Job) -> Result<(), Error> {
        let mut control = Control::open(&self.target, self.stop)?;
        let filled = self.fill_table(job, &mut control);
        control.session.close();
        filled
    }

    fn run(&mut self, trial: &Trial<'_>) -> Result<TrialOutcome, Error> {
        let job = trial.method.job;
        Self::row(trial)?;
        let mut control = Control::open(&self.target, self.stop)?;
        self.fill_table(job, &mut control)?;
        if let (Job::Update, Some(ready)) = (job, &mut self.ready) {
            ready.filled.retain(|filled| *filled != job);
        }
        let mut outcome = self.work(trial, &mut control)?;
        let checked = self.check(job, &mut outcome, &mut control);
        control.session.close();
        checked.map(|()| outcome)
    }

    fn clean_up(&mut self) -> Result<(), Error> {
        if !self.made {
            return Ok(());
        }
        // Cleanup also runs after a stop.
        let never = StopToken::never();
        let left = |reason| Error::ScratchLeft {
            scratch: self.scratch.clone(),
            reason: Box::new(reason),
        };
        let mut control = Control::open(&self.target, &never).map_err(left)?;
        if let Some(process) = self.abandoned.take() {
            // Its statement may still hold locks. If it has already ended, the server may report an
            // error.
            match control.run_query("ending the job", &D::kill(process)) {
                Ok(_) | Err(Error::Statement { .. }) => {}
                Err(other) => return Err(left(other)),
            }
        }
        let [_, remove] = D::schema(&self.scratch);
        control
            .run_query("removing the scratch schema", &remove)
            .map_err(left)?;
        control.session.close();
        self.made = false;
        self.ready = None;
        Ok(())
    }
}

const fn table_of(job: Job) -> &'static str {
    match job {
        Job::Insert => "inserted",
        Job::Select => "selected",
        Job::Update => "updated",
    }
}

/// True if `text` is only a table name, optionally quoted and with a schema.
fn is_a_name(text: &str) -> bool {
    let mut quote = None;
    let fits = text.chars().all(|letter| match quote {
        Some(open) if letter == open => {
            quote = None;
            true
        }
        Some(_) => !letter.is_control(),
        None if letter == '"' || letter == '`' => {
            quote = Some(letter);
            true
        }
        None => letter.is_alphanumeric() || matches!(letter, '_' | '$' | '.'),
    });
    fits && quote.is_none() && !text.is_empty()
}

/// First column of every table, counted from 1.
pub(super) const KEY: &str = "longwire_k";
/// Second column, incremented by updates.
pub(super) const COUNTER: &str = "longwire_n";
/// A 64-bit integer in PostgreSQL, MySQL and MariaDB.
const NUMBER: &str = "4294967296";
/// Sampled rows of the example table.
const SAMPLE: u32 = 100;
const MAKING: &str = "making the scratch tables";
const FILLING: &str = "filling the scratch tables";
const CHECKING: &str = "checking the rows";
const PUTTING_BACK: &str = "putting the table back";
/// Time limit for statements outside of jobs.
const A_STATEMENT: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::is_a_name;

    #[test]
    fn a_table_is_a_name_and_no_more() {
        for name in ["orders", "shop.orders", "\"Two Words\"", "`a;b`.c", "größe"] {
            assert!(is_a_name(name), "{name}");
        }
        for text in ["", "a b", "a;drop table b", "\"open", "(select 1)", "a--"] {
            assert!(!is_a_name(text), "{text}");
        }
    }
}
