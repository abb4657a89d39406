//! Measures `split` with alternating rounds of load and echo, here and over an emulated link.
//!
//! Every round visits each client count, with and without pauses, and the echo at each, so that
//! machine drift affects all alike.

mod distance;
mod place;
mod rounds;

pub use distance::{RoundTripProbe, RoundTripSample, measure_rtt, packet_round_trip};
pub use place::ClientSite;
pub use rounds::{Round, SplitBench, Station, Visit};
