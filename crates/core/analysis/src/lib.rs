//! Messages to exchanges to operations to attribution.
//!
//! Two stages. [`pairing`] turns the messages of one connection into [`fact::Fact`]s; connections
//! run in parallel. Operations turn the facts of all connections into operations. Recordings hold
//! facts, so the second stage can be repeated with another rule.

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

mod by_fingerprint;
pub mod current;
mod empty_exchange;
pub mod events;
pub mod exchange_pool;
pub mod fact;
pub mod findings;
pub mod fingerprint;
pub mod hosts;
pub mod operations;
pub mod overview;
pub mod paces;
pub mod pairing;
pub mod poolers;
pub mod round_trip;
pub mod verb;
pub mod waited;
