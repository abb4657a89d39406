//! Oracle Net (TNS), as far as a listener's first answer: what a ping needs that has no credentials.
//!
//! There is no official specification. Sources: python-oracledb's thin mode (Oracle, UPL or Apache-2.0), and the recorded bytes of
//! it and of ojdbc11 23.5. Not tried on a real listener: see docs/protocols/oracle.md.
//!
//! Start with [`ping_request`] or [`connect_request`], then hand all bytes received since to [`answer`].

mod answer;
mod descriptor;
mod request;

pub use answer::{Answer, Refusal, Version, answer};
pub use request::{connect_request, ping_request};

/// A packet's type, the fifth byte of its header.
mod packet {
    pub(super) const CONNECT: u8 = 1;
    pub(super) const ACCEPT: u8 = 2;
    pub(super) const REFUSE: u8 = 4;
    pub(super) const REDIRECT: u8 = 5;
    pub(super) const DATA: u8 = 6;
    pub(super) const RESEND: u8 = 11;
}
