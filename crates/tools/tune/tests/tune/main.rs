//! Tuning jobs on real servers: row counts, round trips and cleanup.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod distance;
mod errors;
mod methods;
mod rows;
mod stops;

use client::session::{Session, SessionOptions};
use model::{Job, Method, TrialOutcome};
use std::net::SocketAddr;
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use tune::{Error, Prepared, Shape, Trial, Workbench};

/// A row count that no setting divides evenly.
fn shape() -> Shape {
    Shape {
        rows: 301,
        select_rows: 450,
        row_bytes: 322,
        like: None,
    }
}

fn bench<'a>(url: &str, suffix: &str, stop: &'a StopToken) -> Box<dyn Workbench + 'a> {
    tune::native(&Target::parse(url).unwrap(), suffix, stop).unwrap()
}

fn run(
    bench: &mut dyn Workbench,
    prepared: &Prepared,
    (job, name): (Job, &str),
    value: Option<u64>,
    address: Option<SocketAddr>,
) -> Result<TrialOutcome, Error> {
    let method = method(prepared, job, name);
    bench.run(&Trial {
        method,
        value,
        address,
        watch: None,
    })
}

fn method<'p>(prepared: &'p Prepared, job: Job, name: &str) -> &'p Method {
    let found = prepared
        .methods
        .iter()
        .find(|method| method.job == job && *method.name == *name);
    found.unwrap_or_else(|| panic!("{job} {name}"))
}

fn run_query(url: &str, sql: &str) -> String {
    let stop = StopToken::never();
    let target = Target::parse(url).unwrap();
    let mut session = Session::open(&target, SessionOptions::new(&stop)).unwrap();
    let rows = session.query(sql, Duration::from_secs(20)).unwrap();
    assert_eq!(rows.reply.error, None, "{sql}");
    let first = rows.first().unwrap_or_default().to_owned();
    session.close();
    first
}

fn scratches(url: &str) -> String {
    let sql = "select count(*) from information_schema.schemata where schema_name like 'longwire_tune%'";
    run_query(url, sql)
}
