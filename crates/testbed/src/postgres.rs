//! A PostgreSQL server of a test's own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::account::Account;
use crate::certificate::Certificate;
use crate::process::{self, NotReady, Process};
use crate::program::require;

/// How clients over TCP prove who they are. The superuser's password is [`Postgres::PASSWORD`] in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostgresAuth {
    /// Not at all.
    #[default]
    Trust,
    /// A salted MD5 digest.
    Md5,
    /// SCRAM-SHA-256.
    ScramSha256,
}

/// What a server is to be like; the default is `trust`, no TLS, no durability.
#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    auth: PostgresAuth,
    tls: bool,
    settings: Vec<(String, String)>,
}

/// A running PostgreSQL on a private port of 127.0.0.1 with a private data directory; gone when dropped.
#[derive(Debug)]
pub struct Postgres {
    // Dropped in this order: the server ends before its directory goes.
    process: Process,
    directory: TempDir,
    port: u16,
    certificate: Option<Certificate>,
}

impl PostgresOptions {
    /// Clients over TCP prove who they are by `auth`.
    pub fn auth(mut self, auth: PostgresAuth) -> Self {
        self.auth = auth;
        self
    }

    /// The server offers TLS with a certificate of its own: see [`Postgres::certificate`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// A line of `postgresql.conf`.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the server and returns when it accepts connections.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start(self) -> Postgres {
        let account = Account::unprivileged("postgres");
        let directory = private_directory(account);
        let data = directory.path().join("data");
        let certificate = self.tls.then(|| Certificate::create(directory.path(), account));
        initialise(&data, account);
        self.configure(&data, directory.path(), certificate.as_ref(), account);
        let (process, port) = launch(&data, directory.path(), account);
        let server = Postgres {
            process,
            directory,
            port,
            certificate,
        };
        if self.auth != PostgresAuth::Trust {
            let password = Postgres::PASSWORD;
            server.sql(&format!("alter role {} password '{password}'", Postgres::USER));
        }
        server
    }

    fn configure(&self, data: &Path, sockets: &Path, certificate: Option<&Certificate>, account: Account) {
        let (method, encryption) = match self.auth {
            PostgresAuth::Trust => ("trust", "scram-sha-256"),
            PostgresAuth::Md5 => ("md5", "md5"),
            PostgresAuth::ScramSha256 => ("scram-sha-256", "scram-sha-256"),
        };
        let mut lines = vec![
            "listen_addresses = '127.0.0.1'".to_owned(),
            format!("unix_socket_directories = '{}'", sockets.display()),
            format!("password_encryption = '{encryption}'"),
            "fsync = off".to_owned(),
            "synchronous_commit = off".to_owned(),
            "full_page_writes = off".to_owned(),
            "shared_buffers = '32MB'".to_owned(),
            "max_connections = 600".to_owned(),
            "lc_messages = 'C'".to_owned(),
        ];
        if let Some(certificate) = certificate {
            lines.push("ssl = on".to_owned());
            lines.push(format!(
                "ssl_cert_file = '{}'",
                certificate.certificate().display()
            ));
            lines.push(format!("ssl_key_file = '{}'", certificate.key().display()));
        }
        lines.extend(
            self.settings
                .iter()
                .map(|(name, value)| format!("{name} = '{}'", value.replace('\'', "''"))),
        );
        let access = format!("local all all trust\nhost all all 127.0.0.1/32 {method}\n");
        for (name, text) in [
            ("postgresql.conf", lines.join("\n") + "\n"),
            ("pg_hba.conf", access),
        ] {
            let path = data.join(name);
            std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            account.own(&path);
        }
    }
}

impl Postgres {
    /// The superuser.
    pub const USER: &str = "postgres";
    /// The superuser's password, where one is asked for.
    pub const PASSWORD: &str = "longwire-secret";
    /// A database that exists from the start.
    pub const DATABASE: &str = "postgres";

    /// A server with the default options, accepting connections.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start() -> Postgres {
        PostgresOptions::default().start()
    }

    /// What a server is to be like, to be changed before it is started.
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL with user, password and database: `postgres://postgres:...@127.0.0.1:PORT/postgres`.
    pub fn url(&self) -> String {
        let (user, password, database) = (Self::USER, Self::PASSWORD, Self::DATABASE);
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The server's certificate and the authority to trust, when it was started with [`PostgresOptions::tls`].
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// The directory of the server's Unix socket (always trusted, any port is [`Postgres::port`]).
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// One of PostgreSQL's client programs (`psql`, `pgbench`, `pg_dump`) set up by the environment to reach this
    /// server over TCP as the superuser.
    pub fn client(&self, program: &str) -> Command {
        self.client_at(program, self.port)
    }

    /// As [`Postgres::client`], reaching the server by another `port` of 127.0.0.1: that of a relay in front of it.
    pub fn client_at(&self, program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", port.to_string());
        command
            .env("PGUSER", Self::USER)
            .env("PGPASSWORD", Self::PASSWORD)
            .env("PGDATABASE", Self::DATABASE);
        command
    }

    /// Runs `statements` over the Unix socket (no TCP: nothing appears in a capture) and returns psql's unaligned
    /// rows.
    ///
    /// # Panics
    /// With psql's message, when one of them fails.
    pub fn sql(&self, statements: &str) -> String {
        let mut command = self.client("psql");
        command.env("PGHOST", self.socket_directory());
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements]);
        process::run(command)
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The number of the server's first process.
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

/// A directory the server's account can reach and write, whose name is short enough for a Unix socket.
pub(crate) fn private_directory(account: Account) -> TempDir {
    let directory = tempfile::Builder::new().prefix("testbed-").tempdir();
    let directory = directory.unwrap_or_else(|error| panic!("temporary directory: {error}"));
    account.own(directory.path());
    directory
}

fn initialise(data: &Path, account: Account) {
    let mut command = Command::new(require("initdb"));
    command.args([
        "--no-sync",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
        "--wal-segsize=1",
    ]);
    command
        .arg(format!("--username={}", Postgres::USER))
        .arg("-D")
        .arg(data)
        .current_dir("/");
    account.apply(&mut command);
    process::run(command);
}

fn launch(data: &Path, directory: &Path, account: Account) -> (Process, u16) {
    let mut last = String::new();
    for _ in 0..PORT_ATTEMPTS {
        let port = process::free_port();
        let mut command = Command::new(require("postgres"));
        command
            .arg("-D")
            .arg(data)
            .arg("-p")
            .arg(port.to_string())
            .current_dir("/");
        account.apply(&mut command);
        let log: PathBuf = directory.join("server.log");
        // SIGQUIT: PostgreSQL's immediate shutdown, which also ends its children.
        let mut process = Process::start(command, &log, libc::SIGQUIT);
        match process.wait_for("database system is ready to accept connections", READY_WITHIN) {
            Ok(()) => return (process, port),
            Err(NotReady(log)) => last = log,
        }
        if !last.contains("Address already in use") {
            break;
        }
    }
    panic!("PostgreSQL did not get ready; its log ends with:\n{last}");
}

pub(crate) const PORT_ATTEMPTS: u32 = 5;
pub(crate) const READY_WITHIN: Duration = Duration::from_secs(60);
