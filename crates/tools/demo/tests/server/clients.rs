//! psql, and the extended protocol as used by drivers.

use std::net::SocketAddr;
use std::process::Command;

use demo::Server;
use testbed::require;

/// Returns psql's standard output and error together, and whether it succeeded.
fn psql(server: SocketAddr, commands: &[&str]) -> (String, bool) {
    let mut psql = Command::new(require("psql"));
    psql.args([
        "--no-psqlrc",
        "--tuples-only",
        "--no-align",
        "--host=127.0.0.1",
        "--username=shop",
        "--dbname=shop",
    ]);
    psql.arg(format!("--port={}", server.port()));
    for command in commands {
        psql.args(["--command", command]);
    }
    let output = psql.output().expect("psql runs");
    let text = [output.stdout, output.stderr].concat();
    (
        String::from_utf8(text).expect("text from psql"),
        output.status.success(),
    )
}

fn lines(server: &Server, commands: &[&str]) -> Vec<String> {
    psql(server.address(), commands)
        .0
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn psql_reads_the_shop() {
    let server = Server::start(crate::listener()).expect("a server");
    assert_eq!(lines(&server, &["SELECT count(*) FROM products"]), ["48"]);
    assert_eq!(
        lines(
            &server,
            &["SELECT id, title, price_cents FROM products WHERE id <= 2 ORDER BY id"]
        ),
        ["1|The Quiet Harbour|890", "2|The Hidden Garden|1027"]
    );
    let (version, _) = psql(server.address(), &["SELECT version()"]);
    assert!(version.starts_with("PostgreSQL 16"), "{version}");
}

#[test]
fn null_is_not_the_empty_string() {
    let server = Server::start(crate::listener()).expect("a server");
    assert_eq!(
        lines(&server, &["\\pset null (null)", "SELECT NULL, ''"])[1..],
        ["(null)|"]
    );
}

#[test]
fn a_bad_statement_is_an_error_with_its_place_and_the_connection_goes_on() {
    let server = Server::start(crate::listener()).expect("a server");
    let (text, success) = psql(
        server.address(),
        &[
            "\\set VERBOSITY verbose",
            "SELECT colour FROM products",
            "SELECT * FROM nowhere",
            "SELEC 1",
            "SELECT 42",
        ],
    );
    assert!(success, "psql succeeds when its last command does: {text}");
    for expected in [
        "42703",
        "42P01",
        "42601",
        "no such column: colour",
        "LINE 1: SELECT colour",
        "42\n",
    ] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
}

#[test]
fn a_transaction_is_kept_undone_and_refused_after_an_error() {
    let server = Server::start(crate::listener()).expect("a server");
    let count = "SELECT count(*) FROM authors";
    let insert = "INSERT INTO authors VALUES (100, 'New Author')";
    assert_eq!(
        lines(&server, &["BEGIN", insert, count, "ROLLBACK", count]),
        ["BEGIN", "INSERT 0 1", "17", "ROLLBACK", "16"]
    );
    assert_eq!(
        lines(&server, &["BEGIN", insert, "COMMIT", count]),
        ["BEGIN", "INSERT 0 1", "COMMIT", "17"]
    );
    // Another connection sees committed data.
    assert_eq!(lines(&server, &[count]), ["17"]);
    let (text, _) = psql(
        server.address(),
        &[
            "\\set VERBOSITY sqlstate",
            "BEGIN",
            insert,
            count,
            "COMMIT",
            count,
        ],
    );
    for expected in ["ERROR:  23505", "ERROR:  25P02", "ROLLBACK\n17"] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
}

#[test]
fn savepoints_belong_to_a_transaction() {
    let server = Server::start(crate::listener()).expect("a server");
    let insert = "INSERT INTO authors VALUES (100, 'New Author')";
    let (text, _) = psql(
        server.address(),
        &[
            "\\set VERBOSITY sqlstate",
            "SAVEPOINT s",
            "BEGIN",
            "SAVEPOINT s",
            insert,
            "ROLLBACK TO s",
            "COMMIT",
        ],
    );
    for expected in ["ERROR:  25P01", "BEGIN\nSAVEPOINT\nINSERT 0 1\nROLLBACK\nCOMMIT"] {
        assert!(text.contains(expected), "{expected} is missing in {text}");
    }
    assert_eq!(lines(&server, &["SELECT count(*) FROM authors"]), ["16"]);
}

#[test]
fn several_statements_in_one_query_stop_at_the_first_error() {
    let server = Server::start(crate::listener()).expect("a server");
    let (text, _) = psql(
        server.address(),
        &["SELECT 1; SELECT ';' ; SELECT colour FROM products; SELECT 2"],
    );
    assert!(text.contains("no such column"), "{text}");
    assert!(!text.lines().any(|line| line == "2"), "{text}");
}

#[test]
fn a_client_reaches_no_file_and_no_setting_of_the_engine() {
    let server = Server::start(crate::listener()).expect("a server");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("stolen");
    for statement in [
        format!("ATTACH DATABASE '{}' AS stolen", file.display()),
        format!("VACUUM INTO '{}'", file.display()),
        "PRAGMA hard_heap_limit = 1".to_owned(),
        "SELECT load_extension('libc.so.6')".to_owned(),
    ] {
        let (text, success) = psql(server.address(), &[&statement]);
        assert!(
            !success && text.contains("ERROR"),
            "{statement} was accepted: {text}"
        );
    }
    assert!(!file.exists());
}

#[test]
fn too_much_is_refused_and_the_connection_goes_on() {
    let server = Server::start(crate::listener()).expect("a server");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";
    let (text, success) = psql(
        server.address(),
        &[
            "\\set VERBOSITY sqlstate",
            &format!("{endless} i, hex(zeroblob(10000)) FROM n"),
            "SELECT zeroblob(1000000000)",
            &format!("{endless} sum(i) FROM n"),
            "SELECT 42",
        ],
    );
    assert!(success, "{text}");
    assert_eq!(text.matches("ERROR:  54000").count(), 2, "{text}");
    assert_eq!(text.matches("ERROR:  57014").count(), 1, "{text}");
    assert!(text.contains("42\n"), "{text}");
}

#[test]
fn pgbench_runs_in_each_of_its_modes() {
    let server = Server::start(crate::listener()).expect("a server");
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script.sql");
    let text = "\\set id random(1, 48)\nSELECT title FROM products WHERE id = :id;\n\
                SELECT count(*) FROM reviews WHERE product_id = :id;\n";
    std::fs::write(&script, text).expect("a script");
    for mode in ["simple", "extended", "prepared"] {
        let output = Command::new(require("pgbench"))
            .args([
                "--no-vacuum",
                "--client=8",
                "--jobs=2",
                "--transactions=50",
                "--host=127.0.0.1",
            ])
            .args([
                &format!("--port={}", server.address().port()),
                &format!("--protocol={mode}"),
            ])
            .args(["--username=shop", "--file"])
            .arg(&script)
            .arg("shop")
            .output()
            .expect("pgbench runs");
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(
            report.contains("transactions actually processed: 400/400"),
            "{mode}: {output:?}"
        );
    }
}
