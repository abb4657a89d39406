//! A PostgreSQL server of a test's own.

use std::path::Path;
use std::process::Command;

use servers::Running;
use servers::postgres::{Authentication, PostgresConfig as Server};
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::cluster;
use crate::process::{self, given, launch, private_directory, require};

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
    running: Running,
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
        let account = given(Server::account());
        let directory = private_directory(account);
        cluster::provide("initdb", account, directory.path(), |place| {
            Server::initialise(place, &servers::Here)
        });
        let certificate = self.tls.then(|| Certificate::create(directory.path(), account));
        let authentication = match self.auth {
            PostgresAuth::Trust => Authentication::Trust,
            PostgresAuth::Md5 => Authentication::Md5,
            PostgresAuth::ScramSha256 => Authentication::ScramSha256,
        };
        let server = Server {
            authentication,
            password: (self.auth != PostgresAuth::Trust).then(|| Postgres::PASSWORD.to_owned()),
            database: None,
            tls: certificate.as_ref().map(Certificate::files),
            settings: self.settings,
        };
        let (running, port) = launch("PostgreSQL", directory.path(), |place| server.start(place));
        Postgres {
            running,
            directory,
            port,
            certificate,
        }
    }
}

impl Postgres {
    /// The superuser.
    pub const USER: &str = "postgres";
    /// The superuser's password, where one is requested.
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

    /// The server's certificate and the authority to trust, when it was started with
    /// [`PostgresOptions::tls`].
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// The directory of the server's Unix socket (always trusted, any port is [`Postgres::port`]).
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// One of PostgreSQL's client programs (`psql`, `pgbench`, `pg_dump`) set up by the environment to reach
    /// this server over TCP as the superuser.
    pub fn client(&self, program: &str) -> Command {
        self.client_at(program, self.port)
    }

    /// As [`Postgres::client`], reaching the server by another `port` of 127.0.0.1: that of a relay in front
    /// of it.
    pub fn client_at(&self, program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", port.to_string());
        command
            .env("PGUSER", Self::USER)
            .env("PGPASSWORD", Self::PASSWORD)
            .env("PGDATABASE", Self::DATABASE);
        command
    }

    /// Runs `statements` over the Unix socket (no TCP: nothing appears in a capture) and returns psql's
    /// unaligned rows.
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
        self.running.log()
    }

    /// The number of the server's first process.
    pub fn process_id(&self) -> u32 {
        self.running.process_id()
    }

    /// Kills the server as a crash would; connections break without a goodbye.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    /// Ends the server and waits until it is gone.
    pub fn stop(mut self) {
        self.running.stop();
    }
}
