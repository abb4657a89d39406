use std::io;
use std::net::SocketAddr;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No free loopback port, thread or event queue.
    #[error("longwire could not start the demo server: {doing}: {source}")]
    Start {
        /// The failed step, as a verb phrase.
        doing: &'static str,
        source: io::Error,
    },
    #[error("longwire could not fill the demo shop: {source}")]
    Shop { source: rusqlite::Error },
    #[error("the demo application could not connect to {server}: {source}")]
    Connect { server: SocketAddr, source: io::Error },
    /// The connection broke, or the application's limit of 30 s passed without a byte.
    #[error("the demo application lost its connection to {server} while {doing}: {source}")]
    Lost {
        server: SocketAddr,
        /// The application's activity, as a verb phrase.
        doing: &'static str,
        source: io::Error,
    },
    #[error("the server at {server} closed the connection while the demo application was {doing}")]
    Closed {
        server: SocketAddr,
        /// The application's activity, as a verb phrase.
        doing: &'static str,
    },
    #[error("the server at {server} sent a message of type {tag:?} that {fault}")]
    Malformed {
        server: SocketAddr,
        tag: char,
        fault: &'static str,
    },
    #[error(
        "the server at {server} answered with an error while the demo application was {doing}: {message} (SQLSTATE {sqlstate})"
    )]
    Rejected {
        server: SocketAddr,
        /// The application's activity, as a verb phrase.
        doing: &'static str,
        /// See PostgreSQL's appendix A; empty if the server sent none.
        sqlstate: String,
        message: String,
    },
    #[error("the server at {server} gave no {missing} for a page of the shop")]
    Incomplete {
        server: SocketAddr,
        /// The missing data, as a noun.
        missing: &'static str,
    },
}
