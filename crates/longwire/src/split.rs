//! The measuring of `split`: rounds of load and echo in turn, here and behind an emulated link.
//!
//! A round visits every number of clients, and the echo with each, so that drift of the machine affects both,
//! and with pauses in place of the distances that are predicted.

mod distance;
mod place;
mod rounds;

pub(crate) use distance::is_here;
pub use distance::{RoundTripProbe, RoundTripSample, measure_rtt, packet_round_trip};
pub use place::ClientSite;
pub use rounds::{Round, SplitBench, Station, Visit};
