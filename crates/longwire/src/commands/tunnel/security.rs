//! Flags for keys, the same for both ends of a tunnel.

use anyhow::{Result, bail};
use clap::Args as ClapArgs;
use tunnel_io::TunnelSecurity;
use tunnel_io::keys::{KeyFingerprint, SecretKey, SharedKey};

#[derive(Debug, ClapArgs)]
pub(super) struct SecurityArgs {
    /// This end's secret key, made by `longwire tunnel keygen`.
    #[arg(long, value_name = "FILE", requires = "peer")]
    key: Option<String>,
    /// The other end's public key: its .pub file, or its fingerprint. Several keys in one file or
    /// several flags accept any of them.
    #[arg(long, value_name = "FILE|SHA256:...", requires = "key")]
    peer: Vec<String>,
    /// Instead of keys: a file with a secret of at least 32 characters, the same at both ends.
    /// `keygen --psk` makes one.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["key", "peer"])]
    psk_file: Option<String>,
}

impl SecurityArgs {
    pub(super) fn security(&self) -> Result<TunnelSecurity> {
        if let Some(path) = &self.psk_file {
            return Ok(TunnelSecurity::Shared(SharedKey::load(path)?));
        }
        let Some(path) = &self.key else {
            return Ok(TunnelSecurity::None);
        };
        let own = SecretKey::load(path)?;
        let mut peers = Vec::new();
        for text in &self.peer {
            peers.extend(KeyFingerprint::of_peers(text)?);
        }
        if peers.is_empty() {
            bail!("--key needs --peer: the public key of the other end");
        }
        Ok(TunnelSecurity::Keys { own, peers })
    }
}

/// The message when an end starts; `other` names the other end.
pub(super) fn sentence(security: &TunnelSecurity, other: &str) -> String {
    match security {
        TunnelSecurity::None => "not encrypted, which is for two ends on one machine".to_owned(),
        TunnelSecurity::Shared(_) => "TLS 1.3 with a pre-shared key".to_owned(),
        TunnelSecurity::Keys { own, .. } => {
            let key = own.fingerprint();
            format!("TLS 1.3; this end's key is {key}: the {other} end names it with --peer")
        }
    }
}
