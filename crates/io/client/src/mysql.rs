//! Client messages of MySQL and MariaDB, without a socket.
//!
//! Sources: MySQL 8.4 source documentation, "Client/Server Protocol"; MariaDB Knowledge Base,
//! "COM_STMT_BULK_EXECUTE". Login conversations are in [`crate::session`].

mod login;
mod replies;
mod requests;

pub(crate) use login::{Challenge, Greeting, LoginRequest};
pub use replies::{ExpectedAnswer, MysqlReplies, begun_error, error, header, prepared_statement};
pub use requests::{
    BULK_NULL, BULK_VALUE, GOODBYE, GOODBYE_IN_BLOCK, MAX_PACKET_LEN, ParameterType, REFUSAL, append_number,
    append_text, bulk, close, execute, fetch, in_blocks, make_value, open_cursor, packet, prepare, query,
};
