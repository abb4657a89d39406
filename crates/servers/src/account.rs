//! The account a server runs as: PostgreSQL and MariaDB refuse to run as root.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::ServerError;

/// Whom a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Account {
    /// The caller is an ordinary user: its servers are too.
    Own,
    /// The caller is root: its servers run as this user and group.
    Other {
        /// User number.
        uid: u32,
        /// Group number.
        gid: u32,
    },
    /// The caller is root of a user namespace that has no other user: its servers run in one more, as an ordinary
    /// user who stands for that root.
    Inner,
}

impl Account {
    /// The account for a server whose package makes the user `preferred`; `nobody` stands in when there is none.
    ///
    /// # Errors
    /// [`ServerError::NoAccount`].
    pub fn unprivileged(preferred: &str) -> Result<Account, ServerError> {
        // SAFETY: geteuid takes no argument, touches no memory and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return Ok(Account::Own);
        }
        let accounts = std::fs::read_to_string(ACCOUNTS).unwrap_or_default();
        let found = lookup(&accounts, preferred).or_else(|| lookup(&accounts, FALLBACK));
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        match found {
            Some(Account::Other { uid, .. }) if !is_mapped(&map, uid) => Ok(Account::Inner),
            Some(account) => Ok(account),
            None => Err(ServerError::NoAccount {
                preferred: preferred.to_owned(),
            }),
        }
    }

    /// Makes `command` run as this account. What must be done as root is asked of the command before.
    pub fn apply(self, command: &mut Command) {
        match self {
            Account::Own => {}
            // SAFETY: the closure runs between fork and exec and makes only system calls, on numbers.
            Account::Other { uid, gid } => unsafe {
                command.pre_exec(move || become_user(uid, gid));
            },
            // SAFETY: the closure runs between fork and exec and makes only system calls, on static strings.
            Account::Inner => unsafe {
                command.pre_exec(become_inner_user);
            },
        }
    }

    /// Gives the file or directory `path` to this account.
    ///
    /// # Errors
    /// [`ServerError::File`], when the system refuses.
    pub fn own(self, path: &Path) -> Result<(), ServerError> {
        let Account::Other { uid, gid } = self else {
            return Ok(());
        };
        chown(path, Some(uid), Some(gid)).map_err(|error| crate::files::fault(path, &error))
    }
}

fn become_user(uid: u32, gid: u32) -> std::io::Result<()> {
    // SAFETY: setgroups is given no group, so reads no memory; the others take integers.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(gid, gid, gid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    };
    if done {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// One more user namespace, in which the only user is an ordinary one.
fn become_inner_user() -> std::io::Result<()> {
    // SAFETY: unshare takes an integer and touches no memory of this process.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    write_whole(c"/proc/self/setgroups", b"deny")?;
    write_whole(c"/proc/self/gid_map", b"1000 0 1")?;
    write_whole(c"/proc/self/uid_map", b"1000 0 1")
}

fn write_whole(path: &std::ffi::CStr, text: &[u8]) -> std::io::Result<()> {
    // SAFETY: `path` ends with NUL and `text` is as long as it says; the descriptor is closed here.
    let written = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let written = libc::write(file, text.as_ptr().cast(), text.len());
        libc::close(file);
        written
    };
    if written == text.len() as isize {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
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

/// Whether the user namespace with this `uid_map` has the user `uid`. A system that tells no map has every user.
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
