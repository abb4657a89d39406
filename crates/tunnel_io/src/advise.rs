//! Predicts the effect of a tunnel on captured or generated traffic, for `longwire tunnel advise`.
//!
//! ```text
//! segments ─> pipeline::compression: chunks through the codecs ─> exchanges with their sizes at each level
//!                                                │ (a recording holds them already)
//!                                                v
//!                     operations ─> rewrite: at a level ─> compare: predicted over links ─> model::Advice
//! ```
//!
//! Start reading at [`outcome`].

pub mod compare;
pub mod outcome;
pub mod rewrite;
pub mod source;
