//! What a tunnel would give to traffic that was seen: `longwire tunnel advise`.
//!
//! ```text
//! segments ─> compression: chunks through the codecs ─> exchanges with what they become at each level
//!                                                        │ (a recording holds them already)
//!                                                        v
//!                             operations ─> rewrite: at a level ─> compare: predicted over links ─> model::Advice
//! ```
//!
//! Start reading at [`outcome`].

pub mod codec;
pub mod compare;
pub mod compression;
mod direction_payload;
pub mod outcome;
pub mod rewrite;
pub mod source;
