//! Links: the path between two endpoints as text, and as queues with the time passed in.
//!
//! One [`LinkDescription`] serves prediction (virtual time) and emulation (real time). Start reading at
//! [`description`], then [`pipe`].

#![forbid(unsafe_code)]

pub mod delay_line;
pub mod description;
pub mod error;
pub mod pipe;

pub use delay_line::DelayLine;
pub use description::{DEFAULT_MTU, LinkDescription, TCP_HEADER_BYTES};
pub use error::LinkError;
pub use pipe::{Passage, Pipe};
