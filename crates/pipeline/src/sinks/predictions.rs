//! Predictions of a run and the savings of its findings.

pub(crate) mod prices;
pub(crate) mod thread;
pub(crate) mod unexplained;
