//! Runs that observe traffic as it passes: relays or interfaces, the application beside them, and
//! exports to monitoring systems.
//!
//! [`targets`] plans relays, which [`relays`] runs; [`interface`] captures packets. Both are
//! [`traffic`], for the screen of [`top`] and for the agent.

#![forbid(unsafe_code)]

pub mod address;
pub mod child;
pub mod exporting;
pub mod interface;
pub mod interface_command;
pub mod relaying;
pub mod relays;
pub mod rights;
pub mod sparing;
pub mod targets;
pub mod top;
pub mod traffic;
pub mod unused;
pub mod watch;
