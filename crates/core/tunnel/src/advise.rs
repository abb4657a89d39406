//! Operations as they would be through a tunnel that does not exist, and what they would take.

pub mod compare;
pub mod rewrite;
