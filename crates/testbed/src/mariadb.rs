use std::path::PathBuf;
use std::process::Command;

use servers::Running;
use servers::mariadb::MariaDbConfig as Server;
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::cluster;
use crate::process::{self, given, launch, private_directory, require};

/// By default without TLS and durability.
#[derive(Clone, Debug, Default)]
pub struct MariaDbOptions {
    tls: bool,
    settings: Vec<(String, String)>,
}

/// On a private port of 127.0.0.1 with a private data directory.
#[derive(Debug)]
pub struct MariaDb {
    // Drop order: the server ends before its directory is removed.
    running: Running,
    directory: TempDir,
    port: u16,
    certificate: Option<Certificate>,
}

impl MariaDbOptions {
    /// Offers TLS with [`MariaDb::certificate`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// An option of mariadbd without dashes, such as `("max-allowed-packet", "64M")`.
    pub fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Creates user and database, and returns when the server accepts connections.
    pub fn start(self) -> MariaDb {
        let account = given(Server::account());
        let directory = private_directory(account);
        cluster::provide("mariadb-install-db", account, directory.path(), |place| {
            Server::initialise(place, &servers::Here)
        });
        let certificate = self.tls.then(|| Certificate::create(directory.path(), account));
        let server = Server {
            user: Some((MariaDb::USER.to_owned(), MariaDb::PASSWORD.to_owned())),
            database: Some(MariaDb::DATABASE.to_owned()),
            tls: certificate.as_ref().map(Certificate::files),
            settings: self.settings,
        };
        let (running, port) = launch("MariaDB", directory.path(), |place| server.start(place));
        MariaDb {
            running,
            directory,
            port,
            certificate,
        }
    }
}

impl MariaDb {
    /// Has all privileges from any address.
    pub const USER: &str = "longwire";
    pub const PASSWORD: &str = "longwire-secret";
    /// Exists from the start.
    pub const DATABASE: &str = "test";

    pub fn start() -> MariaDb {
        MariaDbOptions::default().start()
    }

    pub fn options() -> MariaDbOptions {
        MariaDbOptions::default()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Includes user, password and database.
    pub fn url(&self) -> String {
        let (user, password, database) = (Self::USER, Self::PASSWORD, Self::DATABASE);
        format!("mysql://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// Set only with [`MariaDbOptions::tls`].
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    pub fn socket(&self) -> PathBuf {
        Server::socket(self.directory.path())
    }

    /// A client program (`mariadb`, `mariadb-dump`, `mariadb-slap`) with options for this server
    /// over TCP as [`MariaDb::USER`]. The caller adds the database.
    pub fn client(&self, program: &str) -> Command {
        self.client_at(program, self.port)
    }

    /// Connects to another `port` of 127.0.0.1: a relay in front of the server.
    pub fn client_at(&self, program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1"]);
        command
            .arg(format!("--port={port}"))
            .arg(format!("--user={}", Self::USER));
        command.env("MYSQL_PWD", Self::PASSWORD);
        command
    }

    /// Runs `statements` as root and returns tab-separated rows. Uses the Unix socket, so captures
    /// do not contain it.
    pub fn sql(&self, statements: &str) -> String {
        let mut command = Command::new(require("mariadb"));
        command.args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"]);
        command
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--execute={statements}"));
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
