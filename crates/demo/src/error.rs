//! What can go wrong between the application and the shop.

use std::io;
use std::net::SocketAddr;

/// Why the shop could not be opened or a page could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// No free port on loopback, no thread or no event queue for the server.
    #[error("longwire could not start the demo server: {doing}: {source}")]
    Start {
        /// The step that failed, as a verb phrase.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The in-memory shop could not be filled.
    #[error("longwire could not fill the demo shop: {source}")]
    Shop {
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// No connection to the server, or to the relay in front of it.
    #[error("the demo application could not connect to {server}: {source}")]
    Connect {
        /// Address that was dialled.
        server: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The connection broke, or no byte arrived within the application's limit of 30 s.
    #[error("the demo application lost its connection to {server} while {doing}: {source}")]
    Lost {
        /// Address of the other side.
        server: SocketAddr,
        /// What the application was doing, as a verb phrase.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The server ended the connection in the middle of a conversation.
    #[error("the server at {server} closed the connection while the demo application was {doing}")]
    Closed {
        /// Address of the other side.
        server: SocketAddr,
        /// What the application was doing, as a verb phrase.
        doing: &'static str,
    },
    /// The other side sent bytes that are not PostgreSQL's protocol, or more than a page can need.
    #[error("the server at {server} sent a message of type {tag:?} that {fault}")]
    Malformed {
        /// Address of the other side.
        server: SocketAddr,
        /// The message's type byte as a character.
        tag: char,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The server answered with an error.
    #[error(
        "the server at {server} answered with an error while the demo application was {doing}: {message} (SQLSTATE {sqlstate})"
    )]
    Rejected {
        /// Address of the other side.
        server: SocketAddr,
        /// What the application was doing, as a verb phrase.
        doing: &'static str,
        /// The five characters of PostgreSQL's appendix A; empty when the server sent none.
        sqlstate: String,
        /// The server's message.
        message: String,
    },
    /// The server's rows lack something the page shows.
    #[error("the server at {server} gave no {missing} for a page of the shop")]
    Incomplete {
        /// Address of the other side.
        server: SocketAddr,
        /// What is missing, as a noun.
        missing: &'static str,
    },
}
