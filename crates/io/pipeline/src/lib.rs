//! The data flow through the crates: events of connections -> messages -> facts -> outcomes.
//!
//! [`decode`] handles one connection on the thread that has its bytes (in the relay, the forwarding
//! thread). [`aggregator`] combines all connections.
//!
//! [`input`] reads captures and recordings, [`fact_channel`] receives a relay's facts; [`page`],
//! [`output_health`] and [`output`] present results. Engines report to [`progress`].

#![forbid(unsafe_code)]

pub mod aggregator;
pub mod calibration;
pub mod codec;
pub mod compression;
pub mod computing;
pub mod decode;
mod direction_payload;
mod drained;
pub mod explain;
pub mod fact_channel;
pub mod input;
pub mod interruption;
pub mod keys;
pub mod moved;
pub mod non_blocking_writer;
mod notes;
pub mod order;
pub mod output;
pub mod output_health;
pub mod page;
pub mod private_file;
pub mod progress;
pub mod senders;
pub mod sinks;
mod unnamed_facts;
