//! A server of MongoDB's protocol: mongo-java-server, which keeps its documents in memory.

use std::path::Path;

use servers::command::CommandServer;
use servers::{Account, Readiness, Running};
use tempfile::TempDir;

use crate::certificate::Certificate;
use crate::java::{JavaProgram, jars};
use crate::process::{launch, private_directory};

/// On a private port of 127.0.0.1. It has no accounts.
#[derive(Debug)]
pub struct Mongodb {
    // Drop order: the server ends before its directory is removed.
    _running: Running,
    directory: TempDir,
    port: u16,
}

impl Mongodb {
    pub fn start() -> Self {
        Self::start_in(private_directory(Account::Own), &[])
    }

    /// TLS only, with a new certificate.
    pub fn start_with_tls() -> Self {
        let directory = private_directory(Account::Own);
        let certificate = Certificate::create_own(directory.path());
        let files = [certificate.certificate(), certificate.key()].map(|file| file.display().to_string());
        Self::start_in(directory, &files)
    }

    fn start_in(directory: TempDir, files: &[String]) -> Self {
        let jars = jars(&JARS);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mongodb/StartMongodb.java");
        let program = JavaProgram::compile(&source, &jars);
        let (running, port) = launch("mongo-java-server", directory.path(), |place| {
            let mut command = program.command(&jars);
            command.arg(place.port.to_string()).args(files);
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            let server = CommandServer {
                words: words.map(|word| word.to_string_lossy().into_owned()).collect(),
                environment: Vec::new(),
                directory: None,
                readiness: Readiness::Log("ready".to_owned()),
                user: None,
            };
            server.start(place)
        });
        Self {
            _running: running,
            directory,
            port,
        }
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("mongodb://127.0.0.1:{}", self.port)
    }

    /// What signed the certificate of [`Mongodb::start_with_tls`].
    pub fn authority(&self) -> std::path::PathBuf {
        self.directory.path().join("authority.pem")
    }
}

const JARS: [&str; 10] = [
    "de.bwaldvogel:mongo-java-server-core:1.47.0",
    "de.bwaldvogel:mongo-java-server-memory-backend:1.47.0",
    "io.netty:netty-buffer:4.2.2.Final",
    "io.netty:netty-codec-base:4.2.2.Final",
    "io.netty:netty-common:4.2.2.Final",
    "io.netty:netty-handler:4.2.2.Final",
    "io.netty:netty-resolver:4.2.2.Final",
    "io.netty:netty-transport:4.2.2.Final",
    "io.netty:netty-transport-native-unix-common:4.2.2.Final",
    "org.slf4j:slf4j-api:2.0.17",
];
