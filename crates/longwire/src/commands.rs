//! One module per command: parses arguments, calls one engine, prints the outcome.

pub mod agent;
pub mod all_flag;
pub mod calibrate;
pub mod calibration_flag;
pub mod check;
pub mod cleartext_flag;
#[cfg(feature = "demo")]
pub mod demo;
pub mod distance;
pub mod driver;
pub mod echo;
mod emulation_level;
pub mod estimate;
pub mod generate;
pub mod grouping;
pub mod keys;
mod keys_flag;
pub mod lab;
pub mod link;
pub mod load;
pub mod mcp;
pub mod observing;
pub mod per_file;
pub mod ping;
pub mod plan;
pub mod predict;
pub mod read;
pub mod record_args;
pub mod relay;
pub mod reporting;
pub mod scripts;
pub mod seconds;
pub mod split;
pub mod top;
pub mod tune;
pub mod tunnel;
pub mod watch;
