use std::path::Path;
use std::process::Command;

use servers::Running;
use servers::postgres::{Authentication, PostgresConfig as Server};
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::cluster;
use crate::process::{self, given, launch, private_directory, require};

/// The superuser's password over TCP is always [`Postgres::PASSWORD`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostgresAuth {
    #[default]
    Trust,
    Md5,
    ScramSha256,
}

/// By default `trust`, without TLS and durability.
#[derive(Clone, Debug, Default)]
pub struct PostgresOptions {
    auth: PostgresAuth,
    tls: bool,
    settings: Vec<(String, String)>,
}

/// On a private port of 127.0.0.1 with a private data directory.
#[derive(Debug)]
pub struct Postgres {
    // Drop order: the server ends before its directory is removed.
    running: Running,
    directory: TempDir,
    port: u16,
    certificate: Option<Certificate>,
}

impl PostgresOptions {
    pub fn auth(mut self, auth: PostgresAuth) -> Self {
        self.auth = auth;
        self
    }

    /// Offers TLS with [`Postgres::certificate`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns when the server accepts connections.
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
    pub const USER: &str = "postgres";
    pub const PASSWORD: &str = "longwire-secret";
    /// Exists from the start.
    pub const DATABASE: &str = "postgres";

    pub fn start() -> Postgres {
        PostgresOptions::default().start()
    }

    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Includes user, password and database.
    pub fn url(&self) -> String {
        let (user, password, database) = (Self::USER, Self::PASSWORD, Self::DATABASE);
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// Set only with [`PostgresOptions::tls`].
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// Directory of the Unix socket (always trusted; its port is [`Postgres::port`]).
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// A client program (`psql`, `pgbench`, `pg_dump`) with environment variables for this server
    /// over TCP as superuser.
    pub fn client(&self, program: &str) -> Command {
        self.client_at(program, self.port)
    }

    /// Connects to another `port` of 127.0.0.1: a relay in front of the server.
    pub fn client_at(&self, program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.env("PGHOST", "127.0.0.1").env("PGPORT", port.to_string());
        command
            .env("PGUSER", Self::USER)
            .env("PGPASSWORD", Self::PASSWORD)
            .env("PGDATABASE", Self::DATABASE);
        command
    }

    /// Runs `statements` and returns psql's unaligned rows. Uses the Unix socket, so captures do
    /// not contain it.
    pub fn sql(&self, statements: &str) -> String {
        let mut command = self.client("psql");
        command.env("PGHOST", self.socket_directory());
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statements]);
        process::run(command)
    }

    pub fn log(&self) -> String {
        self.running.log()
    }

    pub fn process_id(&self) -> u32 {
        self.running.process_id()
    }

    /// Connections break without a goodbye, as in a crash.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    pub fn stop(mut self) {
        self.running.stop();
    }
}
