//! Oracle Net (TNS), and TTC inside it.
//!
//! There is no official specification. Sources: python-oracledb's thin mode (Oracle, UPL or Apache-2.0),
//! go-oracledb (Oracle, UPL), and recorded bytes. What was checked against what is in
//! docs/protocols/oracle.md.
//!
//! How packets become messages:
//! 1. A request is everything the client sends until the server speaks, or until a packet says that it ends
//!    there (pipelining); it is one message. What it executes is reported as a statement being prepared and
//!    executed.
//! 2. Of a response each packet is a message. It ends where a packet marks the end (23ai) or where the client
//!    goes on: clients that do not pipeline wait. So the last packet is emitted when the next one, or the
//!    client, shows what it was.
//! 3. RESEND, and a MARKER that the client has to answer, pause a reply: what the client sends next is a
//!    further turn of the same exchange.
//! 4. Native encryption leaves packets readable and nothing inside: both directions are opaque from there on.
//!
//! Of a login, only the client's program and driver and the server's version are reported.
//!
//! Start reading at [`TnsDecoder`], then `session` (who waits for what), `call` (what a request asks for) and
//! `ending` (what a response ends with). For a ping: [`ping_request`] or [`connect_request`], then all bytes
//! received since to [`answer()`].

mod answer;
mod call;
mod decoder;
mod descriptor;
mod ending;
mod introduction;
mod number;
mod opening;
mod request;
mod session;
mod signature;

pub use answer::{ListenerAnswer, OracleVersion, Refusal, answer};
pub use decoder::TnsDecoder;
pub use opening::opens;
pub use request::{connect_request, ping_request};
pub use signature::recognise;

/// A packet's type, the fifth byte of its header.
mod packet {
    pub(super) const CONNECT: u8 = 1;
    pub(super) const ACCEPT: u8 = 2;
    pub(super) const REFUSE: u8 = 4;
    pub(super) const REDIRECT: u8 = 5;
    pub(super) const DATA: u8 = 6;
    pub(super) const RESEND: u8 = 11;
    pub(super) const MARKER: u8 = 12;
    pub(super) const LAST: u8 = 19;
}
