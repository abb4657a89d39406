//! Protocols in which longwire itself sends SQL.

use crate::{ErrorReply, mysql, postgres};
use model::Protocol;
use sys::target::Scheme;
use wire::TextRows;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlProtocol {
    Postgres,
    Mysql,
}

impl SqlProtocol {
    /// `None` if the scheme has no such protocol.
    pub const fn from_scheme(scheme: Scheme) -> Option<Self> {
        match scheme.protocol() {
            Protocol::Postgres => Some(Self::Postgres),
            Protocol::Mysql => Some(Self::Mysql),
            _ => None,
        }
    }

    /// Appends a request of the statements that `text` writes.
    pub fn query(self, out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Postgres => postgres::query(out, text),
            Self::Mysql => mysql::query(out, text),
        }
    }

    /// Sent before closing, since servers log clients that only hang up.
    pub const fn goodbye(self) -> &'static [u8] {
        match self {
            Self::Postgres => postgres::GOODBYE,
            Self::Mysql => mysql::GOODBYE,
        }
    }

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

    pub fn begun_error(self, bytes: &[u8]) -> Option<ErrorReply> {
        match self {
            Self::Postgres => postgres::begun_error(bytes),
            Self::Mysql => mysql::begun_error(bytes),
        }
    }
}
