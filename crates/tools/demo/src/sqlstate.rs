//! SQLite's refusals as PostgreSQL errors. See PostgreSQL manual, appendix A.

use pgwire::error::ErrorInfo;
use rusqlite::ErrorCode;
use rusqlite::ffi;

/// Another connection holds the required lock.
pub(crate) const LOCK_NOT_AVAILABLE: &str = "55P03";

pub(crate) type Refusal = Box<ErrorInfo>;

/// With severity ERROR, after which the connection continues.
pub(crate) fn error(sqlstate: &str, message: impl Into<String>) -> Refusal {
    Box::new(ErrorInfo::new(
        "ERROR".to_owned(),
        sqlstate.to_owned(),
        message.into(),
    ))
}

/// SQLite's message with PostgreSQL's SQLSTATE, and the position in the statement if known.
pub(crate) fn from_sqlite(failure: &rusqlite::Error) -> Refusal {
    match failure {
        rusqlite::Error::SqlInputError {
            error: code,
            msg,
            sql,
            offset,
        } => {
            let mut info = error(of_code(*code, msg), msg);
            info.position = position(sql, *offset);
            info
        }
        rusqlite::Error::SqliteFailure(code, message) => {
            let message = message.clone().unwrap_or_else(|| code.to_string());
            error(of_code(*code, &message), message)
        }
        rusqlite::Error::MultipleStatement => error("42601", "more than one statement where one is expected"),
        other => error("XX000", other.to_string()),
    }
}

/// From 1, in characters, as in PostgreSQL.
fn position(sql: &str, offset: i32) -> Option<String> {
    let before = sql.get(..usize::try_from(offset).ok()?)?;
    Some((before.chars().count() + 1).to_string())
}

fn of_code(failure: ffi::Error, message: &str) -> &'static str {
    match failure.code {
        ErrorCode::ConstraintViolation => of_constraint(failure.extended_code),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => LOCK_NOT_AVAILABLE,
        ErrorCode::OperationInterrupted | ErrorCode::OperationAborted => "57014",
        ErrorCode::AuthorizationForStatementDenied | ErrorCode::PermissionDenied => "42501",
        ErrorCode::ReadOnly => "25006",
        ErrorCode::DiskFull => "53100",
        ErrorCode::OutOfMemory => "53200",
        ErrorCode::TooBig => "54000",
        ErrorCode::TypeMismatch => "42804",
        ErrorCode::ParameterOutOfRange => "08P01",
        ErrorCode::Unknown => of_message(message),
        _ => "XX000",
    }
}

fn of_constraint(extended_code: i32) -> &'static str {
    match extended_code {
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_ROWID => {
            "23505"
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "23503",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "23502",
        ffi::SQLITE_CONSTRAINT_CHECK => "23514",
        ffi::SQLITE_CONSTRAINT_DATATYPE => "42804",
        _ => "23000",
    }
}

/// SQLite has one code, SQLITE_ERROR, for all faults of statements: only the text has details.
fn of_message(message: &str) -> &'static str {
    let starts = [
        ("no such table", "42P01"),
        ("no such column", "42703"),
        ("no such function", "42883"),
        ("wrong number of arguments", "42883"),
        ("no such savepoint", "3B001"),
        ("unknown database", "3F000"),
        ("ambiguous column name", "42702"),
    ];
    let known = starts.iter().find(|(start, _)| message.starts_with(start));
    match known {
        Some((_, sqlstate)) => sqlstate,
        None if message.ends_with("already exists") => "42P07",
        None => "42601",
    }
}
