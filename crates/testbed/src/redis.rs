use std::process::Command;

use servers::command::CommandServer;
use servers::{Account, Readiness, Running};
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::process::{given, launch, private_directory, require};

/// Listens on a private port of 127.0.0.1 and writes no files.
#[derive(Debug)]
pub struct Redis {
    // Drop order: the server ends before its directory is removed.
    running: Running,
    _directory: TempDir,
    port: u16,
}

impl Redis {
    /// Of the user `default`.
    pub const PASSWORD: &str = "longwire-secret";

    pub fn start() -> Self {
        Self::start_with(&[])
    }

    pub fn start_with_password() -> Self {
        Self::start_with(&["--requirepass", Self::PASSWORD])
    }

    /// TLS only, in one version (`TLSv1.2`, `TLSv1.3`), with a new certificate.
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

    /// `port_option` is the option for the port.
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

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL without a password.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// `redis-cli` or `redis-benchmark` with options for `port` of 127.0.0.1: the server, or a
    /// relay in front of it.
    pub fn client_at(program: &str, port: u16) -> Command {
        let mut command = Command::new(require(program));
        command.args(["-h", "127.0.0.1", "-p"]).arg(port.to_string());
        command.env_remove("REDISCLI_AUTH");
        command
    }

    /// Connections break without a goodbye, as in a crash.
    pub fn kill(&mut self) {
        self.running.kill();
    }

    pub fn log(&self) -> String {
        self.running.log()
    }
}
