use std::path::{Path, PathBuf};
use std::process::Command;

use crate::postgres::TlsFiles;
use crate::process;
use crate::{Account, Error, Readiness, Running, ServerHost, ServerPlace, files, program};

/// Configuration of a MariaDB server.
///
/// Data are not durable (`innodb_flush_log_at_trx_commit=0`): they are deleted after the run, and
/// disk time would distort every figure. `settings` may override this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MariaDbConfig {
    /// User with all privileges from any address, and password; `root` may only use the Unix
    /// socket.
    pub user: Option<(String, String)>,
    pub database: Option<String>,
    pub tls: Option<TlsFiles>,
    /// Options of mariadbd without dashes, overriding all others.
    pub settings: Vec<(String, String)>,
}

impl MariaDbConfig {
    pub fn account() -> Result<Account, Error> {
        Account::unprivileged("mysql")
    }

    /// The Unix socket of a server in `directory`.
    pub fn socket(directory: &Path) -> PathBuf {
        directory.join("socket")
    }

    /// Creates the data directory, starts the server and returns when it accepts connections.
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, Error> {
        let account = Self::account()?;
        files::make_directory(place.directory, account)?;
        if !place.directory.join("data").exists() {
            Self::initialise(place.directory, place.host)?;
        }
        let command = self.command(place)?;
        // SIGKILL: the data directory is not reused, so an orderly shutdown would waste time.
        let ready = Readiness::Log(READY.to_owned());
        let running = Running::start(command, place, account, libc::SIGKILL, &ready)?;
        self.introduce(place, account)?;
        Ok(running)
    }

    /// Creates the data directory in `directory`, owned by the account. [`Self::start`] does this
    /// if needed.
    ///
    /// # Errors
    /// Fails if `mariadb-install-db` is missing or fails.
    pub fn initialise(directory: &Path, host: &dyn ServerHost) -> Result<(), Error> {
        let mut command = Command::new(program::require("mariadb-install-db", PACKAGE)?);
        command.args([
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ]);
        command.args(["--skip-name-resolve", INNODB_LOG_SIZE]);
        command.arg(format!("--datadir={}", directory.join("data").display()));
        command.arg(format!("--tmpdir={}", directory.display()));
        command.current_dir("/");
        process::run(command, host, Self::account()?).map(|_| ())
    }

    fn command(&self, place: &ServerPlace<'_>) -> Result<Command, Error> {
        let mut command = Command::new(program::require("mariadbd", PACKAGE)?);
        command.args(["--no-defaults", "--skip-name-resolve", "--local-infile=1"]);
        command.args([
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
            "--skip-log-bin",
        ]);
        command.args(["--max-connections=600", "--lc-messages=en_US", INNODB_LOG_SIZE]);
        command.arg(format!("--bind-address={}", place.listen));
        command.arg(format!("--port={}", place.port));
        let socket = Self::socket(place.directory);
        for (name, path) in [
            ("datadir", &place.directory.join("data")),
            ("socket", &socket),
            ("pid-file", &place.directory.join("pid")),
            ("tmpdir", &place.directory.to_owned()),
        ] {
            command.arg(format!("--{name}={}", path.display()));
        }
        if let Some(tls) = &self.tls {
            command.arg(format!("--ssl-ca={}", tls.authority.display()));
            command.arg(format!("--ssl-cert={}", tls.certificate.display()));
            command.arg(format!("--ssl-key={}", tls.key.display()));
        }
        command.args(
            self.settings
                .iter()
                .map(|(name, value)| format!("--{name}={value}")),
        );
        command.current_dir("/");
        Ok(command)
    }

    fn introduce(&self, place: &ServerPlace<'_>, account: Account) -> Result<(), Error> {
        let mut statements = String::new();
        if let Some(database) = &self.database {
            statements += &format!("create database `{}`;", database.replace('`', "``"));
        }
        if let Some((user, password)) = &self.user {
            let (user, password) = (literal(user), literal(password));
            statements += &format!(
                "create user {user}@'%' identified by {password};\
                 grant all on *.* to {user}@'%';"
            );
        }
        if statements.is_empty() {
            return Ok(());
        }
        let mut command = Command::new(program::require("mariadb", "mariadb-client")?);
        command
            .args(["--no-defaults", "--user=root", "--batch"])
            .arg(format!("--socket={}", Self::socket(place.directory).display()))
            .arg(format!("--execute={statements}"))
            .current_dir("/");
        process::run(command, place.host, account).map(|_| ())
    }
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

const PACKAGE: &str = "mariadb-server";
const READY: &str = "ready for connections.";
const INNODB_LOG_SIZE: &str = "--innodb-log-file-size=4M";
