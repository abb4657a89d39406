//! Oracle Net (TNS), and TTC inside it.
//!
//! There is no official specification. Sources: python-oracledb's thin mode (Oracle, UPL or
//! Apache-2.0), go-oracledb (Oracle, UPL), and recorded bytes. docs/protocols/oracle.md lists the
//! checks.
//!
//! - A request is one message: everything the client sends until the server speaks, or until a
//!   packet marks the end (pipelining). Its execution is reported as a statement that is prepared
//!   and executed.
//! - Each packet of a response is a message. The response ends where a packet marks the end (23ai)
//!   or where the client continues, since clients that do not pipeline wait. So the last packet is
//!   emitted when the next one, or the client, shows the end.
//! - RESEND, and a MARKER that the client must answer, pause a reply: the client's next message is
//!   a further round trip of the same exchange.
//! - Native encryption hides the content of packets: both directions are opaque from there on.
//!
//! Of a login, only the client's program and driver and the server's version are reported.
//!
//! Start reading at [`TnsDecoder`], then `session` (pending replies), `call` (requests) and
//! `ending` (ends of responses). For a ping, send [`ping_request`] or [`connect_request`] and pass
//! all received bytes to [`answer()`].

mod answer;
mod call;
mod decoder;
mod descriptor;
mod ending;
mod introduction;
pub mod messages;
mod number;
mod opening;
mod request;
mod session;

use crate::protocols::ProtocolRow;
pub use answer::{ListenerAnswer, OracleVersion, Refusal, answer};
pub use decoder::TnsDecoder;
use model::Protocol;
pub use request::{connect_request, ping_request};

pub const ROW: ProtocolRow = ProtocolRow::new(
    Protocol::Oracle,
    |openings, direction| opening::opens(direction, openings[direction]),
    |_| Box::new(TnsDecoder::new()),
);
