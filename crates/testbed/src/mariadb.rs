//! A MariaDB server of a test's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::account::Account;
use crate::certificate::Certificate;
use crate::postgres::{PORT_ATTEMPTS, READY_WITHIN, private_directory};
use crate::process::{self, NotReady, Process};
use crate::program::require;

/// What a server is to be like; the default is no TLS, no durability.
#[derive(Clone, Debug, Default)]
pub struct MariaDbOptions {
    tls: bool,
    settings: Vec<(String, String)>,
}

/// A running MariaDB on a private port of 127.0.0.1 with a private data directory; gone when dropped.
#[derive(Debug)]
pub struct MariaDb {
    // Dropped in this order: the server ends before its directory goes.
    process: Process,
    directory: TempDir,
    port: u16,
    certificate: Option<Certificate>,
}

impl MariaDbOptions {
    /// The server offers TLS with a certificate of its own: see [`MariaDb::certificate`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// An option of mariadbd's command line, without its dashes: `("max-allowed-packet", "64M")`.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server, makes its user and database, and returns when it accepts connections.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start(self) -> MariaDb {
        let account = Account::unprivileged("mysql");
        let directory = private_directory(account);
        let certificate = self.tls.then(|| Certificate::create(directory.path(), account));
        initialise(directory.path(), account);
        let (process, port) = self.launch(directory.path(), certificate.as_ref(), account);
        let server = MariaDb {
            process,
            directory,
            port,
            certificate,
        };
        let (user, password, database) = (MariaDb::USER, MariaDb::PASSWORD, MariaDb::DATABASE);
        server.sql(&format!(
            "create database {database};\
             create user '{user}'@'%' identified by '{password}';\
             grant all on *.* to '{user}'@'%'"
        ));
        server
    }

    fn launch(
        &self,
        directory: &Path,
        certificate: Option<&Certificate>,
        account: Account,
    ) -> (Process, u16) {
        let mut last = String::new();
        for _ in 0..PORT_ATTEMPTS {
            let port = process::free_port();
            let command = self.command(directory, port, certificate, account);
            let log: PathBuf = directory.join("server.log");
            // SIGKILL: nothing in the data directory outlives the test, so an orderly shutdown would only take time.
            let mut process = Process::start(command, &log, libc::SIGKILL);
            match process.wait_for("ready for connections.", READY_WITHIN) {
                Ok(()) => return (process, port),
                Err(NotReady(log)) => last = log,
            }
            if !last.contains("Address already in use") {
                break;
            }
        }
        panic!("MariaDB did not get ready; its log ends with:\n{last}");
    }

    fn command(
        &self,
        directory: &Path,
        port: u16,
        certificate: Option<&Certificate>,
        account: Account,
    ) -> Command {
        let mut command = Command::new(require("mariadbd"));
        command.args([
            "--no-defaults",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            "--local-infile=1",
        ]);
        command.args([
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=32M",
            "--skip-log-bin",
        ]);
        command.args(["--max-connections=600", "--lc-messages=en_US", INNODB_LOG_SIZE]);
        command.arg(format!("--port={port}"));
        for (name, file) in [
            ("datadir", "data"),
            ("socket", SOCKET),
            ("pid-file", "pid"),
            ("tmpdir", ""),
        ] {
            command.arg(format!("--{name}={}", directory.join(file).display()));
        }
        if let Some(certificate) = certificate {
            command.arg(format!("--ssl-ca={}", certificate.authority().display()));
            command.arg(format!("--ssl-cert={}", certificate.certificate().display()));
            command.arg(format!("--ssl-key={}", certificate.key().display()));
        }
        command.args(
            self.settings
                .iter()
                .map(|(name, value)| format!("--{name}={value}")),
        );
        command.current_dir("/");
        account.apply(&mut command);
        command
    }
}

impl MariaDb {
    /// A user with all privileges from any address.
    pub const USER: &str = "longwire";
    /// That user's password.
    pub const PASSWORD: &str = "longwire-secret";
    /// A database that exists from the start.
    pub const DATABASE: &str = "test";

    /// A server with the default options, accepting connections.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start() -> MariaDb {
        MariaDbOptions::default().start()
    }

    /// What a server is to be like, to be changed before it is started.
    pub fn options() -> MariaDbOptions {
        MariaDbOptions::default()
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL with user, password and database: `mysql://longwire:...@127.0.0.1:PORT/test`.
    pub fn url(&self) -> String {
        let (user, password, database) = (Self::USER, Self::PASSWORD, Self::DATABASE);
        format!("mysql://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The server's certificate and the authority to trust, when it was started with [`MariaDbOptions::tls`].
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// The server's Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join(SOCKET)
    }

    /// One of MariaDB's client programs (`mariadb`, `mariadb-dump`, `mariadb-slap`) with the options that reach this
    /// server over TCP as [`MariaDb::USER`]; the caller adds the database and the rest.
    pub fn client(&self, program: &str) -> Command {
        self.client_at(program, self.port)
    }

    /// As [`MariaDb::client`], reaching the server by another `port` of 127.0.0.1: that of a relay in front of it.
    pub fn client_at(&self, program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"]);
        command
            .arg(format!("--port={port}"))
            .arg(format!("--user={}", Self::USER));
        command.env("MYSQL_PWD", Self::PASSWORD);
        command
    }

    /// Runs `statements` over the Unix socket (no TCP: nothing appears in a capture) as root and returns the
    /// tab-separated rows.
    ///
    /// # Panics
    /// With the client's message, when one of them fails.
    pub fn sql(&self, statements: &str) -> String {
        let mut command = Command::new(require("mariadb"));
        command.args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"]);
        command
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--execute={statements}"));
        process::run(command)
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The number of the server's process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Kills the server as a crash would; connections break without a goodbye.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Ends the server and waits until it is gone.
    pub fn stop(mut self) {
        self.process.stop();
    }
}

fn initialise(directory: &Path, account: Account) {
    let mut command = Command::new(require("mariadb-install-db"));
    command.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]);
    command.args(["--skip-name-resolve", INNODB_LOG_SIZE]);
    command.arg(format!("--datadir={}", directory.join("data").display()));
    command.arg(format!("--tmpdir={}", directory.display()));
    command.current_dir("/");
    account.apply(&mut command);
    process::run(command);
}

const SOCKET: &str = "socket";
const INNODB_LOG_SIZE: &str = "--innodb-log-file-size=4M";
