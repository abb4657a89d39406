//! The protocols in which longwire itself sends SQL: which one a target has, and what is the same in all.

use crate::{ErrorReply, mysql, postgres};
use sys::target::Scheme;
use wire::TextRows;

/// A protocol in which longwire sends SQL by code of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlProtocol {
    /// PostgreSQL's, and its kin's.
    Postgres,
    /// That of MySQL and MariaDB.
    Mysql,
}

impl SqlProtocol {
    /// Of targets with this scheme; `None` if there is none.
    pub const fn from_scheme(scheme: Scheme) -> Option<Self> {
        match scheme {
            Scheme::Postgres | Scheme::Kingbase => Some(Self::Postgres),
            Scheme::Mysql | Scheme::Mariadb => Some(Self::Mysql),
            Scheme::Http
            | Scheme::Tcp
            | Scheme::Redis
            | Scheme::Oracle
            | Scheme::SqlServer
            | Scheme::Informix
            | Scheme::Drda => None,
        }
    }

    /// Appends the request that runs the statements that `text` writes.
    pub fn query(self, out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Postgres => postgres::query(out, text),
            Self::Mysql => mysql::query(out, text),
        }
    }

    /// What is sent before hanging up, so that the server does not log a client that only hung up.
    pub const fn goodbye(self) -> &'static [u8] {
        match self {
            Self::Postgres => postgres::GOODBYE,
            Self::Mysql => mysql::GOODBYE,
        }
    }

    /// What is sent instead of the data that the server asks for.
    pub const fn refusal(self) -> &'static [u8] {
        match self {
            Self::Postgres => postgres::REFUSAL,
            Self::Mysql => mysql::REFUSAL,
        }
    }

    /// The rows of the last result in a whole reply to [`SqlProtocol::query`].
    pub fn text_rows(self, reply: &[u8]) -> TextRows {
        match self {
            Self::Postgres => wire::postgres::text_rows(reply),
            Self::Mysql => wire::mysql::text_rows(reply),
        }
    }

    /// The rows of all results in a whole reply to [`SqlProtocol::query`].
    pub fn text_results(self, reply: &[u8]) -> Vec<TextRows> {
        match self {
            Self::Postgres => wire::postgres::text_results(reply),
            Self::Mysql => wire::mysql::text_results(reply),
        }
    }

    /// The error that `bytes` of a server begin with; `None` while it is not complete, and where they begin
    /// with something else.
    pub fn begun_error(self, bytes: &[u8]) -> Option<ErrorReply> {
        match self {
            Self::Postgres => postgres::begun_error(bytes),
            Self::Mysql => mysql::begun_error(bytes),
        }
    }
}
