//! PHP's process manager, which runs PHP scripts over FastCGI.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Account, Error, Readiness, Running, ServerPlace, files, program};

/// Compiled scripts stay cached (opcache) without checks on disk, as on a busy site; `settings` may
/// override this.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpFpm {
    /// PHP processes, all started at once. They limit parallel requests.
    pub workers: u32,
    /// Lines of `php.ini`, overriding all others.
    pub settings: Vec<(String, String)>,
    /// Environment of the scripts.
    pub environment: Vec<(String, String)>,
    /// Listens on the place's address and port, for web servers on other hosts, instead of the Unix
    /// socket.
    pub listens_on_tcp: bool,
}

impl PhpFpm {
    pub fn account() -> Result<Account, Error> {
        Account::unprivileged("www-data")
    }

    /// The Unix socket of a manager in `directory`, for a web server on the same host.
    pub fn socket(directory: &Path) -> PathBuf {
        directory.join("socket")
    }

    /// Starts the manager and returns when it accepts requests, on [`PhpFpm::socket`] or TCP.
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, Error> {
        let account = Self::account()?;
        files::make_directory(place.directory, account)?;
        let configuration = place.directory.join("php-fpm.conf");
        files::write(&configuration, &self.configuration(place), account)?;
        let mut command = Command::new(program::require_newest("php-fpm", "php-fpm")?);
        command
            .args(["--nodaemonize", "--fpm-config"])
            .arg(&configuration)
            .current_dir("/");
        Running::start(
            command,
            place,
            account,
            libc::SIGTERM,
            &Readiness::Log(READY.to_owned()),
        )
    }

    fn configuration(&self, place: &ServerPlace<'_>) -> String {
        let listen = match self.listens_on_tcp {
            true => format!("{}:{}", place.listen, place.port),
            false => Self::socket(place.directory).display().to_string(),
        };
        let mut text = format!(
            "[global]\nerror_log = /dev/stderr\nlog_level = notice\n[site]\n\
             listen = {listen}\npm = static\npm.max_children = {workers}\n\
             catch_workers_output = yes\ndecorate_workers_output = no\nclear_env = no\n",
            workers = self.workers,
        );
        let defaults = KEEP_COMPILED
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        let given = self
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        for (name, value) in defaults.chain(given) {
            text += &format!("php_admin_value[{name}] = {}\n", quoted(&value));
        }
        for (name, value) in &self.environment {
            text += &format!("env[{name}] = {}\n", quoted(value));
        }
        text
    }
}

/// Quotes as in PHP's ini files.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

const READY: &str = "ready to handle connections";
const KEEP_COMPILED: [(&str, &str); 2] = [("opcache.enable", "1"), ("opcache.validate_timestamps", "0")];
