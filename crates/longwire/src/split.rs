//! The measuring of `split`: rounds of load and echo in turn, here and behind an emulated link.
//!
//! A round visits every number of clients, and the echo with each, so that drift of the machine affects both.
//! Between the requested numbers, some more are visited: how a transaction's time grows with the clients is what predictions
//! for many of them are made from.

mod distance;
mod place;
mod rounds;

pub(crate) use distance::is_here;
pub use distance::{RoundTripProbe, RoundTripSample, ask, packet_round_trip};
pub use place::ClientSite;
pub use rounds::{Round, SplitBench, Visit};
