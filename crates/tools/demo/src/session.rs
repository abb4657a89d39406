//! Runs one client's statements on the shop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{DataRowEncoder, FieldInfo, QueryResponse, Response, Tag};
use pgwire::messages::data::DataRow;
use rusqlite::types::Value;
use rusqlite::{Connection, Statement};

use crate::sqlstate::{Refusal, error, from_sqlite};
use crate::statement::{self, Command};
use crate::values::{self, Column};

/// A client's transaction and SQLite connection.
pub(crate) struct Session {
    connection: Mutex<Connection>,
    stopping: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) sql: String,
    pub(crate) parameters: Vec<Type>,
    pub(crate) columns: Vec<Column>,
}

impl Session {
    pub(crate) fn new(connection: Connection, stopping: Arc<AtomicBool>) -> Session {
        Session {
            connection: Mutex::new(connection),
            stopping,
        }
    }

    /// `declared` holds the client's parameter types.
    pub(crate) fn prepare(&self, sql: &str, declared: &[Option<Type>]) -> Result<Prepared, Refusal> {
        let (parameters, columns) = match statement::command(sql) {
            Command::Show(name) => (Vec::new(), vec![setting_column(name)]),
            Command::Begin | Command::Commit | Command::Rollback | Command::Accepted(_) => {
                (Vec::new(), Vec::new())
            }
            Command::Savepoint | Command::Sql => {
                let connection = self.connection();
                let statement = connection.prepare(sql).map_err(|failure| from_sqlite(&failure))?;
                (
                    parameter_types(&statement, declared)?,
                    values::columns(&statement),
                )
            }
        };
        Ok(Prepared {
            sql: sql.to_owned(),
            parameters,
            columns,
        })
    }

    /// `aborted` means that an earlier statement of the transaction failed.
    pub(crate) fn run(
        &self,
        sql: &str,
        parameters: &[Value],
        format: Option<&Format>,
        aborted: bool,
    ) -> Result<Response, Refusal> {
        let mut connection = self.connection();
        match statement::command(sql) {
            Command::Begin => {
                if connection.is_autocommit() {
                    batch(&connection, "BEGIN")?;
                }
                Ok(Response::TransactionStart(Tag::new("BEGIN")))
            }
            Command::Commit if !aborted => {
                if !connection.is_autocommit() {
                    batch(&connection, "COMMIT")?;
                }
                Ok(Response::TransactionEnd(Tag::new("COMMIT")))
            }
            // PostgreSQL too answers COMMIT with ROLLBACK after an error.
            Command::Commit | Command::Rollback => {
                if !connection.is_autocommit() {
                    batch(&connection, "ROLLBACK")?;
                }
                Ok(Response::TransactionEnd(Tag::new("ROLLBACK")))
            }
            _ if aborted => {
                let message =
                    "current transaction is aborted, commands ignored until end of transaction block";
                Err(error("25P02", message))
            }
            Command::Accepted(tag) => Ok(Response::Execution(Tag::new(tag))),
            Command::Show(name) => {
                let sql = format!("SELECT '{}'", setting(name)?);
                execute(&connection, &sql, &[], &[setting_column(name)], format)
            }
            Command::Savepoint if connection.is_autocommit() => {
                // SQLite would open a transaction unknown to the client.
                Err(error(
                    "25P01",
                    "savepoints can only be used in transaction blocks",
                ))
            }
            Command::Savepoint | Command::Sql => {
                let give_up = stop_when_set(Arc::clone(&self.stopping));
                connection
                    .progress_handler(STEPS, Some(give_up))
                    .map_err(|failure| from_sqlite(&failure))?;
                execute(&connection, sql, parameters, &[], format)
            }
        }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic under the lock leaves SQLite's handle usable.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn batch(connection: &Connection, sql: &str) -> Result<(), Refusal> {
    connection
        .execute_batch(sql)
        .map_err(|failure| from_sqlite(&failure))
}

fn stop_when_set(stopping: Arc<AtomicBool>) -> impl FnMut() -> bool + Send + 'static {
    let started = Instant::now();
    move || stopping.load(Ordering::Relaxed) || started.elapsed() > STATEMENT_LIMIT
}

/// `columns`, if not empty, replaces the statement's own columns.
fn execute(
    connection: &Connection,
    sql: &str,
    parameters: &[Value],
    columns: &[Column],
    format: Option<&Format>,
) -> Result<Response, Refusal> {
    let failed = |failure: rusqlite::Error| from_sqlite(&failure);
    let mut statement = connection.prepare(sql).map_err(failed)?;
    if parameters.is_empty() && statement.parameter_count() > 0 {
        return Err(error("42P02", "there is no parameter $1 in a simple query"));
    }
    for (number, value) in parameters.iter().enumerate() {
        // A gap in the numbers ($1, $3) leaves a value without a parameter.
        if let Some(index) = statement
            .parameter_index(&format!("${}", number + 1))
            .map_err(failed)?
        {
            statement.raw_bind_parameter(index, value).map_err(failed)?;
        }
    }
    if statement.column_count() == 0 {
        let changed = statement.raw_execute().map_err(failed)?;
        return Ok(Response::Execution(completion(sql, changed)));
    }
    let described = values::columns(&statement);
    let schema = values::schema(if columns.is_empty() { &described } else { columns }, format)?;
    let rows = fetch(&mut statement, &schema)?;
    let mut response = QueryResponse::new(schema, futures::stream::iter(rows.into_iter().map(Ok)));
    response.set_command_tag(match statement::tag(sql).as_str() {
        // PostgreSQL's object identifier between word and count is always 0.
        "INSERT" => "INSERT 0",
        "UPDATE" => "UPDATE",
        "DELETE" => "DELETE",
        _ => "SELECT",
    });
    Ok(Response::Query(response))
}

/// Encodes all rows of a statement with bound parameters.
fn fetch(statement: &mut Statement<'_>, schema: &Arc<Vec<FieldInfo>>) -> Result<Vec<DataRow>, Refusal> {
    let mut encoder = DataRowEncoder::new(Arc::clone(schema));
    let mut encoded: Vec<DataRow> = Vec::new();
    let mut bytes = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|failure| from_sqlite(&failure))? {
        let row = values::row(&mut encoder, schema, row)?;
        bytes += row.data.len();
        if bytes > RESULT_LIMIT || encoded.len() >= ROW_LIMIT {
            let mebibytes = RESULT_LIMIT >> 20;
            return Err(error(
                "54000",
                format!("the result has over {mebibytes} MiB or {ROW_LIMIT} rows"),
            ));
        }
        encoded.push(row);
    }
    Ok(encoded)
}

fn completion(sql: &str, changed: usize) -> Tag {
    let words = statement::tag(sql);
    let tag = Tag::new(&words);
    match words.as_str() {
        "INSERT" | "REPLACE" => tag.with_oid(0).with_rows(changed),
        "UPDATE" | "DELETE" | "WITH" => tag.with_rows(changed),
        _ => tag,
    }
}

/// Types of `$1`, `$2`, ... as declared by the client, else `unknown`.
fn parameter_types(statement: &Statement<'_>, declared: &[Option<Type>]) -> Result<Vec<Type>, Refusal> {
    let mut highest = 0;
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).unwrap_or("?");
        let number = name
            .strip_prefix('$')
            .and_then(|digits| digits.parse::<u16>().ok())
            .filter(|n| *n > 0);
        let number =
            number.ok_or_else(|| error("42601", format!("{name} is no parameter: write $1, $2, ...")))?;
        highest = highest.max(usize::from(number));
    }
    let declared_type = |index| declared.get(index).cloned().flatten().unwrap_or(Type::UNKNOWN);
    Ok((0..highest).map(declared_type).collect())
}

fn setting_column(name: &str) -> Column {
    Column {
        name: name.to_ascii_lowercase(),
        datatype: Type::TEXT,
    }
}

/// Settings requested by drivers.
fn setting(name: &str) -> Result<&'static str, Refusal> {
    match name.to_ascii_lowercase().as_str() {
        "server_version" => Ok("16.6"),
        "server_encoding" | "client_encoding" => Ok("UTF8"),
        "standard_conforming_strings" | "integer_datetimes" => Ok("on"),
        "transaction" | "transaction_isolation" | "default_transaction_isolation" => Ok("serializable"),
        "transaction_read_only" | "default_transaction_read_only" => Ok("off"),
        "search_path" => Ok("public"),
        "timezone" => Ok("Etc/UTC"),
        "datestyle" => Ok("ISO, YMD"),
        _ => Err(error(
            "42704",
            format!("unrecognized configuration parameter {name:?}"),
        )),
    }
}

/// Maximum computing time of a statement: it delays all other connections.
const STATEMENT_LIMIT: Duration = Duration::from_secs(5);

/// SQLite virtual machine steps between two clock reads, some tens of microseconds.
const STEPS: i32 = 10_000;

/// Maximum bytes of a result, which stays in memory until sent.
const RESULT_LIMIT: usize = 64 << 20;

pub(crate) const ROW_LIMIT: usize = 1 << 20;
