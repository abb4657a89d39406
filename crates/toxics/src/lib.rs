//! What toxics do to the bytes of a connection: arithmetic over time that is passed in.
//!
//! A toxic is an impairment of one direction of a proxy's connections, as Shopify's toxiproxy defines them.
//! Delays and rates are the impairments of `link`; what concerns the stream of bytes (slices, limits, ends,
//! resets) is here. Start reading at [`toxic`], then [`chain`].

#![forbid(unsafe_code)]

pub mod chain;
mod stage;
pub mod toxic;

pub use chain::{Chain, Passing, StreamEnd};
pub use toxic::{Toxic, ToxicKind};
