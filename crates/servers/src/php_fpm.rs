//! PHP's process manager: runs PHP scripts for a web server, which reaches it by FastCGI.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Account, Readiness, Running, ServerError, ServerPlace, files, program};

/// What a PHP process manager is to be like. Compiled scripts are kept (opcache) and never looked at again on
/// disk, so that the time of PHP is that of a busy site; `settings` can say otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhpFpm {
    /// PHP processes, all started at once: that many requests run at the same time.
    pub workers: u32,
    /// Lines of `php.ini`: they overrule all others.
    pub settings: Vec<(String, String)>,
    /// Environment of the scripts.
    pub environment: Vec<(String, String)>,
    /// Listen on the address and port of the place, for web servers on other hosts, instead of the Unix
    /// socket.
    pub listens_on_tcp: bool,
}

impl PhpFpm {
    /// The account the scripts run as.
    ///
    /// # Errors
    /// [`ServerError::NoAccount`].
    pub fn account() -> Result<Account, ServerError> {
        Account::unprivileged("www-data")
    }

    /// The path of the Unix socket of a manager in `directory`, for a web server on the same host.
    pub fn socket(directory: &Path) -> PathBuf {
        directory.join("socket")
    }

    /// Starts the manager, listening on the Unix socket [`PhpFpm::socket`] or on TCP, and returns when it
    /// takes requests.
    ///
    /// # Errors
    /// Every [`ServerError`].
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, ServerError> {
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

/// As PHP's own ini files quote.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

const READY: &str = "ready to handle connections";
const KEEP_COMPILED: [(&str, &str); 2] = [("opcache.enable", "1"), ("opcache.validate_timestamps", "0")];
