//! Duration of open transactions, compared with PostgreSQL's own figures and with measurements over
//! links. Also checks grouping, findings and budgets for ORM pools.
//!
//! PostgreSQL's figure is the time from `now()`, the arrival of the transaction's first message, to
//! the commit timestamp (`track_commit_timestamp`). For rows it starts with `statement_timestamp()`
//! of the first write. The client is pgbench.

use serde_json::Value;
use std::path::{Path, PathBuf};
use testbed::binary::{longwire, number, of_type, records, records_among, run, shown};
use testbed::floor::told_on_failure;
use testbed::{Postgres, python, require};

const ORDER: &str = "BEGIN;
SELECT name FROM stock WHERE i = :client_id;
SELECT n FROM stock WHERE i = :client_id;
\\sleep :think ms
INSERT INTO held VALUES ('order', now(), statement_timestamp(), pg_current_xact_id()::xid);
SELECT pg_sleep(:nap), sum(i * i) FROM generate_series(1, :rows) i;
UPDATE stock SET n = n - 1 WHERE i = :client_id;
SELECT n FROM stock WHERE i = :client_id;
\\sleep :think ms
SELECT name FROM stock WHERE i = :client_id + 20;
COMMIT;
\\sleep 3 ms
";

const ENTRY: &str = "BEGIN;
INSERT INTO held VALUES ('entry', now(), statement_timestamp(), pg_current_xact_id()::xid);
UPDATE stock SET n = n + 1 WHERE i = :client_id + 10;
COMMIT;
\\sleep 3 ms
";

/// Longwire names a transaction after its first statement.
const NAMES: [(&str, &str); 2] = [("order", "select name from stock"), ("entry", "insert into held")];

/// Clients pause twice and the server sleeps: durations that depend little on machine load.
const WAITING: &[&str] = &["think=2", "nap=0.005", "rows=10"];

const COMPUTING: &[&str] = &["think=0", "nap=0", "rows=1000"];

struct Shop {
    server: Postgres,
    folder: tempfile::TempDir,
}

/// In ns, median and mean of open transactions of a name, and the median time that they held rows.
#[derive(Debug, Clone, Copy)]
struct Times {
    count: u64,
    open: u64,
    mean: u64,
    rows: u64,
}

impl Shop {
    fn open() -> Self {
        let server = Postgres::options()
            .setting("track_commit_timestamp", "on")
            .start();
        server.sql(
            "CREATE TABLE stock AS SELECT i, 'name ' || i AS name, 1000 AS n FROM generate_series(0, 50) i;
             CREATE UNIQUE INDEX ON stock (i);
             CREATE TABLE held (name text, began timestamptz, wrote timestamptz, id xid)",
        );
        let folder = tempfile::tempdir().expect("a directory");
        for (name, script) in [("order.sql", ORDER), ("entry.sql", ENTRY)] {
            std::fs::write(folder.path().join(name), script).expect("the script is written");
        }
        Self { server, folder }
    }

    /// Runs two clients at a pace, over `link` if present, and returns the recording. Clears
    /// PostgreSQL's timestamps first.
    fn work(&self, link: Option<&str>, transactions: u32, pace: &[&str]) -> PathBuf {
        self.server.sql("TRUNCATE held");
        let recording = self.folder.path().join("run.lwr");
        let mut command = longwire(&["watch", &self.server.url(), "-q", "-o"]);
        command.arg(&recording);
        command.args(link.map(|link| ["--link", link]).into_iter().flatten());
        command.arg("--").arg(require("pgbench"));
        command.args(["-n", "-c", "2", "-t", &transactions.to_string()]);
        command.args(pace.iter().flat_map(|set| ["-D", set]));
        for script in ["order.sql", "entry.sql"] {
            command.arg("-f").arg(self.folder.path().join(script));
        }
        let output = command.output().expect("the binary starts");
        assert!(output.status.success(), "{}", shown(&output));
        recording
    }

    fn noted(&self, name: &str) -> Times {
        let nanos =
            |from: &str| format!("(extract(epoch FROM pg_xact_commit_timestamp(id) - {from}) * 1e9)::bigint");
        let (open, rows) = (nanos("began"), nanos("wrote"));
        let line = self.server.sql(&format!(
            "SELECT count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY {open}), avg({open})::bigint,
                    percentile_disc(0.5) WITHIN GROUP (ORDER BY {rows}) FROM held WHERE name = '{name}'"
        ));
        let figures: Vec<u64> = line
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|figure| figure.parse().ok())
            .collect();
        let [count, open, mean, rows] = figures[..] else {
            panic!("four figures, not {line}");
        };
        Times {
            count,
            open,
            mean,
            rows,
        }
    }
}

fn read_records(recording: &Path, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec![more[0]];
    let file = recording.display().to_string();
    arguments.push(&file);
    arguments.extend(&more[1..]);
    arguments.push("--json");
    let output = run(&arguments);
    assert!(output.status.success(), "{}", shown(&output));
    records(&output)
}

fn of_name<'a>(records: &'a [Value], kind: &str, name: &str, fits: impl Fn(&Value) -> bool) -> &'a Value {
    let mut all = of_type(records, kind).into_iter();
    all.find(|record| {
        record["transaction_name"]
            .as_str()
            .is_some_and(|own| own.starts_with(name))
            && fits(record)
    })
    .unwrap_or_else(|| panic!("no {kind} of {name}: {records:#?}"))
}

#[track_caller]
fn near(ours: u64, theirs: u64, what: &str) {
    let off = ours.abs_diff(theirs);
    assert!(
        off <= 1_000_000 || off as f64 <= 0.02 * theirs as f64,
        "{what}: {ours} ns, and PostgreSQL has {theirs} ns"
    );
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn transactions_are_open_as_long_as_postgresql_says() {
    let _floor = told_on_failure();
    let shop = Shop::open();
    for link in [None, Some("rtt=10ms")] {
        let recording = shop.work(link, 40, WAITING);
        let records = read_records(&recording, &["read", "--operations", "transaction"]);
        for (name, statement) in NAMES {
            let noted = shop.noted(name);
            let held = of_name(&records, "held", statement, |_| true);
            eprintln!("{link:?} {name}: {noted:?}, here {held}");
            assert_eq!(number(held, "count"), noted.count);
            assert_eq!(number(held, "writing"), noted.count);
            near(number(held, "held_ns"), noted.open, name);
            near(number(held, "mean_ns"), noted.mean, name);
            near(number(held, "rows_held_ns"), noted.rows, name);
        }
    }
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn transactions_are_open_elsewhere_as_long_as_predicted() {
    let _floor = told_on_failure();
    let shop = Shop::open();
    let recording = shop.work(None, 100, COMPUTING);
    let predicted = read_records(
        &recording,
        &["predict", "--operations", "transaction", "--rtt", "10ms,40ms"],
    );
    for rtt in [10, 40] {
        shop.work(Some(&format!("rtt={rtt}ms")), 24, COMPUTING);
        for (name, statement) in NAMES {
            let there = |record: &Value| record["rtt_ns"] == rtt * 1_000_000;
            let claim = of_name(&predicted, "held_prediction", statement, there);
            let noted = shop.noted(name);
            for (key, noted) in [("held_ns", noted.open), ("rows_held_ns", noted.rows)] {
                let claimed = number(claim, key);
                let error = claimed as f64 / noted as f64 - 1.0;
                eprintln!(
                    "{rtt} ms {name} {key}: predicted {claimed}, measured {noted}: {:+.1} %",
                    error * 100.0
                );
                assert!(
                    error.abs() < 0.05,
                    "{name} at {rtt} ms: {claimed} ns, and PostgreSQL has {noted} ns"
                );
            }
        }
    }
}

const HOLDING: &str = "BEGIN;
UPDATE stock SET n = n - 1 WHERE i = :client_id;
SELECT name FROM stock WHERE i = :client_id;
SELECT n FROM stock WHERE i = :client_id;
SELECT max(n) FROM stock WHERE i < :client_id;
SELECT min(n) FROM stock WHERE i < :client_id;
SELECT avg(n) FROM stock WHERE i < :client_id;
SELECT count(*) FROM stock WHERE i < :client_id;
SELECT name, n FROM stock WHERE i = :client_id;
COMMIT;
";

#[test]
fn a_transaction_that_holds_its_rows_for_many_turns_is_found_and_has_a_budget() {
    let shop = Shop::open();
    std::fs::write(shop.folder.path().join("order.sql"), HOLDING).expect("the script is written");
    let recording = shop.work(None, 20, COMPUTING);
    let records = read_records(
        &recording,
        &["read", "--operations", "transaction", "--rtt", "10ms,40ms"],
    );
    let found: Vec<&Value> = of_type(&records, "finding")
        .into_iter()
        .filter(|finding| finding["kind"] == "held-transaction")
        .collect();
    let update = "update stock set n = n - ? where i = ?";
    assert_eq!(
        found.len(),
        2,
        "of the holding one alone, at two distances: {found:#?}"
    );
    let count = number(found[0], "count");
    for (finding, rtt) in found.into_iter().zip([10_000_000, 40_000_000]) {
        assert_eq!(finding["fingerprint"], update);
        assert_eq!(number(finding, "turns"), 8 * count);
        assert_eq!(number(finding, "saves_turns"), 0);
        assert_eq!(number(finding, "saves_ns"), 7 * count * rtt, "{finding}");
    }
    let file = recording.display().to_string();
    let check = [
        "check",
        &file,
        "--operations",
        "transaction",
        "--json",
        "--max-held",
    ];
    let broken = run(&[&check[..], &["200ms@40ms"]].concat());
    assert_eq!(broken.status.code(), Some(1), "{}", shown(&broken));
    let told = records_of_update(&broken, update);
    assert_eq!(
        (&told["kept"], &told["transaction_name"]),
        (&Value::from(false), &Value::from(update))
    );
    // Eight round trips lie between the arrival of BEGIN and the reply to COMMIT.
    let held = number(&told, "held_ns");
    assert!((360_000_000..500_000_000).contains(&held), "{told}");
    let remedy = told["remedy"].as_str().expect("a remedy");
    assert!(remedy.starts_with("held-transaction"), "{remedy}");
    let kept = run(&[&check[..], &["30s"]].concat());
    assert_eq!(kept.status.code(), Some(0), "{}", shown(&kept));
    assert_eq!(records_of_update(&kept, update).get("link"), None);
}

fn records_of_update(output: &std::process::Output, update: &str) -> Value {
    let records = records_among(output);
    let mut checks = of_type(&records, "check").into_iter();
    let found = checks.find(|check| check["operation_name"] == update);
    found
        .unwrap_or_else(|| panic!("a check: {}", shown(output)))
        .clone()
}

/// A pool that tests connections, with read-write transactions. Pauses scale with the machine's
/// speed and are several times as long.
const SQLALCHEMY: &str = r#"
import os, time
from sqlalchemy import create_engine, text
engine = create_engine(os.environ["URL"], pool_pre_ping=True)
for number in range(6):
    begun = time.monotonic()
    with engine.begin() as connection:
        connection.execute(text("select name from stock where i = 1")).all()
        connection.execute(text("update stock set n = n - 1 where i = 1"))
    time.sleep(max(0.05, 4 * (time.monotonic() - begun)))
"#;

const DJANGO: &str = r#"
import os, time
from urllib.parse import urlparse
from django.conf import settings
url = urlparse(os.environ["URL"])
settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql", "NAME": url.path[1:], "USER": url.username,
    "HOST": url.hostname, "PORT": url.port, "CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}})
import django; django.setup()
from django.db import close_old_connections, connection, transaction
for number in range(6):
    begun = time.monotonic()
    close_old_connections()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("select name from stock where i = %s", [1])
        cursor.execute("update stock set n = n - 1 where i = %s", [1])
    time.sleep(max(0.05, 4 * (time.monotonic() - begun)))
"#;

const JOB: &str = r#"
import os, psycopg
with psycopg.connect(os.environ["URL"].replace("+psycopg", "")) as connection:
    for number in range(6):
        with connection.transaction():
            connection.execute("select name from stock where i = 1")
            connection.execute("update stock set n = n - 1 where i = 1")
"#;

#[test]
fn pools_and_jobs_are_grouped_by_their_transactions() {
    let programs = python::environment(&["psycopg[binary]==3.2.13", "sqlalchemy==2.0.44", "django==5.2.8"]);
    let shop = Shop::open();
    let work = |program: &str, scheme: &str| {
        let output = longwire(&["watch", &shop.server.url(), "-q", "--json", "--"])
            .args([
                "sh",
                "-c",
                "URL=$0://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE exec \"$1\" -c \"$2\"",
            ])
            .arg(scheme)
            .arg(programs.join("python"))
            .arg(program)
            .output()
            .expect("the binary starts");
        assert!(output.status.success(), "{}", shown(&output));
        let records = records_among(&output);
        let mut told: Vec<(String, String)> = of_type(&records, "operation")
            .into_iter()
            .map(|one| (one["kind"].to_string(), one["operation_name"].to_string()))
            .collect();
        told.sort();
        told
    };
    let count =
        |told: &[(String, String)], name: &str| told.iter().filter(|(_, own)| own.contains(name)).count();
    for (program, scheme, check) in [
        (SQLALCHEMY, "postgresql+psycopg", "connection check"),
        (DJANGO, "postgresql", "\"select ?\""),
    ] {
        let told = work(program, scheme);
        assert_eq!(count(&told, "select name from stock"), 6, "{told:?}");
        assert_eq!(count(&told, check), 5, "{told:?}");
        assert_eq!(count(&told, "begin"), 0, "{told:?}");
        assert_eq!(count(&told, "\"\""), 0, "{told:?}");
    }
    let told = work(JOB, "postgresql");
    assert_eq!(count(&told, "select name from stock"), 6, "{told:?}");
    assert_eq!(count(&told, "connection to "), 0, "{told:?}");
}
