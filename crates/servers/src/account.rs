//! The account of a server: PostgreSQL and MariaDB refuse to run as root.

use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid, unshare_unsafe,
};
use std::ffi::CStr;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The current, ordinary user.
    Own,
    /// The caller is root: servers run as this user and group.
    Other { uid: u32, gid: u32 },
    /// The caller is root of a user namespace without other users: servers run in a nested
    /// namespace as an ordinary user.
    Inner,
}

impl Account {
    /// The account for a server with the package's user `preferred`, else `nobody`.
    ///
    /// # Errors
    /// Fails only with [`Error::NoAccount`].
    pub fn unprivileged(preferred: &str) -> Result<Account, Error> {
        if !geteuid().is_root() {
            return Ok(Account::Own);
        }
        let accounts = std::fs::read_to_string(ACCOUNTS).unwrap_or_default();
        let found = lookup(&accounts, preferred).or_else(|| lookup(&accounts, FALLBACK));
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        match found {
            Some(Account::Other { uid, .. }) if !is_mapped(&map, uid) => Ok(Account::Inner),
            Some(account) => Ok(account),
            None => Err(Error::NoAccount {
                preferred: preferred.to_owned(),
            }),
        }
    }

    /// Call this after preparations that need root.
    pub fn apply(self, command: &mut Command) {
        let become_it = move || match self {
            Account::Own => Ok(()),
            Account::Other { uid, gid } => Ok(become_user(uid, gid)?),
            Account::Inner => Ok(become_inner_user()?),
        };
        // SAFETY: the closure runs between fork and exec and makes only system calls, on numbers and static
        // strings.
        unsafe { command.pre_exec(become_it) };
    }

    /// Changes the owner of `path` to this account.
    ///
    /// # Errors
    /// Fails only with [`Error::File`].
    pub fn own(self, path: &Path) -> Result<(), Error> {
        let Account::Other { uid, gid } = self else {
            return Ok(());
        };
        chown(path, Some(uid), Some(gid)).map_err(|error| crate::files::fault(path, &error))
    }
}

fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    // Of this thread, the only one after fork.
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

/// Enters a nested user namespace with one ordinary user.
fn become_inner_user() -> io::Result<()> {
    // SAFETY: descriptors stay as they are.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?;
    write_whole(c"/proc/self/setgroups", b"deny")?;
    write_whole(c"/proc/self/gid_map", b"1000 0 1")?;
    write_whole(c"/proc/self/uid_map", b"1000 0 1")
}

/// Without the standard library's files, which allocate on opening.
fn write_whole(path: &CStr, text: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    match rustix::io::write(file, text)? {
        count if count == text.len() => Ok(()),
        _ => Err(io::Errno::IO),
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

/// Whether this `uid_map` contains `uid`. A system without maps has every user.
fn is_mapped(map: &str, uid: u32) -> bool {
    let mut ranges = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().map(|field| field.parse::<u64>().ok());
        let (first, _, count) = (fields.next()??, fields.next()??, fields.next()??);
        Some(first..first.saturating_add(count))
    });
    map.is_empty() || ranges.any(|range| range.contains(&u64::from(uid)))
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

    #[test]
    fn a_user_namespace_of_one_user_has_no_other() {
        assert!(is_mapped("         0          0 4294967295\n", 107));
        assert!(!is_mapped("         0       1000          1\n", 107));
        assert!(is_mapped(
            "         0       1000          1\n         1     100000      65536\n",
            107
        ));
    }
}
