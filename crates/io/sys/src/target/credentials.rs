//! User and password, from the sources of the usual clients in their order:
//!
//! - the target,
//! - the variables `PGUSER`, `PGPASSWORD`, `MYSQL_PWD`, `REDISCLI_AUTH`,
//! - the files `PGPASSFILE` or `~/.pgpass` (PostgreSQL manual, section "The Password File"),
//!   and `~/.my.cnf` (`[client]`, `[mysql]`, `[client-server]`, `[mariadb-client]`),
//! - the user's name on this machine.

use super::{Secret, Target};
use crate::files::{MAX_CONFIG_BYTES, read_small_text};
use model::Protocol;
use std::ffi::CStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: Option<Secret>,
    /// A password file that was ignored because others may read it, as libpq does.
    pub ignored: Option<PathBuf>,
}

impl Credentials {
    pub fn from_target(target: &Target) -> Self {
        Environment {
            variable: &|name| std::env::var(name).ok().filter(|value| !value.is_empty()),
            user: system_user(),
        }
        .complete(target)
    }
}

/// Allows plain-text passwords over plain connections, as requested on the command line.
pub fn allow_cleartext_passwords() {
    CLEARTEXT.store(true, Ordering::Relaxed);
}

pub fn are_cleartext_passwords_allowed() -> bool {
    CLEARTEXT.load(Ordering::Relaxed)
}

static CLEARTEXT: AtomicBool = AtomicBool::new(false);

struct Environment<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    user: Option<String>,
}

impl Environment<'_> {
    fn complete(&self, target: &Target) -> Credentials {
        let (variables, default) = match target.scheme.protocol() {
            Protocol::Postgres => (("PGUSER", "PGPASSWORD"), "postgres"),
            Protocol::Mysql => (("", "MYSQL_PWD"), "root"),
            Protocol::Redis => (("", "REDISCLI_AUTH"), "default"),
            _ => (("", ""), ""),
        };
        let file = self.option_file(target);
        let variable = |name: &str| (!name.is_empty()).then(|| (self.variable)(name)).flatten();
        let user = target.user.clone().or_else(|| variable(variables.0));
        let user = user
            .or_else(|| file.user.clone())
            .or_else(|| self.system_user(target));
        let user = user.unwrap_or_else(|| default.to_owned());
        let given = target
            .password
            .clone()
            .or_else(|| variable(variables.1).map(Secret::new));
        let mut ignored = None;
        let password = given
            .or(file.password)
            .or_else(|| match target.scheme.protocol() {
                Protocol::Postgres => self.password_file(target, &user, &mut ignored),
                _ => None,
            });
        Credentials {
            user,
            password,
            ignored,
        }
    }

    /// Redis has one default user on every machine.
    fn system_user(&self, target: &Target) -> Option<String> {
        self.user
            .clone()
            .filter(|_| target.scheme.protocol() != Protocol::Redis)
    }

    fn home(&self) -> Option<PathBuf> {
        (self.variable)("HOME").map(PathBuf::from)
    }

    fn option_file(&self, target: &Target) -> OptionFile {
        if target.scheme.protocol() != Protocol::Mysql {
            return OptionFile::default();
        }
        let text = self
            .home()
            .and_then(|home| read_small_text(&home.join(".my.cnf"), MAX_CONFIG_BYTES).ok());
        text.map_or_else(OptionFile::default, |text| OptionFile::parse(&text))
    }

    fn password_file(&self, target: &Target, user: &str, ignored: &mut Option<PathBuf>) -> Option<Secret> {
        let named = (self.variable)("PGPASSFILE").map(PathBuf::from);
        let path = named.or_else(|| Some(self.home()?.join(".pgpass")))?;
        let metadata = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?;
        if metadata.permissions().mode() & OTHERS != 0 {
            *ignored = Some(path);
            return None;
        }
        let text = read_small_text(&path, MAX_CONFIG_BYTES).ok()?;
        let port = target.port.to_string();
        let database = target.database.as_deref().unwrap_or(user);
        let host = password_file_host(target);
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .find_map(|line| matching(line, [&host, &port, database, user]))
    }
}

/// The host in a password file; `localhost` includes the usual socket directories.
fn password_file_host(target: &Target) -> String {
    let directory = target.socket.as_deref().and_then(Path::parent);
    match directory.and_then(Path::to_str) {
        None => target.host.clone(),
        Some("/tmp" | "/run/postgresql" | "/var/run/postgresql") => "localhost".to_owned(),
        Some(directory) => directory.to_owned(),
    }
}

/// The password of a line `host:port:database:user:password` that matches `wanted`; `*` matches
/// anything, a backslash escapes the next letter.
fn matching(line: &str, wanted: [&str; 4]) -> Option<Secret> {
    let mut fields = vec![(String::new(), true)];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let escaped = letter == '\\';
        let letter = if escaped { letters.next()? } else { letter };
        if letter == ':' && !escaped && fields.len() < 5 {
            fields.push((String::new(), true));
        } else if let Some((field, plain)) = fields.last_mut() {
            field.push(letter);
            *plain &= !escaped;
        }
    }
    let (password, _) = fields.pop().filter(|_| fields.len() == 4)?;
    let matches = fields
        .iter()
        .zip(wanted)
        .all(|((field, plain), wanted)| field == wanted || (*plain && field == "*"));
    matches.then(|| Secret::new(password))
}

#[derive(Debug, Default, PartialEq, Eq)]
struct OptionFile {
    user: Option<String>,
    password: Option<Secret>,
}

impl OptionFile {
    /// The last value of an option counts. Included files are not read.
    fn parse(text: &str) -> Self {
        let mut file = Self::default();
        let mut concerned = false;
        for line in text.lines().map(str::trim) {
            if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                concerned = matches!(
                    group.trim(),
                    "client" | "mysql" | "client-server" | "mariadb-client"
                );
            } else if concerned && let Some((name, value)) = line.split_once('=') {
                match name.trim() {
                    "user" => file.user = Some(unquoted(value)),
                    "password" => file.password = Some(Secret::new(unquoted(value))),
                    _ => {}
                }
            }
        }
        file
    }
}

/// Removes quotes around a value, or a comment after it.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return inner.to_owned();
        }
    }
    let end = value.find(" #").unwrap_or(value.len());
    value.get(..end).unwrap_or(value).trim_end().to_owned()
}

fn system_user() -> Option<String> {
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut texts = [0_u8; 4096];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are to memory of the size stated; what the entry points at lies in `texts`, which
    // lives as long as the name is copied.
    unsafe {
        let result = libc::getpwuid_r(
            rustix::process::geteuid().as_raw(),
            entry.as_mut_ptr(),
            texts.as_mut_ptr().cast(),
            texts.len(),
            &raw mut found,
        );
        if result != 0 || found.is_null() {
            return None;
        }
        CStr::from_ptr((*found).pw_name).to_str().ok().map(str::to_owned)
    }
}

/// Permissions of the group and of all other users.
const OTHERS: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn completed(target: &str, variables: &[(&str, &str)]) -> Credentials {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        Environment {
            variable: &|name| variables.get(name).map(|value| (*value).to_owned()),
            user: Some("anna".to_owned()),
        }
        .complete(&Target::parse(target).expect("a target"))
    }

    fn password(credentials: &Credentials) -> Option<&str> {
        credentials.password.as_ref().map(Secret::reveal)
    }

    #[test]
    fn the_target_comes_before_the_environment_and_that_before_the_system() {
        let found = completed("postgres://db/shop", &[]);
        assert_eq!((found.user.as_str(), password(&found)), ("anna", None));
        let variables = [("PGUSER", "berta"), ("PGPASSWORD", "one"), ("MYSQL_PWD", "two")];
        let found = completed("postgres://db/shop", &variables);
        assert_eq!((found.user.as_str(), password(&found)), ("berta", Some("one")));
        let found = completed("postgres://carla:three@db/shop", &variables);
        assert_eq!((found.user.as_str(), password(&found)), ("carla", Some("three")));
        let found = completed("mysql://db/shop", &variables);
        assert_eq!((found.user.as_str(), password(&found)), ("anna", Some("two")));
        let found = completed("redis://db", &[("REDISCLI_AUTH", "four")]);
        assert_eq!((found.user.as_str(), password(&found)), ("default", Some("four")));
    }

    #[test]
    fn a_password_file_is_read_as_libpq_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pass");
        let text = "# db:5432:shop:anna:comment\n\
                    db:5433:shop:anna:other port\n\
                    db:*:shop:anna:se\\:cr\\\\et: x\n\
                    *:*:*:berta:any\n\
                    short:line\n";
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = path.to_str().unwrap().to_owned();
        let variables = [("PGPASSFILE", file.as_str())];
        let of = |target: &str| {
            let found = completed(target, &variables);
            assert_eq!(found.ignored, None);
            password(&found).map(str::to_owned)
        };
        assert_eq!(of("postgres://db/shop").as_deref(), Some("se:cr\\et: x"));
        assert_eq!(of("postgres://db:5433/shop").as_deref(), Some("other port"));
        assert_eq!(of("postgres://berta@elsewhere/x").as_deref(), Some("any"));
        assert_eq!(of("postgres://db/other"), None);

        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let found = completed("postgres://db/shop", &variables);
        assert_eq!((password(&found), found.ignored.as_ref()), (None, Some(&path)));
    }

    #[test]
    fn an_option_file_s_client_groups_are_read() {
        let text =
            "[mysqld]\nuser=mysql\n[client]\nuser = berta # who\npassword=\"p # w\"\n[other]\npassword=no\n";
        let file = OptionFile::parse(text);
        assert_eq!(file.user.as_deref(), Some("berta"));
        assert_eq!(file.password.as_ref().map(Secret::reveal), Some("p # w"));
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(".my.cnf"), text).unwrap();
        let home = directory.path().to_str().unwrap();
        let found = completed("mysql://db/shop", &[("HOME", home)]);
        assert_eq!((found.user.as_str(), password(&found)), ("berta", Some("p # w")));
    }

    #[test]
    fn this_process_has_a_user() {
        assert!(system_user().is_some_and(|name| !name.is_empty()));
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read_without_harm(line in "\\PC{0,60}") {
            matching(&line, ["a", "1", "b", "c"]);
            OptionFile::parse(&format!("[client]\n{line}"));
        }
    }
}
