//! TLS captures with the client's key log yield the same statements, round trips and rows as
//! without TLS.

mod commands;
pub(crate) mod plain_text;
mod reasons;

use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use testbed::binary::{self, of_type, sum};
use testbed::capture::{Capture, CaptureFile};
use testbed::{MariaDb, Postgres, Started, process};

type Encryption<'a> = (&'a str, &'a str);

const ENCRYPTIONS: [Encryption<'static>; 6] = [
    ("1.2", "ECDHE-ECDSA-AES128-GCM-SHA256"),
    ("1.2", "ECDHE-ECDSA-AES256-GCM-SHA384"),
    ("1.2", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    ("1.3", "TLS_AES_128_GCM_SHA256"),
    ("1.3", "TLS_AES_256_GCM_SHA384"),
    ("1.3", "TLS_CHACHA20_POLY1305_SHA256"),
];

struct Run {
    capture: CaptureFile,
    directory: TempDir,
    port: u16,
}

impl Run {
    fn new(protocol: &str, port: u16, password: &str, encryption: Option<Encryption<'_>>) -> Self {
        Self::with(protocol, port, password, encryption, &[])
    }

    fn with(
        protocol: &str,
        port: u16,
        password: &str,
        encryption: Option<Encryption<'_>>,
        variables: &[(&str, &str)],
    ) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (version, cipher) = encryption.unwrap_or(("plain", ""));
        let mut command = Command::new("python3");
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/opened/client.py"))
            .args([protocol, &port.to_string(), version, password])
            .env("SSLKEYLOGFILE", directory.path().join("keys"))
            .envs(variables.iter().copied());
        if version == "1.2" {
            command.env("TLS_CIPHER", cipher);
        } else if version == "1.3" {
            command.env("OPENSSL_CONF", settings(directory.path(), cipher));
        }
        let capture = Capture::start(port);
        let said = process::run(command);
        assert!(said.contains(cipher), "{said}");
        Self {
            capture: capture.stop(),
            directory,
            port,
        }
    }

    fn of_curl(port: u16, (version, cipher): Encryption<'_>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new("curl");
        command.env("SSLKEYLOGFILE", directory.path().join("keys"));
        command.args([
            "-sS",
            "--insecure",
            "--http1.1",
            "-o",
            "/dev/null",
            "-o",
            "/dev/null",
        ]);
        match version {
            "1.2" => command.args(["--tls-max", "1.2", "--ciphers", cipher]),
            _ => command.args(["--tlsv1.3", "--tls13-ciphers", cipher]),
        };
        command.args([1, 20_000].map(|count| format!("https://127.0.0.1:{port}/{count}")));
        let capture = Capture::start(port);
        process::run(command);
        Self {
            capture: capture.stop(),
            directory,
            port,
        }
    }

    fn opened(&self) -> [Vec<u8>; 2] {
        plain_text::opened(&self.capture.path(), self.keys().as_ref())
    }

    fn followed(&self) -> [Vec<u8>; 2] {
        plain_text::followed(&self.capture.path(), self.keys().as_ref(), self.port)
    }

    fn keys(&self) -> String {
        self.directory.path().join("keys").display().to_string()
    }

    fn read_records(&self, keys: Option<&str>) -> Vec<Value> {
        self.read_file(&self.capture.path().display().to_string(), keys)
    }

    fn read_with_keys_inside(&self) -> Vec<Value> {
        let file = self.directory.path().join("inside.pcapng").display().to_string();
        let mut command = Command::new("editcap");
        command.args(["--inject-secrets", &format!("tls,{}", self.keys())]);
        command.arg(self.capture.path()).arg(&file);
        process::run(command);
        self.read_file(&file, None)
    }

    fn read_file(&self, file: &str, keys: Option<&str>) -> Vec<Value> {
        let mut arguments = vec![
            "read",
            "--json",
            "--exchanges",
            "--operations",
            "connection",
            file,
        ];
        arguments.extend(keys.iter().flat_map(|keys| ["--keys", *keys]));
        let output = binary::longwire(&arguments).output().expect("it starts");
        binary::done(&output);
        binary::records(&output)
    }
}

/// Uses an RSA certificate, and also supports suites without forward secrecy.
fn web_server(directory: &Path) -> (Started, u16) {
    let (certificate, key) = (directory.join("certificate"), directory.join("key"));
    let mut command = Command::new("openssl");
    command.args([
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-out",
    ]);
    command.arg(&certificate).arg("-keyout").arg(&key);
    process::run(command);
    let mut command = Command::new("python3");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/opened/https.py"))
        .args([certificate, key]);
    let (server, address) = Started::listening(&mut command, "listening on ");
    (server, address.port())
}

/// Python's module cannot set TLS 1.3 suites, but OpenSSL's configuration can.
fn settings(directory: &Path, suite: &str) -> PathBuf {
    let path = directory.join("openssl.cnf");
    let text = format!(
        "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nCiphersuites = {suite}\n"
    );
    std::fs::write(&path, text).expect("it can be written");
    path
}

fn work(records: &[Value]) -> Vec<(Value, Value, Value, Value)> {
    let exchanges = of_type(records, "exchange");
    let work = exchanges.iter().filter(|exchange| exchange["phase"] == "work");
    work.map(|exchange| {
        let key = |name: &str| exchange[name].clone();
        (key("protocol"), key("fingerprint"), key("rows"), key("turns"))
    })
    .collect()
}

/// Records without conditions and without digests keyed per run.
fn lasting(records: &[Value]) -> Vec<Value> {
    let mut records = records.to_vec();
    records.retain(|record| record["type"] != "conditions");
    for record in &mut records {
        if let Some(asked) = record.get_mut("asked").and_then(Value::as_object_mut) {
            asked.remove("request_digest");
        }
    }
    records
}

fn connection(records: &[Value]) -> &Value {
    of_type(records, "connection")[0]
}

fn turns_of(records: &[Value], phases: &[&str]) -> u64 {
    let exchanges = of_type(records, "exchange");
    let chosen = exchanges
        .iter()
        .filter(|exchange| phases.iter().any(|phase| exchange["phase"] == *phase));
    chosen
        .map(|exchange| exchange["turns"].as_u64().unwrap_or(1))
        .sum()
}

fn all_that_is_plain_is_seen(protocol: &str, port: u16, password: &str) {
    let plain = Run::new(protocol, port, password, None).read_records(None);
    let statements = work(&plain)
        .into_iter()
        .filter(|exchange| exchange.1.to_string().contains("select"));
    assert!(statements.count() >= 10, "{plain:?}");
    for encryption in ENCRYPTIONS {
        let run = Run::new(protocol, port, password, Some(encryption));
        let (opened, closed) = (run.read_records(Some(&run.keys())), run.read_records(None));
        assert_eq!(work(&opened), work(&plain), "{protocol} {encryption:?}");
        assert_eq!(lasting(&run.read_with_keys_inside()), lasting(&opened));
        let connection = connection(&opened);
        assert_eq!(connection["encrypted"], true, "{encryption:?} {connection}");
        assert_eq!(connection["opaque"], false, "{encryption:?} {connection}");
        assert_eq!(turns_of(&opened, &["login"]), turns_of(&plain, &["login"]));
        assert_eq!(
            turns_of(&opened, &["connect", "tls"]),
            turns_of(&closed, &["connect", "tls"])
        );
        assert!(
            run.opened() == run.followed(),
            "{protocol} {encryption:?}: another text than tshark's"
        );
        for key in ["client_payload_bytes", "server_payload_bytes"] {
            assert_eq!(sum(&opened, "connection", key), sum(&closed, "connection", key));
        }
    }
}

#[test]
fn a_postgresql_connection_is_decoded_as_without_tls() {
    let server = Postgres::options().tls().start();
    all_that_is_plain_is_seen("postgres", server.port(), Postgres::PASSWORD);
}

/// PostgreSQL 17 and later with sslnegotiation=direct; here a TLS terminator in front of an older
/// server.
#[test]
fn a_postgresql_connection_with_direct_tls_is_decoded_as_without_tls() {
    let server = Postgres::start();
    let plain = work(&Run::new("postgres", server.port(), Postgres::PASSWORD, None).read_records(None));
    for encryption in [("1.2", "ECDHE-RSA-AES128-GCM-SHA256"), ENCRYPTIONS[4]] {
        let mut command = Command::new("python3");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/opened/terminator.py");
        command.arg(script).arg(server.port().to_string());
        let (_terminator, address) = Started::listening(&mut command, "listening on ");
        let direct = [("DIRECT_TLS", "1")];
        let run = Run::with(
            "postgres",
            address.port(),
            Postgres::PASSWORD,
            Some(encryption),
            &direct,
        );
        let opened = run.read_records(Some(&run.keys()));
        assert_eq!(work(&opened), plain, "{encryption:?}");
        assert_eq!(connection(&opened)["opaque"], false, "{encryption:?}");
        assert!(
            run.opened() == run.followed(),
            "{encryption:?}: another text than tshark's"
        );
        // Saves the round trip of the TLS request.
        let handshake = if encryption.0 == "1.2" { 2 } else { 1 };
        assert_eq!(turns_of(&opened, &["tls"]), handshake, "{encryption:?}");
    }
}

#[test]
fn a_mariadb_connection_is_decoded_as_without_tls() {
    let server = MariaDb::options().tls().start();
    all_that_is_plain_is_seen("mariadb", server.port(), MariaDb::PASSWORD);
}

#[test]
fn requests_over_https_are_decoded() {
    let directory = tempfile::tempdir().expect("a directory");
    let (_server, port) = web_server(directory.path());
    let without_forward_secrecy = ("1.2", "AES128-GCM-SHA256");
    let suites = ENCRYPTIONS.map(|(version, cipher)| (version, cipher.replace("ECDSA", "RSA")));
    let suites = suites.iter().map(|(version, cipher)| (*version, cipher.as_str()));
    for encryption in suites.chain([without_forward_secrecy]) {
        let run = Run::of_curl(port, encryption);
        let records = run.read_records(Some(&run.keys()));
        let work = work(&records);
        let mut said = String::new();
        for exchange in &work {
            writeln!(said, "{} {}", exchange.0, exchange.1).expect("a string");
        }
        assert_eq!(work.len(), 2, "{encryption:?} {records:?}");
        assert!(said.contains("http"), "{encryption:?} {said}");
        assert_eq!(connection(&records)["protocol"], "http", "{encryption:?}");
        let [client, server] = run.opened();
        assert!(server.len() > 100_000 && client.starts_with(b"GET /1 HTTP/1.1"));
        assert!(
            [client, server] == run.followed(),
            "{encryption:?}: another text than tshark's"
        );
    }
}

#[test]
fn keys_that_are_missing_or_of_another_run_are_reported() {
    let server = Postgres::options().tls().start();
    let run = || {
        Run::new(
            "postgres",
            server.port(),
            Postgres::PASSWORD,
            Some(ENCRYPTIONS[4]),
        )
    };
    let (one, other) = (run(), run());
    let read = |run: &Run, keys: &str| {
        let file = run.capture.path().display().to_string();
        let output = binary::run(&["read", &file, "--keys", keys]);
        binary::shown(&output)
    };
    let with_other_keys = read(&one, &other.keys());
    assert!(
        with_other_keys.contains("none of the secrets of 1 session in"),
        "{with_other_keys}"
    );
    assert!(
        with_other_keys.contains("was it written by another run?"),
        "{with_other_keys}"
    );
    let secret = std::fs::read_to_string(one.keys()).expect("a key log");
    let secret = secret.split_whitespace().last().expect("a secret").to_owned();
    let own = read(&one, &one.keys());
    assert!(
        own.contains("select") && !own.contains(&secret) && !with_other_keys.contains(&secret),
        "{own}"
    );

    let capture = one.capture.path().display().to_string();
    binary::refused(
        &["read", &capture, "--keys", &capture],
        &["is no key log", "line 1"],
    );
    binary::refused(
        &["read", &capture, "--keys", "/nonexistent/keys"],
        &["could not open the key log"],
    );
}
