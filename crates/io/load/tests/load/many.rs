use super::http::serve;
use super::sql::sql;
use super::{assert_whole, plan, run};
use load::http::HttpLoad;
use load::{Plan, RunControl};
use model::Direction;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use sys::StopToken;
use testbed::{MariaDb, Postgres};

fn on_one_thread(clients: u32, operations: u64) -> Plan {
    Plan {
        threads: Some(1),
        ..plan(clients, operations)
    }
}

fn rings() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let ring = |entry: std::fs::DirEntry| {
        std::fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().contains("io_uring"))
    };
    descriptors.flatten().map(ring).filter(|is| *is).count()
}

#[test]
fn each_operation_is_run_once_and_long_results_arrive_whole() {
    let server = Postgres::start();
    server.sql("create table seen (id int, client int)");
    let script = [
        "insert into seen values (1, pg_backend_pid())",
        "select repeat('x', 1000) from generate_series(1, 300)",
    ];
    let outcome = run(&sql(&server.url(), &script, false), &on_one_thread(40, 800)).unwrap();
    assert_whole(&outcome, 800);
    assert!(outcome.payload_bytes[Direction::ServerToClient] > 800 * 300_000);
    let seen = server.sql("select count(*), count(distinct client) from seen");
    assert_eq!(seen.trim(), "800|40");

    let server = MariaDb::start();
    let big = ["select repeat('x', 1000) from seq_1_to_300"];
    let outcome = run(&sql(&server.url(), &big, false), &on_one_thread(20, 200)).unwrap();
    assert_whole(&outcome, 200);
}

#[test]
fn connections_that_are_lost_are_told_and_replaced() {
    let server = Postgres::start();
    let load = sql(&server.url(), &["select pg_sleep(0.002)"], false);
    let control = RunControl::new(&StopToken::never()).unwrap();
    let plan = Plan {
        operations: None,
        duration: Some(Duration::from_secs(3)),
        ..on_one_thread(30, 0)
    };
    let terminate = "select count(pg_terminate_backend(pid)) from pg_stat_activity where pid <> pg_backend_pid() and query like '%pg_sleep%'";
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| load::run(&load, &plan, &control, None));
        while control.progress().done < 100 {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(rings() > 0, "thirty clients of one thread share a ring");
        server.sql(terminate);
        let before = control.progress().done;
        while control.progress().done < before + 200 {
            std::thread::sleep(Duration::from_millis(5));
        }
        run.join().unwrap().unwrap()
    });
    let measured = outcome.measured.unwrap();
    assert!(measured.operations > 300, "{measured:?}");
    let failed: u64 = outcome.errors.iter().map(|error| error.count).sum();
    assert_eq!(measured.errors, failed);
    assert!(
        (1..=60).contains(&failed),
        "each connection was ended once: {:?}",
        outcome.errors
    );
}

#[test]
fn a_server_that_ends_connections_between_requests_is_asked_again() {
    let answered = AtomicU64::new(0);
    let answer = |_: &str, stream: &mut std::net::TcpStream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            .unwrap();
        // The connection sometimes ends after the answer.
        !answered.fetch_add(1, Ordering::SeqCst).is_multiple_of(7)
    };
    let (outcome, connections) = serve(answer, |address| {
        let url = format!("http://site:{}/", address.port());
        run(
            &HttpLoad::new(&url, address, true).unwrap(),
            &on_one_thread(24, 700),
        )
        .unwrap()
    });
    assert_whole(&outcome, 700);
    assert_eq!(answered.load(Ordering::SeqCst), 700);
    assert!((100..=124).contains(&connections), "{connections} connections");
}
