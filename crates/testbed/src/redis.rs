//! A Redis server of a test's own.

use std::process::Command;

use servers::command::CommandServer;
use servers::{Account, Readiness, Running};
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::process::{given, launch, private_directory, require};

/// A running Redis on a private port of 127.0.0.1 that writes nothing to disk; gone when dropped.
#[derive(Debug)]
pub struct Redis {
    // Dropped in this order: the server ends before its directory goes.
    running: Running,
    _directory: TempDir,
    port: u16,
}

impl Redis {
    /// The password of [`Redis::start_with_password`], of the user `default`.
    pub const PASSWORD: &str = "longwire-secret";

    /// A server without a password.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// A server that answers no client before [`Redis::PASSWORD`] was given.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start_with_password() -> Self {
        Self::start_with(&["--requirepass", Self::PASSWORD])
    }

    /// A server that speaks TLS alone, of one version (`TLSv1.2`, `TLSv1.3`), with a certificate of its own.
    ///
    /// # Panics
    /// With the end of its log, when it does not get ready.
    pub fn start_with_tls(version: &str) -> Self {
        let account = given(Account::unprivileged("redis"));
        let directory = private_directory(account);
        let certificate = Certificate::create(directory.path(), account);
        let [authority, own, key] = [
            certificate.authority(),
            certificate.certificate(),
            certificate.key(),
        ]
        .map(|file| file.display().to_string());
        let more = [
            "--tls-cert-file",
            &own,
            "--tls-key-file",
            &key,
            "--tls-ca-cert-file",
            &authority,
            "--tls-auth-clients",
            "no",
            "--tls-protocols",
            version,
            "--port",
            "0",
        ];
        Self::start_in(directory, "--tls-port", &more)
    }

    fn start_with(more: &[&str]) -> Self {
        let account = given(Account::unprivileged("redis"));
        Self::start_in(private_directory(account), "--port", more)
    }

    /// A server of `directory`, whose port is named by the option `port_option`.
    fn start_in(directory: TempDir, port_option: &str, more: &[&str]) -> Self {
        let program = require("redis-server").display().to_string();
        let (running, port) = launch("Redis", directory.path(), |place| {
            let port = place.port.to_string();
            let mut words = vec![program.clone(), port_option.to_owned(), port];
            for word in ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
                .iter()
                .chain(more)
            {
                words.push((*word).to_owned());
            }
            let server = CommandServer {
                words,
                environment: Vec::new(),
                directory: None,
                readiness: Readiness::Log("Ready to accept connections".to_owned()),
                user: Some("redis".to_owned()),
            };
            server.start(place)
        });
        Self {
            running,
            _directory: directory,
            port,
        }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A URL without a password: `redis://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// `redis-cli` or `redis-benchmark` with the options that reach the server by `port` of 127.0.0.1: its
    /// own, or that of a relay in front of it. The caller adds the rest.
    pub fn client_at(program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.args(["-h", "127.0.0.1", "-p"]).arg(port.to_string());
        command.env_remove("REDISCLI_AUTH");
        command
    }

    /// Kills the server as a crash would; connections break without a goodbye.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        self.running.log()
    }
}
