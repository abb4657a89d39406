//! Predicts operations on another link: replays their dependencies in virtual time, with Linux's
//! TCP.
//!
//! An [`model::Operation`] becomes a [`plan`] (steps and dependencies), [`mod@replay`] sends the
//! bytes through `link`'s TCP flows and pipes, and the [`predictor`] sums replays by operation
//! name. Model and measured errors: docs/accuracy.md. Start at [`predictor`], then [`mod@replay`].

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

mod at_once;
mod bounds;
pub mod calibration;
mod client_node;
mod closed_loop;
pub mod concurrency;
mod connection_pools;
mod connections;
mod cores;
mod critical_path;
pub mod estimate;
pub mod explain;
mod first_window;
mod held;
mod links;
mod load;
mod locks;
mod peak;
mod plan;
pub mod predictor;
pub mod remedies;
pub mod replay;
mod run;
mod sample_pool;
mod senders;
mod sequence;
pub mod split;
mod target;
mod timers;
mod unexplained;
mod virtual_time;
mod wake_up;
mod warming_up;
mod web_servers;
mod workers;

/// Linux's name of the assumed congestion control (docs/prediction.md); [`Senders`] describes
/// others.
pub const CONGESTION_CONTROL: &str = "cubic";

pub use concurrency::Concurrency;
pub use explain::{Assumption, ExplainedStep, Explanation, explain};
pub use predictor::{LinkOfStep, Predicted, Predictor};
pub use replay::{Replayed, StepTimes, replay};
pub use run::Computing;
pub use senders::{PacedReplies, Senders};
pub use target::{ComputingByClients, PredictionTarget};
pub use wake_up::WakeUp;
pub use workers::Workers;
