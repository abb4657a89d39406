//! The account a server runs as: PostgreSQL and MariaDB refuse to run as root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// An unprivileged account of this machine, or the caller's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The test itself runs as an ordinary user: its servers do too.
    Own,
    /// The test runs as root: its servers run as this user and group.
    Other {
        /// User number.
        uid: u32,
        /// Group number.
        gid: u32,
    },
}

impl Account {
    /// The account for a server whose package makes the user `preferred`; `nobody` stands in when there is none.
    pub fn unprivileged(preferred: &str) -> Account {
        // SAFETY: geteuid takes no argument, touches no memory and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Account::Own;
        }
        let accounts = std::fs::read_to_string(ACCOUNTS).unwrap_or_default();
        lookup(&accounts, preferred)
            .or_else(|| lookup(&accounts, FALLBACK))
            .unwrap_or_else(|| panic!("{ACCOUNTS} has neither {preferred} nor {FALLBACK} to run a server as"))
    }

    /// Makes `command` run as this account.
    pub fn apply(self, command: &mut Command) {
        if let Account::Other { uid, gid } = self {
            command.uid(uid).gid(gid);
        }
    }

    /// Gives the file or directory `path` to this account.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn own(self, path: &Path) {
        if let Account::Other { uid, gid } = self {
            chown(path, Some(uid), Some(gid))
                .unwrap_or_else(|error| panic!("chown {}: {error}", path.display()));
        }
    }
}

fn lookup(accounts: &str, name: &str) -> Option<Account> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Account::Other { uid, gid })
    })
}

const ACCOUNTS: &str = "/etc/passwd";
const FALLBACK: &str = "nobody";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_by_its_whole_name() {
        let accounts = "mysqld:x:7:8::/:/bin/sh\nmysql:x:107:110:MySQL Server:/nonexistent:/bin/false\n";
        assert_eq!(
            lookup(accounts, "mysql"),
            Some(Account::Other { uid: 107, gid: 110 })
        );
        assert_eq!(lookup(accounts, "my"), None);
    }
}
