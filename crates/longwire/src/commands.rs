//! One recipe per command: arguments in, one engine called, outcome out.

pub mod address;
pub mod check;
pub mod child;
#[cfg(feature = "demo")]
pub mod demo;
pub mod distance;
pub mod driver;
pub mod echo;
pub mod generate;
pub mod grouping;
pub mod interface_command;
pub mod interface_source;
pub mod keys;
mod keys_flag;
pub mod lab;
pub mod link;
pub mod load;
pub mod mcp;
pub mod ping;
pub mod plan;
pub mod predict;
pub mod read;
pub mod relay;
pub mod relaying;
pub mod relays;
pub mod reporting;
pub mod scripts;
pub mod seconds;
pub mod split;
pub mod targets;
pub mod top;
pub mod tune;
pub mod tunnel;
pub mod unused;
pub mod watch;
