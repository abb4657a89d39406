//! Every way of a driver's workbench does its job, traffic is observed, and nothing is left behind.

use super::{PGJDBC, jdbc, options};
use client::Watch;
use client::bridge::{JdbcUrl, Login};
use model::ObserverFactory;
use model::{ByteCount, ConnectionEvent, ConnectionId, Direction, Job, Method, Observer, TrialOutcome};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use sys::StopToken;
use sys::clock::Clock;
use testbed::{MariaDb, Postgres};
use tune::jdbc::JdbcBench;
use tune::{Prepared, Shape, Trial, Workbench};

const SHAPE: Shape = Shape {
    rows: 60,
    select_rows: 100,
    row_bytes: 322,
    like: None,
};

/// Counts changes of direction from server to client.
#[derive(Default)]
struct Turns(Arc<AtomicU64>);

struct Counting {
    turns: Arc<AtomicU64>,
    last: Mutex<Option<Direction>>,
}

impl ObserverFactory for Turns {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Counting {
            turns: self.0.clone(),
            last: Mutex::new(None),
        })
    }
}

impl Observer for Counting {
    fn event(&mut self, _: ConnectionId, event: ConnectionEvent<'_>) {
        if let ConnectionEvent::Segment(segment) = event {
            let before = self.last.lock().unwrap().replace(segment.direction);
            if segment.direction == Direction::ClientToServer && before != Some(segment.direction) {
                self.turns.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn bench<'a>(coordinate: &str, url: &str, stop: &'a StopToken) -> JdbcBench<'a> {
    let login = Login {
        url: JdbcUrl::parse(url).unwrap(),
        properties: Vec::new(),
        class: None,
    };
    JdbcBench::new(options(&[coordinate]), login, "t1", stop)
}

/// The outcome, and all round trips of its connection, including login and the driver's own.
fn watched(bench: &mut JdbcBench<'_>, method: &Method, value: Option<u64>) -> (TrialOutcome, u64) {
    let turns = Turns::default();
    let trial = Trial {
        method,
        value,
        address: None,
        watch: Some(Watch {
            clock: Clock::anchored_now(),
            factory: &turns,
            began: None,
        }),
    };
    let outcome = bench.run(&trial).unwrap();
    (outcome, turns.0.load(Ordering::Relaxed))
}

fn method<'p>(prepared: &'p Prepared, job: Job, name: &str) -> &'p Method {
    let found = prepared
        .methods
        .iter()
        .find(|method| method.job == job && &*method.name == name);
    found.unwrap_or_else(|| panic!("{name}: {:?}", prepared.methods))
}

fn every_method_works(bench: &mut JdbcBench<'_>, prepared: &Prepared) {
    for method in &prepared.methods {
        let values = method.parameter.as_ref().map(|parameter| &parameter.values);
        let ends = values.map(|values| [values.first().copied(), values.last().copied()]);
        for value in ends.unwrap_or([None; 2]) {
            let trial = Trial {
                method,
                value,
                address: None,
                watch: None,
            };
            let outcome = bench.run(&trial).unwrap();
            let expected = if method.job == Job::Select {
                SHAPE.select_rows
            } else {
                SHAPE.rows
            };
            assert_eq!(outcome.rows, expected, "{method:?}");
            assert!(!outcome.duration.is_zero());
        }
    }
}

#[test]
fn postgresqls_methods_work_and_nothing_is_left() {
    let server = Postgres::start();
    let stop = StopToken::new().unwrap();
    let mut bench = bench(PGJDBC, &jdbc(&server.url(), "postgresql"), &stop);
    let prepared = bench.prepare(&SHAPE).unwrap();
    assert_eq!(prepared.scratch, "longwire_tune_t1");
    every_method_works(&mut bench, &prepared);
    // 60 rows: one by one, or ten per multi-row statement.
    let (alone, one_by_one) = watched(
        &mut bench,
        method(&prepared, Job::Insert, "prepared row by row"),
        None,
    );
    let (batch, together) = watched(
        &mut bench,
        method(&prepared, Job::Insert, "multi-row statement"),
        Some(10),
    );
    assert_eq!(one_by_one - together, 54, "60 statements, and 6");
    // Ten rows may use less memory than garbage collection leaves behind; unknown is not reported
    // as zero.
    assert_eq!(alone.client_memory, None);
    assert_ne!(batch.client_memory, Some(ByteCount::from_bytes(0)));
    let selected = |bench: &mut JdbcBench<'_>, size| {
        watched(bench, method(&prepared, Job::Select, "fetch size"), Some(size)).1
    };
    assert_eq!(
        selected(&mut bench, 10) - selected(&mut bench, 80),
        9,
        "11 fetches of ten, the last empty, and 2"
    );
    stop.stop();
    bench.clean_up().unwrap();
    bench.clean_up().unwrap();
    let left = server.sql("select count(*) from pg_namespace where nspname like 'longwire%'");
    assert_eq!(left.trim(), "0");
}

#[test]
fn mysqls_driver_sends_a_batch_as_one_statement_or_row_by_row() {
    let server = MariaDb::start();
    let stop = StopToken::new().unwrap();
    let mut bench = bench(
        "com.mysql:mysql-connector-j:9.1.0",
        &jdbc(&server.url(), "mysql"),
        &stop,
    );
    let prepared = bench.prepare(&SHAPE).unwrap();
    every_method_works(&mut bench, &prepared);
    let (_, apart) = watched(&mut bench, method(&prepared, Job::Insert, "batch"), Some(40));
    let (_, together) = watched(
        &mut bench,
        method(&prepared, Job::Insert, "rewritten batch"),
        Some(40),
    );
    assert_eq!(apart - together, 58, "60 statements, and 2");
    let fetch = method(&prepared, Job::Select, "fetch size");
    let (small, often) = watched(&mut bench, fetch, Some(10));
    let (_, seldom) = watched(&mut bench, fetch, Some(80));
    assert!(
        (8..=10).contains(&(often - seldom)),
        "{often} and {seldom}: 10 fetches, and 2"
    );
    let [_, brought] = small.payload_bytes.unwrap().into_array();
    assert!((32_200..40_000).contains(&brought), "{brought}");
    bench.clean_up().unwrap();
    let left = server.sql("show databases like 'longwire%'");
    assert_eq!(left.trim(), "");
}
