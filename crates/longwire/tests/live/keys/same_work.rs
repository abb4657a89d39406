//! The same program without TLS, and with TLS and keys: equal statements, round trips and rows, and
//! plain text identical to tshark's.
//!
//! Each comparison prints a line; `bench/keys.sh` keeps them all, also those of Ruby and Node.js,
//! which `cargo test` omits (feature `stacks`).

#[cfg(feature = "stacks")]
mod stacks;

use super::{Run, VERSIONS, mariadb, postgres};
use crate::opened::plain_text::{followed, opened};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use testbed::binary::{self, done, of_type, sum};
use testbed::capture::CaptureFile;
use testbed::process::{self, free_port};
use testbed::waiting::wait_until;
use testbed::{Capture, Certificate, JavaProgram, MariaDb, Postgres, Redis, Started, java, python, require};

struct Pair<'a> {
    program: &'a str,
    server: &'a str,
    version: &'a str,
    ports: [u16; 2],
    options: Vec<String>,
}

/// Protocol, fingerprint, rows and round trips of an exchange.
type Work = (Value, Value, Value, Value);

impl Pair<'_> {
    fn new<'a>(program: &'a str, server: &'a str, version: &'a str, port: u16) -> Pair<'a> {
        Pair {
            program,
            server,
            version,
            ports: [port; 2],
            options: Vec::new(),
        }
    }

    /// Runs the program both ways, compares the results and prints the figures. The argument of
    /// `command` selects TLS.
    #[track_caller]
    fn compare(&self, command: impl Fn(bool) -> Command) {
        let capture = Capture::start(self.ports[0]);
        process::run(command(false));
        let plain = read_records(&capture.stop(), None);
        let mut run = Run::new();
        run.options.clone_from(&self.options);
        let capture = Capture::start(self.ports[1]);
        done(&run.run_program(&command(true)));
        let capture = capture.stop();
        let with_keys = read_records(&capture, Some(&run.file()));
        let names = format!("{} {} {}", self.program, self.server, self.version);
        let connection = of_type(&with_keys, "connection")[0];
        assert_eq!(
            (&connection["encrypted"], &connection["opaque"]),
            (&true.into(), &false.into()),
            "{names}"
        );
        let work = [&plain, &with_keys].map(|records| work(records));
        assert!(work[0].len() >= 3, "{names}: {:?}", work[0]);
        assert_eq!(work[1], work[0], "{names}");
        let login = [&plain, &with_keys].map(|records| turns(records, &["login"]));
        assert_eq!(login[1], login[0], "{names}: round trips of the login");
        let text = opened(&capture.path(), &run.file());
        let [client, server] = [text[0].len(), text[1].len()];
        assert!(client > 0 && server > 0, "{names}");
        let tshark_text = followed(&capture.path(), &run.file(), self.ports[1]);
        if text != tshark_text {
            let kept = std::env::temp_dir().join(format!("longwire-same-work-{}", self.ports[1]));
            fs::create_dir_all(&kept).expect("a directory");
            fs::copy(capture.path(), kept.join("tls.pcap")).expect("the capture is kept");
            fs::copy(run.file(), kept.join("tls.keys")).expect("the keys are kept");
            let theirs = [tshark_text[0].len(), tshark_text[1].len()];
            panic!(
                "{names}: {client} and {server} bytes, tshark's {theirs:?}; see {}",
                kept.display()
            );
        }
        self.print(&work[0], login[0], &with_keys, [client, server]);
    }

    fn print(&self, work: &[Work], login: u64, with_keys: &[Value], text: [usize; 2]) {
        let sum_of = |key: fn(&Work) -> &Value| -> u64 {
            let numbers = work.iter().filter_map(|exchange| key(exchange).as_u64());
            numbers.sum()
        };
        println!(
            "same-work | {} | {} | {} | {} | {} | {} | {login} | {} | {} | {} |",
            self.program,
            self.server,
            self.version,
            work.len(),
            sum_of(|work| &work.3),
            sum_of(|work| &work.2),
            turns(with_keys, &["tls"]),
            text[0],
            text[1]
        );
    }
}

fn read_records(capture: &CaptureFile, keys: Option<&Path>) -> Vec<Value> {
    let mut command = binary::longwire(&["read", "--json", "--exchanges"]);
    command.arg(capture.path());
    if let Some(keys) = keys {
        command.arg("--keys").arg(keys);
    }
    let output = command.output().expect("the binary starts");
    done(&output);
    binary::records(&output)
}

fn work(records: &[Value]) -> Vec<Work> {
    let exchanges = of_type(records, "exchange").into_iter();
    let work = exchanges.filter(|exchange| exchange["phase"] == "work");
    work.map(|exchange| {
        let key = |name: &str| exchange[name].clone();
        (key("protocol"), key("fingerprint"), key("rows"), key("turns"))
    })
    .collect()
}

fn turns(records: &[Value], phases: &[&str]) -> u64 {
    let exchanges: Vec<Value> = of_type(records, "exchange")
        .into_iter()
        .filter(|exchange| phases.iter().any(|phase| exchange["phase"] == *phase))
        .cloned()
        .collect();
    sum(&exchanges, "exchange", "turns")
}

const POSTGRES_TABLES: &str = "create table numbers (n int primary key, name text); create table marks (n int); \
    insert into numbers select n, 'name ' || n from generate_series(1, 500) n; analyze;";
const MARIADB_TABLES: &str = "use test; create table numbers (n int primary key, name varchar(100)); create table marks (n int); \
    insert into numbers select seq, concat('name ', seq) from seq_1_to_500;";
const WORK: &str = "select name from numbers where n = 1;\nselect name from numbers where n = 2;\n\
    select n, name from numbers order by n;\nbegin;\ninsert into marks values (7);\ncommit;\n";

/// Both servers at each TLS version. Arguments of the program: kind of server, port, and CA file
/// with TLS.
fn with_both(
    program: &str,
    options: &[String],
    versions: &[&str],
    command: impl Fn(&str, u16, Option<&Path>) -> Command,
) {
    for version in versions {
        let server = postgres(version);
        server.sql(POSTGRES_TABLES);
        let authority = server.certificate().expect("it speaks TLS").authority();
        let mut pair = Pair::new(program, "PostgreSQL 15", version, server.port());
        pair.options = options.to_vec();
        pair.compare(|tls| command("postgres", server.port(), tls.then_some(authority)));
        let server = mariadb(version);
        server.sql(MARIADB_TABLES);
        let authority = server.certificate().expect("it speaks TLS").authority();
        let mut pair = Pair::new(program, "MariaDB 10.11", version, server.port());
        pair.options = options.to_vec();
        pair.compare(|tls| command("mariadb", server.port(), tls.then_some(authority)));
    }
}

const BOTH: [&str; 2] = [VERSIONS[0].0, VERSIONS[1].0];

/// Takes kind of server, port, and `off` or the TLS material.
fn script(mut command: Command, name: &str, words: (&str, u16, Option<&str>)) -> Command {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/live/keys")
        .join(name);
    command.arg(file).args([words.0, &words.1.to_string()]);
    command.arg(words.2.unwrap_or("off"));
    command
}

fn word(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

#[test]
fn psql_does_the_same_work() {
    for (version, _) in VERSIONS {
        let server = postgres(version);
        server.sql(POSTGRES_TABLES);
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), WORK).expect("it is written");
        Pair::new("psql 15", "PostgreSQL 15", version, server.port()).compare(|tls| {
            let mut psql = server.client("psql");
            psql.env("PGSSLMODE", if tls { "require" } else { "disable" });
            psql.args(["-X", "-q", "-o", "/dev/null", "-f"]).arg(file.path());
            psql
        });
    }
}

#[test]
fn mariadbs_client_does_the_same_work() {
    for (version, _) in VERSIONS {
        let server = mariadb(version);
        server.sql(MARIADB_TABLES);
        Pair::new("mariadb 10.11", "MariaDB 10.11", version, server.port()).compare(|tls| {
            let mut client = server.client("mariadb");
            client.args([
                if tls { "--ssl" } else { "--skip-ssl" },
                "--database=test",
                "--batch",
                "--execute",
                WORK,
            ]);
            client
        });
    }
}

#[test]
fn python_does_the_same_work() {
    let programs = python::environment(&["psycopg[binary]==3.2.13", "asyncpg==0.30.0", "PyMySQL==1.1.1"]);
    with_both(
        "Python 3: psycopg 3.2, PyMySQL 1.1",
        &[],
        &BOTH,
        |kind, port, authority| {
            let python = Command::new(programs.join("python3"));
            script(python, "same_work.py", (kind, port, authority.map(|_| "on")))
        },
    );
}

#[test]
fn java_does_the_same_work() {
    let jars = java::jars(&[
        "org.postgresql:postgresql:42.7.4",
        "org.mariadb.jdbc:mariadb-java-client:3.5.1",
        "name.neykov:extract-tls-secrets:4.0.0",
    ]);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/keys/SameWork.java");
    let program = JavaProgram::compile(source.as_ref(), &jars[..2]);
    let agent = ["--java-agent".to_owned(), jars[2].display().to_string()];
    let name = "Java 17: pgjdbc 42.7, MariaDB Connector/J 3.5";
    with_both(name, &agent, &BOTH[1..], |kind, port, authority| {
        let mut java = program.command(&jars[..2]);
        let (user, password) = if kind == "postgres" {
            (Postgres::USER, Postgres::PASSWORD)
        } else {
            (MariaDb::USER, MariaDb::PASSWORD)
        };
        let account = format!("user={user}&password={password}");
        java.arg(match (kind, authority) {
            ("postgres", Some(_)) => {
                format!("jdbc:postgresql://127.0.0.1:{port}/postgres?{account}&sslmode=require")
            }
            ("postgres", None) => {
                format!("jdbc:postgresql://127.0.0.1:{port}/postgres?{account}&sslmode=disable")
            }
            (_, Some(_)) => format!("jdbc:mariadb://127.0.0.1:{port}/test?{account}&sslMode=trust"),
            (_, None) => format!("jdbc:mariadb://127.0.0.1:{port}/test?{account}&sslMode=disable"),
        });
        java
    });
}

#[test]
fn mysqls_connector_j_does_the_same_work() {
    let jars = java::jars(&[
        "com.mysql:mysql-connector-j:9.1.0",
        "name.neykov:extract-tls-secrets:4.0.0",
    ]);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/keys/SameWork.java");
    let program = JavaProgram::compile(source.as_ref(), &jars[..1]);
    let version = BOTH[1];
    let server = mariadb(version);
    server.sql(MARIADB_TABLES);
    let mut pair = Pair::new(
        "Java 17: MySQL Connector/J 9.1",
        "MariaDB 10.11",
        version,
        server.port(),
    );
    pair.options = vec!["--java-agent".to_owned(), jars[1].display().to_string()];
    pair.compare(|tls| {
        let mut java = program.command(&jars[..1]);
        let (port, user, password) = (server.port(), MariaDb::USER, MariaDb::PASSWORD);
        let mode = if tls { "REQUIRED" } else { "DISABLED" };
        java.arg(format!(
            "jdbc:mysql://127.0.0.1:{port}/test?user={user}&password={password}&sslMode={mode}"
        ));
        java
    });
}

#[test]
fn redis_cli_does_the_same_work() {
    let commands = "set a 1\nget a\nrpush b 1 2 3\nlrange b 0 -1\nget secret\n";
    let plain = Redis::start();
    for (version, _) in VERSIONS {
        done(
            &Redis::client_at("redis-cli", plain.port())
                .arg("flushall")
                .output()
                .expect("it starts"),
        );
        let server = Redis::start_with_tls(version);
        let pair = Pair {
            ports: [plain.port(), server.port()],
            ..Pair::new("redis-cli 7.0", "Redis 7.0", version, 0)
        };
        pair.compare(|tls| {
            let tls_options = if tls { "--tls --insecure" } else { "" };
            let port = pair.ports[usize::from(tls)];
            let mut shell = Command::new("sh");
            let script = format!("printf '{commands}' | redis-cli -p {port} {tls_options}");
            shell.arg("-c").arg(script).env_remove("REDISCLI_AUTH");
            shell
        });
    }
}

#[test]
fn curl_does_the_same_work() {
    for (version, _) in VERSIONS {
        let (_server, ports) = web_server(version);
        let pair = Pair {
            ports,
            ..Pair::new("curl 7.88", "nginx 1.22", version, 0)
        };
        pair.compare(|tls| {
            let scheme = if tls { "https" } else { "http" };
            let mut curl = Command::new(require("curl"));
            curl.args(["-sS", "--fail", "--insecure", "--http1.1"]);
            for page in ["1", "2", "large"] {
                let url = format!("{scheme}://127.0.0.1:{}/{page}", ports[usize::from(tls)]);
                curl.args(["-o", "/dev/null", &url]);
            }
            curl
        });
    }
}

struct WebServer {
    _process: Started,
    _directory: tempfile::TempDir,
}

fn web_server(version: &str) -> (WebServer, [u16; 2]) {
    let directory = tempfile::tempdir().expect("a directory");
    let place = directory.path();
    for (name, length) in [("1", 20), ("2", 3000), ("large", 300_000)] {
        fs::write(place.join(name), "x".repeat(length)).expect("it is written");
    }
    let certificate = Certificate::create_own(place);
    let ports = [free_port(), free_port()];
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {}/t;\n", place.display()))
        .concat();
    let configuration = format!(
        "daemon off; master_process off; pid {0}/pid; error_log {0}/log;\nevents {{}}\n\
         http {{ access_log off; {temporary} server {{ root {0}; listen 127.0.0.1:{1}; listen 127.0.0.1:{2} ssl;\n\
         ssl_protocols {3}; ssl_certificate {4}; ssl_certificate_key {5}; }} }}\n",
        place.display(),
        ports[0],
        ports[1],
        version,
        certificate.certificate().display(),
        certificate.key().display()
    );
    let file = place.join("nginx.conf");
    fs::write(&file, configuration).expect("it is written");
    let mut nginx = Command::new(require("nginx"));
    nginx
        .arg("-e")
        .arg(place.join("log"))
        .arg("-p")
        .arg(place)
        .arg("-c")
        .arg(&file);
    let process = Started::start(&mut nginx);
    for port in ports {
        wait_until("nginx listens", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
    }
    let server = WebServer {
        _process: process,
        _directory: directory,
    };
    (server, ports)
}

#[test]
fn php_does_the_same_work() {
    with_both("PHP 8.2: PDO", &[], &BOTH, |kind, port, authority| {
        let php = Command::new(require("php"));
        script(php, "same_work.php", (kind, port, authority.map(word)))
    });
}
