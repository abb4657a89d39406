//! Results and cost of every way.

use super::{bench, method, run, run_query, scratches, shape};
use model::{Direction, Job, Method};
use sys::StopToken;
use testbed::{MariaDb, Postgres};
use tune::{Prepared, Shape, Trial, Workbench};

fn few(method: &Method) -> Vec<Option<u64>> {
    let Some(parameter) = &method.parameter else {
        return vec![None];
    };
    let values = &parameter.values;
    let mut few = vec![values[0], values[values.len() - 1]];
    few.dedup();
    few.into_iter().map(Some).collect()
}

/// Runs every way and compares its report with known figures.
fn try_all(bench: &mut dyn Workbench, prepared: &Prepared, shape: &Shape) {
    for method in &prepared.methods {
        for value in few(method) {
            let trial = Trial {
                method,
                value,
                address: None,
                watch: None,
            };
            let place = format!("{} {} {value:?}", method.job, method.name);
            let outcome = bench
                .run(&trial)
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            let rows = if method.job == Job::Select {
                shape.select_rows
            } else {
                shape.rows
            };
            assert_eq!(outcome.rows, rows, "{place}");
            let (turns, packets) = (outcome.turns.unwrap(), outcome.packets.unwrap());
            assert!(turns >= 3, "{place}: begin, the job, commit: {turns}");
            assert!(
                packets[Direction::ClientToServer] + packets[Direction::ServerToClient] >= 2 * turns,
                "{place}: {packets:?} in {turns} round trips"
            );
            let (payload, wire) = (outcome.payload_bytes.unwrap(), outcome.wire_bytes.unwrap());
            assert!(
                wire[Direction::ClientToServer] > payload[Direction::ClientToServer]
                    && wire[Direction::ServerToClient] > payload[Direction::ServerToClient],
                "{place}"
            );
            let carried = rows * u64::from(shape.row_bytes - 16);
            match method.job {
                Job::Insert => assert!(
                    payload[Direction::ClientToServer] > carried,
                    "{place}: {payload:?}"
                ),
                Job::Select => assert!(
                    payload[Direction::ServerToClient] > carried,
                    "{place}: {payload:?}"
                ),
                Job::Update => {}
            }
            assert!(outcome.client_memory.unwrap().as_bytes() > 0, "{place}");
            assert!(
                outcome.server_memory.is_some(),
                "{place}: the server is on this machine"
            );
        }
    }
}

#[test]
fn postgresql_takes_and_brings_all_rows_in_every_method() {
    let server = Postgres::start();
    let url = server.url();
    let stop = StopToken::never();
    let mut bench = bench(&url, "All Ways!", &stop);
    let shape = shape();
    let prepared = bench.prepare(&shape).unwrap();
    assert_eq!(prepared.scratch, "longwire_tune_allways");
    assert!(prepared.server.as_deref().unwrap().starts_with("PostgreSQL 1"));
    assert_eq!((prepared.methods.len(), prepared.absent.len()), (14, 0));
    try_all(bench.as_mut(), &prepared, &shape);

    let mut turns = |job, name, value| {
        let outcome = run(bench.as_mut(), &prepared, (job, name), value, None).unwrap();
        outcome.turns.unwrap()
    };
    // One round trip each for begin, commit, preparing and declaring a cursor.
    assert_eq!(turns(Job::Insert, "row by row", None), 2 + 301);
    assert_eq!(turns(Job::Insert, "prepared row by row", None), 3 + 301);
    assert_eq!(turns(Job::Insert, "multi-row statement", Some(64)), 2 + 5);
    assert_eq!(turns(Job::Insert, "prepared batch", Some(64)), 3 + 5);
    assert_eq!(turns(Job::Insert, "pipeline", Some(64)), 3 + 5);
    assert_eq!(turns(Job::Insert, "copy", Some(4096)), 2 + 2);
    assert_eq!(turns(Job::Select, "whole result", None), 2 + 1);
    // The last rows come with the end of the portal; the end of a cursor shows as missing rows.
    assert_eq!(turns(Job::Select, "portal", Some(100)), 2 + 5);
    assert_eq!(turns(Job::Select, "cursor", Some(100)), 3 + 5);
    assert_eq!(turns(Job::Select, "copy", None), 2 + 1);
    assert_eq!(turns(Job::Update, "cursor row by row", None), 3 + 2 * 301 + 1);
    assert_eq!(turns(Job::Update, "cursor then by key", Some(100)), 4 + 4 + 301);
    assert_eq!(turns(Job::Update, "cursor then a batch", Some(100)), 4 + 4 + 4);
    assert_eq!(turns(Job::Update, "one statement", None), 2 + 1);

    assert_eq!(scratches(&url), "1");
    bench.clean_up().unwrap();
    bench.clean_up().expect("a second time does nothing");
    assert_eq!(scratches(&url), "0");
    rows_are_like_those_of_a_table_that_is_left_as_it_was(&url, OF_POSTGRESQL);
    wide_rows_and_few_rows_are_rows_too(&url);
}

#[test]
fn mariadb_takes_and_brings_all_rows_in_every_method() {
    let server = MariaDb::start();
    let url = server.url();
    let stop = StopToken::never();
    let mut bench = bench(&url, "mine", &stop);
    let shape = shape();
    let prepared = bench.prepare(&shape).unwrap();
    assert!(prepared.server.as_deref().unwrap().starts_with("MariaDB 1"));
    assert_eq!((prepared.methods.len(), prepared.absent.len()), (13, 0));
    try_all(bench.as_mut(), &prepared, &shape);

    let mut turns = |job, name, value| {
        let outcome = run(bench.as_mut(), &prepared, (job, name), value, None).unwrap();
        outcome.turns.unwrap()
    };
    assert_eq!(turns(Job::Insert, "row by row", None), 2 + 301);
    assert_eq!(turns(Job::Insert, "prepared row by row", None), 3 + 301);
    assert_eq!(turns(Job::Insert, "multi-row statement", Some(64)), 2 + 5);
    assert_eq!(turns(Job::Insert, "pipeline", Some(64)), 3 + 5);
    assert_eq!(turns(Job::Insert, "bulk execute", Some(64)), 3 + 5);
    assert_eq!(turns(Job::Insert, "load data", Some(4096)), 2 + 2);
    assert_eq!(turns(Job::Select, "whole result", None), 2 + 1);
    // Preparing, opening, and a final fetch that reports the end.
    assert_eq!(turns(Job::Select, "cursor", Some(100)), 2 + 2 + 5);
    assert_eq!(turns(Job::Update, "read then by key", None), 2 + 2 + 301);
    assert_eq!(
        turns(Job::Update, "cursor then by key", Some(100)),
        2 + 3 + 4 + 301
    );
    assert_eq!(turns(Job::Update, "read then by list", Some(64)), 2 + 1 + 5);
    assert_eq!(turns(Job::Update, "one statement", None), 2 + 1);

    assert_eq!(scratches(&url), "1");
    bench.clean_up().unwrap();
    assert_eq!(scratches(&url), "0");
    rows_are_like_those_of_a_table_that_is_left_as_it_was(&url, OF_MARIADB);
    wide_rows_and_few_rows_are_rows_too(&url);
}

/// Statements that create a table, its name, and two of its values.
type Example = [&'static str; 3];

const OF_POSTGRESQL: Example = [
    "create table \"Odd Names\" (id serial primary key, happened timestamptz, price numeric(9,2), note text, raw bytea)",
    "\"Odd Names\"",
    "'it''s \\ a tab:\t and a line:\n', '\\x00ff0a'",
];

const OF_MARIADB: Example = [
    "create table `Odd Names` (id int auto_increment primary key, happened datetime, price decimal(9,2), note text, raw \
     varbinary(9))",
    "`Odd Names`",
    "'it''s \\\\ a tab:\\t and a line:\\n', 'raw'",
];

fn rows_are_like_those_of_a_table_that_is_left_as_it_was(url: &str, [create, table, values]: Example) {
    run_query(url, create);
    for place in 0..3 {
        let row = format!("'2024-02-29 12:00:00', {place}.25, {values}");
        run_query(
            url,
            &format!("insert into {table} (happened, price, note, raw) values ({row})"),
        );
    }
    run_query(url, &format!("insert into {table} (note) values (null)"));
    let stop = StopToken::never();
    let mut bench = bench(url, "like", &stop);
    let shape = Shape {
        like: Some(table.to_owned()),
        rows: 70,
        select_rows: 50,
        row_bytes: 16,
    };
    let prepared = bench.prepare(&shape).unwrap();
    try_all(bench.as_mut(), &prepared, &shape);
    let copied = format!(
        "select count(*) from {}.selected t join {table} o on o.id = t.id and o.note = t.note and o.raw = t.raw",
        prepared.scratch
    );
    // Every fourth row repeats the one with only NULL values.
    assert_eq!(run_query(url, &copied), "38", "{url}");
    assert_eq!(run_query(url, &format!("select count(*) from {table}")), "4");
    bench.clean_up().unwrap();
    assert_eq!(run_query(url, &format!("select sum(price) from {table}")), "3.75");
}

fn wide_rows_and_few_rows_are_rows_too(url: &str) {
    for (rows, row_bytes) in [(1, 16), (20, 60_000)] {
        let stop = StopToken::never();
        let mut bench = bench(url, "wide", &stop);
        let shape = Shape {
            rows,
            select_rows: rows,
            row_bytes,
            like: None,
        };
        let prepared = bench.prepare(&shape).unwrap();
        try_all(bench.as_mut(), &prepared, &shape);
        bench.clean_up().unwrap();
    }
}

#[test]
fn settings_stay_within_what_the_server_takes() {
    let server = MariaDb::options()
        .setting("max_allowed_packet", "65536")
        .setting("local_infile", "0")
        .start();
    let stop = StopToken::never();
    let mut bench = bench(&server.url(), "small", &stop);
    let shape = shape();
    let prepared = bench.prepare(&shape).unwrap();
    assert_eq!(
        method(&prepared, Job::Insert, "multi-row statement")
            .parameter
            .as_ref()
            .unwrap()
            .values,
        [2, 4, 8, 16, 32, 64]
    );
    assert_eq!(prepared.absent.len(), 1);
    assert_eq!(&*prepared.absent[0].name, "load data");
    assert!(prepared.absent[0].reason.contains("local_infile"));
    try_all(bench.as_mut(), &prepared, &shape);
    bench.clean_up().unwrap();
}
