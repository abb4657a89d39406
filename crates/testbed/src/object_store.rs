//! An object store with the S3 API: Versity's gateway over a directory.

use std::path::{Path, PathBuf};

use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::process::launch;

/// On a private port of 127.0.0.1.
#[derive(Debug)]
pub struct ObjectStore {
    // Drop order: the server ends before its directory is removed.
    _running: Running,
    directory: TempDir,
    port: u16,
}

impl ObjectStore {
    /// Creates an empty bucket.
    pub fn start(bucket: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory of its own");
        let root = directory.path().join("store");
        std::fs::create_dir_all(root.join(bucket)).expect("a bucket");
        let program = program();
        let (running, port) = launch("the object store", directory.path(), |place| {
            let address = format!("127.0.0.1:{}", place.port);
            let words = ["--port", &address, "--access", KEY, "--secret", SECRET, "posix"];
            let server = CommandServer {
                words: std::iter::once(program.display().to_string())
                    .chain(words.map(str::to_owned))
                    .chain([root.display().to_string()])
                    .collect(),
                environment: Vec::new(),
                directory: None,
                readiness: Readiness::Port(place.port),
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

    /// Environment variables for AWS tools.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// The objects of a bucket, as files.
    pub fn files(&self, bucket: &str) -> PathBuf {
        self.directory.path().join("store").join(bucket)
    }

    pub const fn port(&self) -> u16 {
        self.port
    }
}

const KEY: &str = "longwire";
const SECRET: &str = "not-a-secret-of-anybody";

/// Built by `make test`.
fn program() -> PathBuf {
    let built: PathBuf = crate::binary::program().with_file_name("versitygw");
    assert!(
        Path::exists(&built),
        "{} is missing: run `make test`, or scripts/object-store.sh, which builds it",
        built.display()
    );
    built
}
