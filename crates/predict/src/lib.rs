//! What operations would take on another link: their dependencies replayed in virtual time, with TCP as Linux
//! does it.
//!
//! An [`model::Operation`] becomes a [`plan`] (steps and what each waits for), the [`mod@replay`] moves its
//! bytes through `link`'s TCP flows and pipes, and the [`predictor`] sums replays by operation name. The
//! model and its measured errors are in docs/accuracy.md. Start reading at [`predictor`], then
//! [`mod@replay`].

#![forbid(unsafe_code)]

mod bounds;
mod closed_loop;
pub mod concurrency;
mod connection_pools;
mod connections;
mod cores;
mod critical_path;
mod examples;
pub mod explain;
mod first_window;
mod held;
mod links;
mod load;
mod locks;
mod plan;
pub mod predictor;
pub mod remedies;
pub mod replay;
mod run;
mod sample_pool;
mod senders;
pub mod split;
mod unexplained;
mod virtual_time;
mod wake_up;
mod web_servers;
mod workers;

/// How senders are taken to behave, by the name Linux has for it: docs/prediction.md. Its default on most
/// systems. Of others see [`Senders`].
pub const CONGESTION_CONTROL: &str = "cubic";

pub use concurrency::Concurrency;
pub use explain::{Assumption, ExplainedStep, Explanation, explain};
pub use predictor::{LinkOfStep, Predicted, PredictionTarget, Predictor};
pub use replay::{Replayed, StepTimes, replay};
pub use run::Computing;
pub use senders::{PacedReplies, Senders};
pub use wake_up::WakeUp;
pub use workers::Workers;
