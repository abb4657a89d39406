//! Tuning through a JDBC driver: ways that JDBC and the driver offer, on any database.
//!
//! The SQL is common to the supported databases. It was tested on PostgreSQL, MySQL, MariaDB and
//! Derby; for Oracle, Informix, DB2 and SQL Server it follows their manuals. Jobs run and are timed
//! in the bridge's Java. Start reading at [`JdbcBench::prepare`], then `recipes.rs`.

mod dialect;
mod recipes;
mod watching;

use super::{Error, Prepared, Shape, Trial, Workbench};
use client::bridge::{
    Bridge, BridgeConnection, BridgeOptions, Column, Execute, Executed, HowInserted, Insert, Login, Update,
    Wait,
};
use dialect::Tables;
use model::{ByteCount, Job, TrialOutcome};
use recipes::{BenchRequest, Recipe};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use sys::StopToken;
use sys::target::{Secret, Target};
use watching::Passed;

/// Names its scratch schema `longwire_tune_` and a suffix. Where a user has only one schema, this
/// is a prefix of table names.
pub struct JdbcBench<'a> {
    options: BridgeOptions,
    login: Login,
    stop: &'a StopToken,
    tables: Tables,
    bridge: Option<Arc<Bridge>>,
    control: Option<BridgeConnection>,
    prepared: Option<Ready>,
    made: bool,
}

struct Ready {
    shape: Shape,
    columns: Vec<Column>,
    recipes: Vec<Recipe>,
    /// Jobs with a complete table.
    filled: Vec<Job>,
}

impl<'a> JdbcBench<'a> {
    /// `suffix` is unique and has only letters and digits. Setting `stop` halts work almost at
    /// once, but not `clean_up`.
    pub fn new(options: BridgeOptions, login: Login, suffix: &str, stop: &'a StopToken) -> Self {
        Self {
            tables: Tables::new(login.url.dialect(), suffix),
            options,
            login,
            stop,
            bridge: None,
            control: None,
            prepared: None,
            made: false,
        }
    }

    fn wait(&self) -> Wait<'a> {
        Wait {
            timeout: MAX_JOB_DURATION,
            stop: self.stop,
        }
    }

    fn bridge(&mut self) -> Result<Arc<Bridge>, Error> {
        if let Some(bridge) = &self.bridge {
            return Ok(bridge.clone());
        }
        let bridge = Bridge::start(&self.options, self.stop)?;
        Ok(self.bridge.insert(bridge).clone())
    }

    /// A direct connection in autocommit mode, with product and version of the database.
    fn control(&mut self) -> Result<(&mut BridgeConnection, Option<String>), Error> {
        let mut server = None;
        let control = match self.control.take() {
            Some(control) => control,
            None => {
                let (control, who) = self.bridge()?.connect(&self.login, self.wait())?;
                server = who.server;
                control
            }
        };
        Ok((self.control.insert(control), server))
    }

    fn say(&mut self, sql: &str) -> Result<Executed, Error> {
        let wait = self.wait();
        let (control, _) = self.control()?;
        Ok(control.execute(&Execute::text(sql), wait)?)
    }

    /// An existing schema is an error.
    fn make_scratch(&mut self) -> Result<(), Error> {
        for sql in self.tables.create_schema() {
            self.say(&sql).map_err(|error| self.tables.not_made(error))?;
            self.made = true;
        }
        Ok(())
    }

    fn make_tables(&mut self, shape: &Shape) -> Result<Vec<Column>, Error> {
        for sql in self.tables.create(shape)? {
            let said = self.say(&sql);
            said.map_err(|error| match &shape.like {
                Some(_) => dialect::like_failed(error),
                None => self.tables.not_made(error),
            })?;
            self.made = true;
        }
        let query = format!("select * from {} where 1 = 0", self.tables.inserted());
        let wait = self.wait();
        let (control, _) = self.control()?;
        let columns = control.columns(&query, wait)?;
        Ok(columns
            .into_iter()
            .map(|column| dialect::modest(column, shape))
            .collect())
    }

    fn fill_table(&mut self, table: &str, rows: u64, columns: &[Column]) -> Result<(), Error> {
        let recipe = recipes::filling(self.login.url.dialect());
        let doing = format!("filling the table of {rows} rows");
        let mut connection = self.open(&recipe, None, None)?;
        let insert = Insert {
            how: HowInserted::Batch,
            insert: &dialect::insert_into(table, columns),
            columns,
            rows,
            size: FILLING,
            weigh: false,
        };
        connection.insert(&insert, self.wait())?;
        connection.close(self.wait())?;
        self.expect(table, rows, doing)
    }

    fn count(&mut self, table: &str) -> Result<u64, Error> {
        let sql = format!("select count(*) from {table}");
        let wait = self.wait();
        let (control, _) = self.control()?;
        let counted = control.execute(
            &Execute {
                keep: true,
                ..Execute::text(&sql)
            },
            wait,
        )?;
        let text = counted.kept.first().and_then(|(_, value)| value.as_deref());
        Ok(text.and_then(|text| text.trim().parse().ok()).unwrap_or_default())
    }

    fn expect(&mut self, table: &str, expected: u64, doing: String) -> Result<(), Error> {
        let found = self.count(table)?;
        match found == expected {
            true => Ok(()),
            false => Err(Error::Rows {
                doing,
                expected,
                found,
            }),
        }
    }

    fn open(
        &mut self,
        recipe: &Recipe,
        value: Option<u64>,
        address: Option<SocketAddr>,
    ) -> Result<BridgeConnection, Error> {
        let mut login = self.login.clone();
        for (name, text) in recipe.properties(value) {
            // With most drivers, the URL overrides properties.
            match login.url.with(name, &text) {
                Some(url) => login.url = url,
                None => login.properties.push((name.to_owned(), Secret::new(text))),
            }
        }
        if let Some(address) = address {
            login.url = login.url.through(address)?;
        }
        let wait = self.wait();
        let (mut connection, _) = self.bridge()?.connect(&login, wait)?;
        connection.set_autocommit(false, wait)?;
        Ok(connection)
    }

    fn job(
        &mut self,
        recipe: &Recipe,
        value: Option<u64>,
        address: Option<SocketAddr>,
        weigh: bool,
        passed: &dyn Fn() -> Passed,
    ) -> Result<(Executed, [Passed; 2]), Error> {
        let ready = self.prepared.as_ref().ok_or(Error::NotPrepared)?;
        let (shape, columns) = (ready.shape.clone(), ready.columns.clone());
        let mut connection = self.open(recipe, value, address)?;
        let wait = self.wait();
        let before = passed();
        let done = match recipe.bench_request {
            BenchRequest::Insert(how) => connection.insert(
                &Insert {
                    how,
                    insert: &dialect::insert_into(&self.tables.inserted(), &columns),
                    columns: &columns,
                    rows: shape.rows,
                    size: recipe.size(value),
                    weigh,
                },
                wait,
            )?,
            BenchRequest::Select => connection.execute(
                &Execute {
                    fetch_size: recipe.fetch_size(value),
                    weigh,
                    ..Execute::text(&format!("select * from {}", self.tables.selected()))
                },
                wait,
            )?,
            BenchRequest::Update(how) => {
                let statements = self.tables.updating(&columns).ok_or(Error::NotPrepared)?;
                let update = Update {
                    how,
                    select: &statements.select,
                    update: &statements.update,
                    column: &statements.column,
                    value: "changed",
                    fetch_size: 0,
                    batch: recipe.size(value),
                };
                connection.update(&update, wait)?
            }
        };
        let after = passed();
        connection.close(wait)?;
        Ok((done, [before, after]))
    }

    fn checked(&mut self, recipe: &Recipe, done: &Executed) -> Result<u64, Error> {
        let ready = self.prepared.as_ref().ok_or(Error::NotPrepared)?;
        let (rows, select_rows) = (ready.shape.rows, ready.shape.select_rows);
        let doing = format!("{}, {}", recipe.method.job, recipe.method.name);
        let (expected, found) = match recipe.method.job {
            Job::Insert => {
                let found = self.count(&self.tables.inserted())?;
                let empty = self.tables.empty(&self.tables.inserted());
                self.say(&empty)?;
                (rows, found)
            }
            Job::Select => (select_rows, done.rows),
            Job::Update => (rows, done.changed),
        };
        match expected == found {
            true => Ok(found),
            false => Err(Error::Rows {
                doing,
                expected,
                found,
            }),
        }
    }

    fn tried(&mut self, trial: &Trial<'_>, recipe: &Recipe) -> Result<TrialOutcome, Error> {
        let unseen = Passed::default;
        let (done, [before, after]) = match &trial.watch {
            None => self.job(recipe, trial.value, trial.address, false, &unseen)?,
            Some(watch) => {
                let behind = self.behind(trial.address)?;
                watching::through(behind, watch, |address, passed| {
                    self.job(recipe, trial.value, Some(address), false, passed)
                })??
            }
        };
        let rows = self.checked(recipe, &done)?;
        let weighed = trial.watch.is_some() && trial.address.is_none() && recipe.holds_rows();
        let heap = match weighed {
            true => {
                let (again, _) = self.job(recipe, trial.value, None, true, &unseen)?;
                self.checked(recipe, &again)?;
                again.heap
            }
            false => None,
        };
        Ok(TrialOutcome {
            duration: done.duration,
            span: trial.watch.is_some().then_some([before.at, after.at]),
            rows,
            payload_bytes: trial.watch.is_some().then(|| after.bytes_since(before)),
            client_memory: heap.filter(|bytes| *bytes > 0).map(ByteCount::from_bytes),
            ..TrialOutcome::default()
        })
    }

    fn behind(&self, address: Option<SocketAddr>) -> Result<Target, Error> {
        Ok(match address {
            Some(address) => address.into(),
            None => self.login.url.target()?,
        })
    }

    /// Kills the bridge process. Its connections close, which releases their locks.
    fn hang_up(&mut self) {
        self.control = None;
        self.bridge = None;
    }
}

impl Workbench for JdbcBench<'_> {
    fn prepare(&mut self, shape: &Shape) -> Result<Prepared, Error> {
        let (_, server) = self.control()?;
        self.make_scratch()?;
        let columns = self.make_tables(shape)?;
        let can_update = self.tables.updating(&columns).is_some();
        let (recipes, absent) =
            recipes::find_recipes(self.login.url.dialect(), shape, columns.len() as u64, can_update);
        let methods = recipes.iter().map(|recipe| recipe.method.clone()).collect();
        self.prepared = Some(Ready {
            shape: shape.clone(),
            columns,
            recipes,
            filled: Vec::new(),
        });
        Ok(Prepared {
            server,
            scratch: self.tables.scratch().to_owned(),
            methods,
            absent,
        })
    }

    fn fill(&mut self, job: Job) -> Result<(), Error> {
        let ready = self.prepared.as_ref().ok_or(Error::NotPrepared)?;
        let (table, rows) = match job {
            Job::Insert => return Ok(()),
            Job::Select => (self.tables.selected(), ready.shape.select_rows),
            Job::Update => (self.tables.updated(), ready.shape.rows),
        };
        if ready.filled.contains(&job) {
            return Ok(());
        }
        let columns = ready.columns.clone();
        self.fill_table(&table, rows, &columns)?;
        if let Some(sql) = self.tables.settle(&table) {
            self.say(&sql)?;
        }
        if let Some(ready) = &mut self.prepared {
            ready.filled.push(job);
        }
        Ok(())
    }

    fn run(&mut self, trial: &Trial<'_>) -> Result<TrialOutcome, Error> {
        let ready = self.prepared.as_ref().ok_or(Error::NotPrepared)?;
        let same = |recipe: &&Recipe| {
            recipe.method.job == trial.method.job && recipe.method.name == trial.method.name
        };
        let recipe = ready.recipes.iter().find(same).cloned();
        let recipe = recipe.ok_or_else(|| Error::NoSuchMethod {
            job: trial.method.job.name(),
            method: trial.method.name.to_string(),
        })?;
        let tried = self
            .fill(recipe.method.job)
            .and_then(|()| self.tried(trial, &recipe));
        if tried.is_err() {
            self.hang_up();
        }
        tried
    }

    fn clean_up(&mut self) -> Result<(), Error> {
        if !self.made {
            return Ok(());
        }
        self.hang_up();
        self.stop = &NEVER;
        let left = |reason: Error, tables: &Tables| Error::ScratchLeft {
            scratch: tables.scratch().to_owned(),
            reason: Box::new(reason),
        };
        let mut last = Ok(());
        for sql in self.tables.remove() {
            // Tables may not exist yet, so only the result for the schema counts.
            last = self.say(&sql).map(|_| ());
        }
        self.hang_up();
        last.map_err(|reason| left(reason, &self.tables))?;
        self.made = false;
        Ok(())
    }
}

impl Drop for JdbcBench<'_> {
    fn drop(&mut self) {
        self.hang_up();
    }
}

static NEVER: StopToken = StopToken::never();
const MAX_JOB_DURATION: Duration = Duration::from_secs(3600);
/// Rows per batch when filling a table.
const FILLING: u64 = 1000;
