//! SQL around jobs that differs between databases.

use super::super::{Error, Shape};
use client::bridge::{BridgeError, Column, JdbcDialect};

pub(super) struct Tables {
    dialect: JdbcDialect,
    scratch: String,
}

pub(super) struct Updating {
    pub select: String,
    pub update: String,
    pub column: String,
}

impl Tables {
    pub fn new(dialect: JdbcDialect, suffix: &str) -> Self {
        Self {
            dialect,
            scratch: format!("longwire_tune_{suffix}"),
        }
    }

    pub fn scratch(&self) -> &str {
        &self.scratch
    }

    pub fn inserted(&self) -> String {
        self.table("inserted")
    }

    pub fn selected(&self) -> String {
        self.table("selected")
    }

    pub fn updated(&self) -> String {
        self.table("updated")
    }

    fn table(&self, name: &str) -> String {
        let separator = if self.has_schemas() { '.' } else { '_' };
        format!("{}{separator}{name}", self.scratch)
    }

    /// False if users have a single schema, or only administrators create schemas.
    const fn has_schemas(&self) -> bool {
        matches!(
            self.dialect,
            JdbcDialect::Postgres
                | JdbcDialect::Kingbase
                | JdbcDialect::Mysql
                | JdbcDialect::Mariadb
                | JdbcDialect::Derby
                | JdbcDialect::Db2
                | JdbcDialect::SqlServer
        )
    }

    pub fn create_schema(&self) -> Vec<String> {
        let word = match self.dialect {
            JdbcDialect::Mysql | JdbcDialect::Mariadb => "database",
            _ if self.has_schemas() => "schema",
            _ => return Vec::new(),
        };
        vec![format!("create {word} {}", self.scratch)]
    }

    /// Creates the three tables.
    ///
    /// # Errors
    /// [`Error::Like`] if the database cannot copy columns.
    pub fn create(&self, shape: &Shape) -> Result<Vec<String>, Error> {
        let tables = [
            (self.inserted(), false),
            (self.selected(), false),
            (self.updated(), true),
        ];
        let create = |(table, keyed): (String, bool)| match &shape.like {
            None => Ok(format!(
                "create table {table} ({})",
                self.columns(shape.row_bytes, keyed)
            )),
            Some(like) => self.create_like(&table, like),
        };
        tables.into_iter().map(create).collect()
    }

    fn create_like(&self, table: &str, like: &str) -> Result<String, Error> {
        Ok(match self.dialect {
            JdbcDialect::Derby | JdbcDialect::Db2 => {
                format!("create table {table} as select * from {like} with no data")
            }
            JdbcDialect::SqlServer => format!("select * into {table} from {like} where 1 = 0"),
            JdbcDialect::Informix | JdbcDialect::Other => {
                return Err(Error::Like {
                    code: "-".to_owned(),
                    text: "longwire knows no statement of this database that copies columns; say --row-bytes"
                        .to_owned(),
                });
            }
            JdbcDialect::Postgres
            | JdbcDialect::Kingbase
            | JdbcDialect::Mysql
            | JdbcDialect::Mariadb
            | JdbcDialect::Oracle => format!("create table {table} as select * from {like} where 1 = 0"),
        })
    }

    /// A four-byte number and texts with a given total size.
    fn columns(&self, row_bytes: u32, keyed: bool) -> String {
        let (number, key) = match (self.dialect, keyed) {
            (JdbcDialect::Oracle, true) => ("number(9)", " primary key"),
            (JdbcDialect::Oracle, false) => ("number(9)", ""),
            (_, true) => ("int", " not null primary key"),
            (_, false) => ("int", " not null"),
        };
        let text = |width: u32| match self.dialect {
            JdbcDialect::Oracle => format!("varchar2({width})"),
            JdbcDialect::Informix if width > 255 => format!("lvarchar({width})"),
            _ => format!("varchar({width})"),
        };
        let mut columns = format!("id {number}{key}");
        let mut left = row_bytes.saturating_sub(NUMBER).max(1);
        for at in 1.. {
            if left == 0 {
                break;
            }
            let width = left.min(WIDEST);
            left -= width;
            // Updated text must fit.
            columns.push_str(&format!(", c{at} {}", text(width.max(CHANGED))));
        }
        columns
    }

    /// `None` without a key and a text column to change.
    pub fn updating(&self, columns: &[Column]) -> Option<Updating> {
        let key = &columns.iter().find(|column| is_key(column, self.dialect))?.name;
        let text = &columns
            .iter()
            .find(|column| column.kind == Column::VARCHAR && column.width >= CHANGED as i32)?
            .name;
        let table = self.updated();
        let locking = match self.dialect {
            JdbcDialect::SqlServer => format!("select {key}, {text} from {table} with (updlock)"),
            _ => format!("select {key}, {text} from {table} for update"),
        };
        Some(Updating {
            select: locking,
            update: format!("update {table} set {text} = ? where {key} = ?"),
            column: text.clone(),
        })
    }

    pub fn empty(&self, table: &str) -> String {
        match self.dialect {
            JdbcDialect::Informix | JdbcDialect::Db2 | JdbcDialect::Other => format!("delete from {table}"),
            _ => format!("truncate table {table}"),
        }
    }

    /// Forces the server's background work after bulk changes before timing starts.
    pub fn settle(&self, table: &str) -> Option<String> {
        match self.dialect {
            JdbcDialect::Postgres | JdbcDialect::Kingbase => Some(format!("vacuum analyze {table}")),
            JdbcDialect::Mysql | JdbcDialect::Mariadb => Some(format!("analyze table {table}")),
            _ => None,
        }
    }

    pub fn remove(&self) -> Vec<String> {
        let mut statements: Vec<String> = [self.updated(), self.selected(), self.inserted()]
            .iter()
            .map(|table| format!("drop table {table}"))
            .collect();
        statements.extend(match self.dialect {
            JdbcDialect::Mysql | JdbcDialect::Mariadb => Some(format!("drop database {}", self.scratch)),
            JdbcDialect::Derby | JdbcDialect::Db2 => Some(format!("drop schema {} restrict", self.scratch)),
            _ if self.has_schemas() => Some(format!("drop schema {}", self.scratch)),
            _ => None,
        });
        statements
    }

    pub fn not_made(&self, error: Error) -> Error {
        match error {
            Error::Bridge(BridgeError::Sql { code, .. }) if exists(&code) => Error::ScratchExists {
                scratch: self.scratch.clone(),
            },
            Error::Bridge(BridgeError::Sql { code, text }) => Error::NoScratch {
                scratch: self.scratch.clone(),
                code,
                text,
            },
            other => other,
        }
    }
}

pub(super) fn like_failed(error: Error) -> Error {
    match error {
        Error::Bridge(BridgeError::Sql { code, text }) => Error::Like { code, text },
        other => other,
    }
}

/// For example `insert into t (a, b)`.
pub(super) fn insert_into(table: &str, columns: &[Column]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    format!("insert into {table} ({})", names.join(", "))
}

/// Limits text columns of an example to usual widths.
pub(super) fn modest(column: Column, shape: &Shape) -> Column {
    let width = match shape.like {
        Some(_) => column.width.min(USUAL_TEXT),
        None => column.width,
    };
    Column { width, ..column }
}

/// Integers wide enough for a row number; Oracle has one type for all numbers.
fn is_key(column: &Column, dialect: JdbcDialect) -> bool {
    const BIGINT: i32 = -5;
    const NUMERIC: i32 = 2;
    matches!(column.kind, Column::INTEGER | BIGINT)
        || (dialect == JdbcDialect::Oracle && column.kind == NUMERIC)
}

/// PostgreSQL 42P06 and 42P07, MySQL 1007 and 1050, Derby X0Y68 and X0Y32, Oracle 955, Informix
/// -310.
fn exists(code: &str) -> bool {
    let mut parts = code.split('/');
    parts.any(|part| {
        matches!(
            part,
            "42P06" | "42P07" | "1007" | "1050" | "X0Y68" | "X0Y32" | "ORA-00955" | "-310"
        )
    })
}

/// Bytes of the leading number.
const NUMBER: u32 = 4;
/// Characters of the widest text: Oracle's limit is 4,000 bytes.
const WIDEST: u32 = 2000;
/// Characters written by an update.
const CHANGED: u32 = 8;
const USUAL_TEXT: i32 = 40;
