//! Links between two endpoints, for prediction (virtual time) and emulation (real time).
//!
//! Start at [`description`], then [`pipe`], then [`network`] (TCP over the pipes).

#![deny(clippy::wildcard_enum_match_arm)]
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod delay_line;
pub mod delayed;
pub mod description;
pub mod error;
mod exact;
pub mod impairments;
pub mod network;
pub mod pipe;
pub mod tcp;

pub use delay_line::DelayLine;
pub use description::{DEFAULT_MTU, DEFAULT_SEED, LinkDescription, TCP_HEADER_BYTES};
pub use error::Error;
pub use impairments::DropCause;
pub use impairments::delay::{Jitter, JitterDistribution};
pub use impairments::loss::LossShare;
pub use impairments::outage::Outage;
pub use pipe::{PacketOutcome, Pipe};
