//! Written rows by the server's count: only those of the jobs.

use super::{bench, run, run_query, shape};
use model::Job;
use std::time::{Duration, Instant};
use sys::StopToken;
use testbed::{MariaDb, Postgres};
use tune::Shape;

/// Runs a job once; returns the rows the server counted in the scratch schema: inserted, and
/// changed in any way.
fn written(url: &str, (job, way): (Job, &str), count: &dyn Fn(&str) -> [u64; 2]) -> [u64; 2] {
    let stop = StopToken::never();
    let mut bench = bench(url, "counted", &stop);
    let shape = Shape {
        rows: 500,
        select_rows: 117_158,
        ..shape()
    };
    let prepared = bench.prepare(&shape).unwrap();
    assert_eq!(count(&prepared.scratch), [0, 0], "before the first job");
    run(bench.as_mut(), &prepared, (job, way), None, None).unwrap();
    let counted = count(&prepared.scratch);
    bench.clean_up().unwrap();
    counted
}

fn number(url: &str, sql: &str) -> u64 {
    run_query(url, sql).parse().unwrap_or(0)
}

#[test]
fn a_job_writes_its_own_rows_and_no_others_on_postgresql() {
    let server = Postgres::start();
    let url = server.url();
    let count = |scratch: &str| {
        // A server process publishes its counts on exit.
        let others = "select count(*) from pg_stat_activity \
                      where application_name = 'longwire' and pid <> pg_backend_pid()";
        let begin = Instant::now();
        while number(&url, others) > 0 && begin.elapsed() < Duration::from_secs(60) {
            std::thread::yield_now();
        }
        ["n_tup_ins", "n_tup_ins + n_tup_upd + n_tup_del"].map(|columns| {
            let sql =
                format!("select sum({columns}) from pg_stat_user_tables where schemaname = '{scratch}'");
            number(&url, &sql)
        })
    };
    assert_eq!(written(&url, (Job::Insert, "row by row"), &count), [500, 500]);
    assert_eq!(written(&url, (Job::Update, "one statement"), &count), [500, 1000]);
    assert_eq!(
        written(&url, (Job::Select, "whole result"), &count),
        [117_158, 117_158]
    );
}

#[test]
fn a_job_writes_its_own_rows_and_no_others_on_mariadb() {
    let server = MariaDb::start();
    let url = server.url();
    run_query(&url, "set global userstat = 1");
    let count = |scratch: &str| {
        let sql = format!(
            "select sum(rows_changed) from information_schema.table_statistics where table_schema = '{scratch}'"
        );
        [number(&url, &sql); 2]
    };
    assert_eq!(written(&url, (Job::Insert, "row by row"), &count), [500, 500]);
    // Filled once, and then changed.
    assert_eq!(
        written(&url, (Job::Update, "one statement"), &count),
        [1000, 1000]
    );
    assert_eq!(
        written(&url, (Job::Select, "whole result"), &count),
        [117_158, 117_158]
    );
}
