//! `--keys`: keys that open TLS in captures, the same flag for all commands that read them.

use anyhow::{Result, ensure};
use pipeline::input::Reading;
use pipeline::keys::RunKeys;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub struct KeyLogArgument {
    /// Key log of a client or server (SSLKEYLOGFILE), to open TLS connections in captures. It holds
    /// secrets, which are never printed. Keys inside a pcapng file need no flag.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
}

impl KeyLogArgument {
    /// # Errors
    /// When the file cannot be read, or is not a key log.
    pub fn open(&self) -> Result<Arc<RunKeys>> {
        RunKeys::open_given(self.keys.as_deref())
    }

    /// Settings for reading captures with these keys, all others at their defaults.
    ///
    /// # Errors
    /// As [`KeyLogArgument::open`].
    pub fn reading(&self) -> Result<Reading> {
        Ok(Reading {
            keys: self.open()?,
            ..Reading::default()
        })
    }

    /// Refuses keys for a server: longwire's own connections need none.
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
