//! Servers of the testbed are real, reachable, and end with the test.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::process::run;
use testbed::{Capture, MariaDb, Postgres, PostgresAuth, require};

fn is_running(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

fn processes_of(directory: &Path) -> Vec<String> {
    let name = directory.display().to_string();
    let processes = std::fs::read_dir("/proc").expect("/proc is there on Linux");
    processes
        .flatten()
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
        .filter(|line| line.contains(&name))
        .collect()
}

fn psql(server: &Postgres, arguments: &[&str]) -> Command {
    let mut command = server.client("psql");
    command.args(["-X", "-A", "-t"]).args(arguments);
    command
}

#[test]
fn postgres_answers_and_is_gone_when_dropped() {
    let server = Postgres::start();
    assert_eq!(run(psql(&server, &["-c", "select 6 * 7"])), "42\n");
    assert_eq!(run(psql(&server, &["-c", "select 6 * 7", &server.url()])), "42\n");
    let (process, directory) = (server.process_id(), server.socket_directory().to_owned());
    drop(server);
    assert!(!is_running(process));
    assert!(!directory.exists());
}

#[test]
fn postgres_asks_for_the_password_it_was_told_to() {
    for (auth, stored) in [
        (PostgresAuth::Md5, "md5"),
        (PostgresAuth::ScramSha256, "SCRAM-SHA-256"),
    ] {
        let server = Postgres::options().auth(auth).start();
        let verifier = server.sql("select rolpassword from pg_authid where rolname = 'postgres'");
        assert!(verifier.starts_with(stored), "{verifier}");
        assert_eq!(run(psql(&server, &["-c", "select 1"])), "1\n");
        let refused = psql(&server, &["-c", "select 1"])
            .env("PGPASSWORD", "wrong")
            .output()
            .unwrap();
        assert!(!refused.status.success());
    }
}

#[test]
fn postgres_offers_a_certificate_that_verifies() {
    let server = Postgres::options().tls().setting("log_connections", "on").start();
    let authority = server.certificate().unwrap().authority().to_owned();
    let mut command = psql(
        &server,
        &["-c", "select ssl from pg_stat_ssl where pid = pg_backend_pid()"],
    );
    command
        .env("PGSSLMODE", "verify-full")
        .env("PGSSLROOTCERT", authority)
        .env("PGHOST", "localhost");
    assert_eq!(run(command), "t\n");
    assert!(server.log().contains("connection authorized"));
}

#[test]
fn mariadb_answers_and_is_gone_when_dropped() {
    let server = MariaDb::options().tls().start();
    let mut command = server.client("mariadb");
    command.args(["-N", "-B", "-e", "select 6 * 7, database()", MariaDb::DATABASE]);
    assert_eq!(run(command), "42\ttest\n");
    let mut encrypted = server.client("mariadb");
    let authority: PathBuf = server.certificate().unwrap().authority().to_owned();
    encrypted
        .arg("--host=localhost")
        .arg(format!("--ssl-ca={}", authority.display()));
    encrypted.args([
        "--ssl-verify-server-cert",
        "-N",
        "-B",
        "-e",
        "show status like 'Ssl_version'",
    ]);
    assert!(run(encrypted).starts_with("Ssl_version\tTLSv1."));
    let (process, socket) = (server.process_id(), server.socket());
    drop(server);
    assert!(!is_running(process));
    assert!(!socket.exists());
}

#[test]
fn a_killed_server_breaks_connections_and_leaves_nothing() {
    let mut server = Postgres::start();
    server.kill();
    let refused = psql(&server, &["-c", "select 1"]).output().unwrap();
    assert!(!refused.status.success());
    let directory = server.socket_directory().to_owned();
    drop(server);
    assert_eq!(processes_of(&directory), Vec::<String>::new());
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let result = std::panic::catch_unwind(|| Postgres::options().setting("shared_buffers", "many").start());
    let message = *result.unwrap_err().downcast::<String>().unwrap();
    assert!(
        message.contains("PostgreSQL ended before it was ready"),
        "{message}"
    );
    assert!(
        message.contains("invalid value for parameter \"shared_buffers\": \"many\""),
        "{message}"
    );
}

#[test]
fn a_capture_holds_all_that_passed_and_nothing_else() {
    let server = Postgres::start();
    let capture = Capture::start(server.port());
    let script: String = (0..200)
        .map(|number| format!("select 'statement number {number}';"))
        .collect();
    run(psql(&server, &["-c", &script]));
    run(psql(&server, &["-c", "select 'the last one'"]));
    let file = capture.stop();

    let mut tshark = Command::new(require("tshark"));
    tshark
        .arg("-r")
        .arg(file.path())
        .arg("-d")
        .arg(format!("tcp.port=={},pgsql", server.port()));
    tshark.args(["-T", "fields", "-e", "pgsql.query", "-Y", "pgsql.query"]);
    let statements = run(tshark);
    assert!(statements.contains("statement number 199"), "{statements}");
    assert!(statements.ends_with("select 'the last one'\n"), "{statements}");
    let mut others = Command::new(require("tshark"));
    others.arg("-r").arg(file.path()).args(["-Y", "not tcp"]);
    assert_eq!(run(others), "");
}

/// The parent test starts this one as a child with a server, and kills it.
#[test]
fn a_killed_test_leaves_no_server() {
    const CHILD: &str = "TESTBED_KILLED_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
        println!("servers {} {} end", postgres.process_id(), mariadb.process_id());
        std::io::Write::flush(&mut std::io::stdout()).unwrap();
        std::thread::park();
    }
    // The child cannot clean up; this directory, accessible to the servers' accounts, is removed
    // instead.
    let directory = tempfile::tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "a_killed_test_leaves_no_server", "--nocapture"])
        .env(CHILD, "1")
        .env("TMPDIR", directory.path());
    let mut child = child.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.contains("servers "))
        .unwrap();
    let words = line
        .split_whitespace()
        .skip_while(|word| *word != "servers")
        .skip(1);
    let servers: Vec<u32> = words.map_while(|word| word.parse().ok()).collect();
    assert_eq!(servers.len(), 2, "{line}");
    assert!(servers.iter().all(|server| is_running(*server)));

    child.kill().unwrap();
    child.wait().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while servers.iter().any(|server| is_running(*server)) {
        assert!(
            std::time::Instant::now() < deadline,
            "{servers:?} are still there"
        );
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
