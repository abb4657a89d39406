//! Effects of toxics on the bytes of a connection, as arithmetic over given times.
//!
//! A toxic is an impairment of one direction, as in Shopify's toxiproxy. Delays and rates come from
//! `link`; effects on the byte stream (slices, limits, ends, resets) are here. Start reading at
//! [`toxic`], then [`chain`].

#![deny(clippy::wildcard_enum_match_arm)]

pub mod chain;
mod stage;
pub mod toxic;

pub use chain::Chain;
pub use stage::{Passing, StreamEnd};
pub use toxic::{Toxic, ToxicKind};
