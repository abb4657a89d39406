//! A MariaDB server of a test's own.

use std::path::PathBuf;
use std::process::Command;

use servers::Running;
use servers::mariadb::MariaDbConfig as Server;
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::cluster;
use crate::process::{self, given, launch, private_directory, require};

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
    running: Running,
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
        Server::socket(self.directory.path())
    }

    /// One of MariaDB's client programs (`mariadb`, `mariadb-dump`, `mariadb-slap`) with the options that
    /// reach this server over TCP as [`MariaDb::USER`]; the caller adds the database and the rest.
    pub fn client(&self, program: &str) -> Command {
        self.client_at(program, self.port)
    }

    /// As [`MariaDb::client`], reaching the server by another `port` of 127.0.0.1: that of a relay in front
    /// of it.
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
        self.running.log()
    }

    /// The number of the server's process.
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
