//! PgBouncer between pgbench and PostgreSQL, captured on both sides: each statement is one
//! exchange, with the pooler's share as a part.

use serde_json::Value;
use testbed::binary::{done, number, of_type, records, run, stderr, sum};
use testbed::capture::Capture;
use testbed::{PgBouncer, Postgres};

const CLIENTS: u64 = 8;
const TRANSACTIONS: u64 = 40;

/// Records for a pool of this size with transactions that hold a connection for `holding`, and the
/// clients' waiting time by PgBouncer's count, in ns.
fn through_pool(size: u32, holding: &str) -> (Vec<Value>, u64) {
    let database = Postgres::start();
    database.sql("create table stock(id int primary key, left_over int); insert into stock select n, 0 from generate_series(1, 1000) n");
    let pooler = PgBouncer::start(&database, size);
    let folder = tempfile::tempdir().expect("a directory");
    let script = folder.path().join("shop.sql");
    let statements = format!(
        "\\set id random(1, 1000)\nbegin;\nselect left_over from stock where id = :id;\n{holding}\
         update stock set left_over = left_over + 1 where id = :id;\ncommit;\n"
    );
    std::fs::write(&script, statements).expect("a script");
    let capture = Capture::start_ports(&[pooler.port(), database.port()]);
    let mut pgbench = database.client_at("pgbench", pooler.port());
    pgbench.args([
        "-n",
        "-c",
        &CLIENTS.to_string(),
        "-t",
        &TRANSACTIONS.to_string(),
        "-f",
    ]);
    let pgbench = pgbench.arg(&script).output().expect("pgbench");
    done(&pgbench);
    let capture = capture.stop();
    // The querying client is not in the capture.
    let waited = pooler.waited(&database) * 1_000;
    let file = capture.path().display().to_string();
    let output = run(&[
        "read",
        "--json",
        "--exchanges",
        "--operations",
        "transaction",
        &file,
    ]);
    done(&output);
    assert_not_moved(&file, database.port());
    (records(&output), waited)
}

/// A moved leg that was not replayed must not appear to cost nothing.
fn assert_not_moved(file: &str, behind: u16) {
    let on = format!("127.0.0.1:{behind}");
    let predicted = run(&["predict", "--rtt", "10ms", "--on", &on, file]);
    done(&predicted);
    let said = stderr(&predicted);
    assert!(
        said.contains(&format!("--on names {on}, which is behind the pooler")),
        "{said}"
    );
}

fn assert_counted_once(records: &[Value]) {
    let all = CLIENTS * TRANSACTIONS;
    for statement in ["begin", "SELECT left_over", "UPDATE stock", "commit"] {
        let of_it = of_type(records, "statement").into_iter().filter(|record| {
            let text = record["fingerprint"].as_str().unwrap_or_default().to_lowercase();
            text.starts_with(&statement.to_lowercase())
        });
        let calls: u64 = of_it.map(|record| number(record, "calls")).sum();
        assert_eq!(calls, all, "{statement}");
    }
    let exchanges = of_type(records, "exchange");
    let pooled = exchanges
        .iter()
        .filter(|exchange| exchange.get("pooler").is_some());
    assert_eq!(pooled.count() as u64, 4 * all);
    let transactions = of_type(records, "operation").into_iter();
    let transactions = transactions.filter(|operation| operation["kind"] == "transaction");
    assert_eq!(transactions.count() as u64, all);
    for operation in of_type(records, "operation") {
        let part = |key: &str| operation.get(key).and_then(Value::as_u64).unwrap_or_default();
        let parts = ["client_ns", "server_ns", "pooler_ns", "network_ns", "unknown_ns"].map(part);
        assert_eq!(parts.iter().sum::<u64>(), part("duration_ns"), "{operation}");
    }
    let notes = of_type(records, "warning");
    let is_said = |note: &&Value| {
        note["text"]
            .as_str()
            .is_some_and(|text| text.contains("pooler or proxy of"))
    };
    assert!(notes.iter().any(is_said), "{notes:?}");
}

fn waiting(records: &[Value]) -> u64 {
    let exchanges = of_type(records, "exchange").into_iter();
    exchanges
        .filter_map(|exchange| exchange.get("pooler")?.get("waiting_ns")?.as_u64())
        .sum()
}

#[test]
fn statements_through_a_pool_that_is_large_enough_count_once() {
    let (records, _) = through_pool(20, "");
    assert_counted_once(&records);
}

#[test]
fn statements_through_a_pool_that_is_too_small_count_once_and_wait() {
    let (records, _) = through_pool(1, "");
    assert_counted_once(&records);
    let (pooler, server) = (
        sum(&records, "summary", "pooler_ns"),
        sum(&records, "summary", "server_ns"),
    );
    assert!(
        pooler > server,
        "eight clients on one connection: {pooler} ns, {server} ns"
    );
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn waiting_for_a_connection_is_what_pgbouncer_counts() {
    let _told = testbed::floor::told_on_failure();
    // Long compared with the time PgBouncer takes to read a request, which only one of the figures
    // includes.
    let (records, counted) = through_pool(2, "select pg_sleep(0.01);\n");
    let seen = waiting(&records);
    let apart = seen.abs_diff(counted) as f64 / counted as f64;
    assert!(apart < 0.1, "seen {seen} ns, counted by PgBouncer {counted} ns");
}
