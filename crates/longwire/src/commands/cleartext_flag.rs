//! `--allow-cleartext-password`: the same flag for all commands that log in to a server.

use anyhow::{Result, ensure};
use model::Protocol;
use sys::target::credentials::allow_cleartext_passwords;
use sys::{Scheme, Target};

#[derive(Debug, Clone, Copy, clap::Args)]
pub struct CleartextArgument {
    /// Allow sending a password in clear text over an unencrypted connection (PostgreSQL's `password`,
    /// MySQL's clear plugin, Redis' AUTH).
    #[arg(long)]
    pub allow_cleartext_password: bool,
}

impl CleartextArgument {
    /// Allows it if the flag was given.
    ///
    /// # Errors
    /// When none of the targets can ask for a password in clear text.
    pub fn allow_for<'a>(self, targets: impl IntoIterator<Item = &'a str>) -> Result<()> {
        if self.allow_cleartext_password {
            let can_ask = |text: &str| Target::parse(text).is_ok_and(|target| can_ask(target.scheme));
            ensure!(
                targets.into_iter().any(can_ask),
                "--allow-cleartext-password applies to PostgreSQL, MySQL, MariaDB and Redis: leave it out for this target"
            );
            allow_cleartext_passwords();
        }
        Ok(())
    }
}

const fn can_ask(scheme: Scheme) -> bool {
    matches!(
        scheme.protocol(),
        Protocol::Postgres | Protocol::Mysql | Protocol::Redis
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_without_a_password_in_clear_text_refuse_the_flag() {
        let flag = CleartextArgument {
            allow_cleartext_password: true,
        };
        for target in ["http://web1/", "oracle://db2", "tcp://db1:5432", "app.pcap"] {
            let refusal = flag.allow_for([target]).unwrap_err().to_string();
            assert!(refusal.contains("leave it out"), "{target}: {refusal}");
        }
        assert!(flag.allow_for([]).is_err());
        let unset = CleartextArgument {
            allow_cleartext_password: false,
        };
        assert!(unset.allow_for(["http://web1/"]).is_ok());
    }
}
