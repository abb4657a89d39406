//! The measuring of `split`: rounds of load and echo in turn, here and behind an emulated link.
//!
//! A round visits every number of clients, and the echo beside each, so that what drifts on the machine drifts for both.
//! Between the numbers asked for some more are visited: how a transaction's time grows with the clients is what predictions
//! for many of them are made from.

mod distance;
mod place;
mod rounds;

pub(crate) use distance::is_here;
pub use distance::{RoundTripProbe, RoundTripSample, ask, packet_round_trip};
pub use place::ClientSite;
pub use rounds::{Round, SplitBench, Visit};
