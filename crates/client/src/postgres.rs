//! PostgreSQL's messages as a client writes and reads them: bytes in, values out, without a socket.
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol". Login conversations are in
//! [`crate::session`]. Requests are written by code of longwire's own, because
//! `postgres_protocol::message::frontend` takes a statement as one text of UTF-8 and copies it: scripts send
//! bytes of any encoding, and `tune` reports what a client holds. A test compares the bytes with that
//! crate's.

mod replies;
mod requests;

pub use replies::{PostgresReplies, begun_error, error, header};
pub use requests::{
    COPY_DONE, FLUSH, GOODBYE, REFUSAL, SYNC, bind, copy_data, describe_portal, execute, parse, query,
};
pub(crate) use requests::{password, startup};
