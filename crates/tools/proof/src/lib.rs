//! Predictions compared with measurements over emulated links.
//!
//! [`verify()`] replays operations of a capture on the links that they were predicted for. [`split`]
//! measures a workload here, and elsewhere by pauses or behind links. Both use a [`Backend`].
//! [`calibrate`] measures computing after longer rests, which predictions use.

#![forbid(unsafe_code)]

mod backend;
pub mod calibrate;
pub mod split;
mod verify;

pub use backend::{Backend, BackendSearch, EmulationLevel};
pub use verify::{Claim, measured, verify};
