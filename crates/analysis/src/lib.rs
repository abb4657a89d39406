//! Messages to exchanges to operations to attribution.
//!
//! Two stages. [`pairing`] looks at one connection: messages in, [`fact::Fact`]s out; any number of them run
//! at the same time. Operations look at all connections together: facts in, operations out. Recordings hold
//! the facts, so that the second stage can be run again with another rule.

#![forbid(unsafe_code)]

mod by_fingerprint;
pub mod current;
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
pub mod stage_output;
pub mod verb;
pub mod waited;
