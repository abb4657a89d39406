//! Client messages of PostgreSQL, without a socket.
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol". Login conversations are in
//! [`crate::session`]. `postgres_protocol::message::frontend` is not used for requests, because it
//! takes statements as UTF-8 and copies them: scripts send bytes of any encoding, and `tune`
//! reports the memory of a client. A test compares the bytes with that crate's.

mod replies;
mod requests;

pub use replies::{PostgresReplies, begun_error, error, header};
pub use requests::{
    COPY_DONE, FLUSH, GOODBYE, REFUSAL, SYNC, bind, copy_data, describe_portal, execute, parse, query,
};
pub(crate) use requests::{password, startup};
