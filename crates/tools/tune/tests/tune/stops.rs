//! Stopping jobs from outside.

use super::distance::{every_turn_costs_the_distance, far};
use super::{bench, run, run_query, scratches, shape};
use client::session::{Session, SessionOptions};
use model::Job;
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::Target;
use testbed::floor::told_on_failure;
use testbed::{MariaDb, Postgres};

/// Sets `stop` during `job`; returns the time until it ends.
fn stop_during(stop: &StopToken, job: impl FnOnce()) -> Duration {
    let stopped = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.stop();
            Instant::now()
        });
        job();
        stopper.join().unwrap()
    });
    stopped.elapsed()
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn distance_costs_turns_and_a_stop_ends_a_job() {
    let _floor = told_on_failure();
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    every_turn_costs_the_distance(&postgres, &mariadb);
    a_job_ends_when_it_is_stopped_and_nothing_is_left(&postgres, &mariadb);
    a_job_that_waits_for_a_lock_does_not_keep_the_schema(&postgres, &mariadb);
}

fn a_job_ends_when_it_is_stopped_and_nothing_is_left(postgres: &Postgres, mariadb: &MariaDb) {
    for (url, port) in [(postgres.url(), postgres.port()), (mariadb.url(), mariadb.port())] {
        let (relay, address) = far(port);
        let stop = StopToken::new().unwrap();
        let mut bench = bench(&url, "stopped", &stop);
        let prepared = bench.prepare(&shape()).unwrap();
        let took = stop_during(&stop, || {
            let error = run(
                bench.as_mut(),
                &prepared,
                (Job::Insert, "row by row"),
                None,
                Some(address),
            );
            assert!(error.unwrap_err().is_stop());
        });
        assert!(took < Duration::from_secs(1), "{took:?}");
        bench.clean_up().unwrap();
        assert_eq!(scratches(&url), "0");
        relay.stop(Duration::from_secs(5));
    }
}

fn a_job_that_waits_for_a_lock_does_not_keep_the_schema(postgres: &Postgres, mariadb: &MariaDb) {
    for url in [postgres.url(), mariadb.url()] {
        let stop = StopToken::new().unwrap();
        let mut bench = bench(&url, "locked", &stop);
        let prepared = bench.prepare(&shape()).unwrap();
        let never = StopToken::new().unwrap();
        let mut other = Session::open(&Target::parse(&url).unwrap(), SessionOptions::new(&never)).unwrap();
        for sql in [
            "begin".to_owned(),
            format!("select * from {}.updated for update", prepared.scratch),
        ] {
            let rows = other.query(&sql, Duration::from_secs(10)).unwrap();
            assert_eq!(rows.reply.error, None);
        }
        let took = stop_during(&stop, || {
            let error = run(
                bench.as_mut(),
                &prepared,
                (Job::Update, "one statement"),
                None,
                None,
            );
            assert!(error.unwrap_err().is_stop());
        });
        assert!(took < Duration::from_secs(1), "{took:?}");
        other.close();
        bench.clean_up().unwrap();
        assert_eq!(scratches(&url), "0");
        // The session that waited for the lock is gone.
        let left = run_query(
            &url,
            if url.starts_with("postgres") {
                "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
            } else {
                "select count(*) from information_schema.processlist where info like '%updated%' and id <> connection_id()"
            },
        );
        assert_eq!(left, "0");
    }
}
