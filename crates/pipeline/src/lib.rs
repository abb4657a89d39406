//! The flow through the crates: events of connections -> messages -> facts -> outcomes.
//!
//! [`decode`] serves one connection and runs wherever its bytes are (in the relay: on the thread that
//! forwards them); [`aggregator`] looks at all of them together.
//!
//! [`input`] reads captures and recordings for it, [`fact_channel`] takes what a relay sees; [`page`],
//! [`output_health`] and [`output`] bring results to where the user looks. [`progress`] is where engines say
//! how a run goes.

#![forbid(unsafe_code)]

pub mod aggregator;
pub mod codec;
pub mod compression;
pub mod computing;
pub mod decode;
mod direction_payload;
pub mod fact_channel;
pub mod input;
pub mod interruption;
pub mod kept;
pub mod keys;
mod missing;
pub mod moved;
pub mod non_blocking_writer;
mod notes;
pub mod output;
pub mod output_health;
pub mod page;
mod prediction_thread;
pub mod private_file;
pub mod progress;
pub mod recent;
pub mod senders;
mod sink;
