//! `--keys`: what opens TLS in captures, the same flag for all commands that read them.

use anyhow::{Result, ensure};
use pipeline::input::Reading;
use pipeline::keys::RunKeys;
use std::path::PathBuf;
use std::sync::Arc;

/// What opens TLS.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct KeyLogArgument {
    /// Key log that a client or server wrote (SSLKEYLOGFILE): TLS connections of captures are opened with it.
    /// It holds secrets; nothing of it is printed. Keys inside a pcapng file need no flag.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
}

impl KeyLogArgument {
    /// The keys that were given; none if none were.
    ///
    /// # Errors
    /// When the file cannot be read, or is no key log.
    pub fn open(&self) -> Result<Arc<RunKeys>> {
        self.keys
            .as_deref()
            .map_or_else(|| Ok(Arc::default()), RunKeys::open)
    }

    /// How captures are read with them, and nothing else.
    ///
    /// # Errors
    /// As [`KeyLogArgument::open`].
    pub fn reading(&self) -> Result<Reading> {
        Ok(Reading {
            keys: self.open()?,
            ..Reading::default()
        })
    }

    /// A server that longwire asks itself needs no keys.
    ///
    /// # Errors
    /// When keys were given.
    pub fn refuse_for_server(&self) -> Result<()> {
        ensure!(
            self.keys.is_none(),
            "--keys opens captures: leave it out for a server, which longwire asks itself"
        );
        Ok(())
    }
}
