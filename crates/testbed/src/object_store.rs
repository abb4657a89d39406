//! An object store of a test's own, which speaks the S3 API: Versity's gateway over a directory.

use std::path::{Path, PathBuf};

use servers::command::CommandServer;
use servers::{Readiness, Running};
use tempfile::TempDir;

use crate::process::launch;

/// A running store on a private port of 127.0.0.1; gone when dropped.
#[derive(Debug)]
pub struct ObjectStore {
    // Dropped in this order: the server ends before its directory goes.
    _running: Running,
    directory: TempDir,
    port: u16,
}

impl ObjectStore {
    /// A store with an empty bucket of this name.
    ///
    /// # Panics
    /// When the program is not built, and with the end of its log, when it does not get ready.
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

    /// Variables of AWS's tools, with which it is reached.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ]
    }

    /// Where it keeps the objects of a bucket, as files.
    pub fn files(&self, bucket: &str) -> PathBuf {
        self.directory.path().join("store").join(bucket)
    }

    /// Its port.
    pub const fn port(&self) -> u16 {
        self.port
    }
}

/// Of this store alone.
const KEY: &str = "longwire";
const SECRET: &str = "not-a-secret-of-anybody";

/// Where `make test` has built it.
fn program() -> PathBuf {
    let built: PathBuf = crate::binary::program().with_file_name("versitygw");
    assert!(
        Path::exists(&built),
        "{} is missing: run `make test`, or scripts/object-store.sh, which builds it",
        built.display()
    );
    built
}
