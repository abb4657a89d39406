//! Predicts the effect of a tunnel on captured or generated traffic, for `longwire tunnel advise`.
//!
//! ```text
//! segments ─> pipeline::compression: chunks through the codecs ─> exchanges with their sizes at each level
//!                                                │ (a recording holds them already)
//!                                                v
//!                     operations ─> tunnel::advise: at a level, predicted over links ─> model::Advice
//! ```
//!
//! Start reading at [`advise`].

mod kept;
mod outcome;
mod source;

pub use outcome::{AdviceRequest, AdviseError, advise, advise_files};
pub use source::{Origin, Traffic, load};
