//! `--level` of `predict --verify` and `split --verify`.

use anyhow::Result;
use clap::ValueEnum;
use pipeline::progress::StderrProgress;
use proof::{Backend, BackendSearch, EmulationLevel};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// Packets between network namespaces: the kernel's own TCP crosses the link. Needs Linux, and
    /// root or user namespaces.
    Packet,
    /// Streams through a relay with a model of TCP. Needs no privileges.
    Stream,
}

impl From<Level> for EmulationLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Packet => Self::Packet,
            Level::Stream => Self::Stream,
        }
    }
}

/// # Errors
/// As [`Backend::find`].
pub fn backend(verify: bool, level: Option<Level>) -> Result<Option<BackendSearch>> {
    let find = || Backend::find(level.map(Into::into), &StderrProgress);
    verify.then(find).transpose()
}
