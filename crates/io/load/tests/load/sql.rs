use super::{assert_whole, plan, run};
use client::session::SessionError;
use load::script::{Quoting, Scripts};
use load::sql::SqlLoad;
use load::{Error, Outcome, Plan, QueryMode, RunControl};
use model::Direction;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use testbed::{MariaDb, Postgres, PostgresAuth};

pub fn sql(url: &str, script: &[&str], reconnect: bool) -> SqlLoad {
    let target = Target::parse(url).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, target.port));
    let script = Scripts::parse(script.iter().copied(), load::sql::quoting(target.scheme)).unwrap();
    SqlLoad::new(&target, script, QueryMode::Simple)
        .unwrap()
        .at(address)
        .reconnecting(reconnect)
}

fn load(url: &str, script: &[&str], plan: &Plan) -> Result<Outcome, Error> {
    run(&sql(url, script, false), plan)
}

fn wrong_password(url: &str) -> String {
    let (before, after) = url.split_once("secret").unwrap();
    format!("{before}wrong{after}")
}

#[test]
fn postgres_runs_a_transaction_once_for_each_operation() {
    let server = Postgres::start();
    server.sql("create table seen (id int, client int)");
    let script = [
        "\\set id random(1, 1000000)",
        "begin",
        "insert into seen values (:id, pg_backend_pid())",
        "select pg_sleep(0.02)",
        "commit",
    ];
    let mut plan = plan(4, 40);
    plan.warm_up = 1;
    let outcome = load(&server.url(), &script, &plan).unwrap();
    assert_whole(&outcome, 40);
    assert!(outcome.measured.unwrap().spread.min >= Some(Duration::from_millis(20)));
    // 4 of the warm-up, 40 counted; one connection per client.
    let seen = server.sql("select count(*), count(distinct client), count(distinct id) > 40 from seen");
    assert_eq!(seen.trim(), "44|4|t");

    let anew = run(&sql(&server.url(), &["select 1"], true), &self::plan(2, 10)).unwrap();
    assert_whole(&anew, 10);
}

#[test]
fn mariadb_compresses_where_the_target_asks_for_it() {
    let server = MariaDb::start();
    let script = ["select repeat('longwire ', 20000)", "select 'short'"];
    let plain = load(&server.url(), &script, &plan(2, 20)).unwrap();
    assert_whole(&plain, 20);
    let separator = if server.url().contains('?') { '&' } else { '?' };
    let url = format!("{}{separator}compress=true", server.url());
    for reconnect in [false, true] {
        let compressed = run(&sql(&url, &script, reconnect), &plan(2, 20)).unwrap();
        assert_whole(&compressed, 20);
        assert!(plain.payload_bytes[Direction::ServerToClient] > 20 * 180_000);
        assert!(
            compressed.payload_bytes[Direction::ServerToClient] < 20 * 10_000,
            "{compressed:?}"
        );
    }
    // Compressed replies are not read: no value can be kept, and no statement number be known.
    let target = Target::parse(&url).unwrap();
    let kept = Scripts::parse(["select 1 as one \\gset"], load::sql::quoting(target.scheme)).unwrap();
    let refused = SqlLoad::new(&target, kept, QueryMode::Simple).err();
    assert_eq!(refused, Some(Error::Compressed));
    let texts = Scripts::parse(["select 1"], load::sql::quoting(target.scheme)).unwrap();
    let refused = SqlLoad::new(&target, texts, QueryMode::Prepared).err();
    assert_eq!(refused, Some(Error::Compressed));
}

#[test]
fn mariadb_runs_a_transaction_once_for_each_operation() {
    let server = MariaDb::start();
    server.sql("create table test.seen (id int, client int)");
    let script = [
        "\\set id random(1, 1000000)",
        "begin",
        "insert into seen values (:id, connection_id())",
        "do sleep(0.02)",
        "commit",
    ];
    let outcome = load(&server.url(), &script, &plan(4, 40)).unwrap();
    assert_whole(&outcome, 40);
    assert!(outcome.measured.unwrap().spread.min >= Some(Duration::from_millis(20)));
    let seen = server.sql("select count(*), count(distinct client) from test.seen");
    assert_eq!(seen.trim(), "40\t4");
    let anew = run(&sql(&server.url(), &["select 1"], true), &plan(2, 10)).unwrap();
    assert_whole(&anew, 10);

    let big = ["select repeat('x', 1000) from seq_1_to_2000", "select 1"];
    assert_whole(&load(&server.url(), &big, &plan(1, 3)).unwrap(), 3);

    let refused = load(&wrong_password(&server.url()), &["select 1"], &plan(1, 1)).unwrap_err();
    let text = refused.to_string();
    assert!(
        text.starts_with("server: login refused: 1045 Access denied for user '"),
        "{text}"
    );
    let failed = load(
        &server.url(),
        &["select 1", "select 'a' from missing"],
        &plan(1, 2),
    )
    .unwrap();
    assert_eq!(
        failed.errors[0].text,
        "server: statement 2 failed: 1146/42S02 Table 'test.missing' doesn't exist"
    );
    let file = load(
        &server.url(),
        &["load data local infile '/etc/hostname' into table seen"],
        &plan(1, 2),
    );
    // The login declares that no file will be sent.
    assert!(
        file.unwrap().errors[0]
            .text
            .starts_with("server: statement 1 failed: 4166")
    );
    assert_eq!(server.sql("select count(*) from test.seen").trim(), "40");
}

#[test]
fn postgres_asks_for_a_password_in_every_way() {
    for auth in [PostgresAuth::Md5, PostgresAuth::ScramSha256] {
        let server = Postgres::options().auth(auth).start();
        assert_whole(&load(&server.url(), &["select 1"], &plan(2, 4)).unwrap(), 4);
        let refused = load(&wrong_password(&server.url()), &["select 1"], &plan(2, 4)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "server: login refused: 28P01 password authentication failed for user \"postgres\""
        );
        let nobody = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port());
        assert_eq!(
            load(&nobody, &["select 1"], &plan(1, 1)),
            Err(Error::Session(SessionError::NoPassword))
        );
    }
}

#[test]
fn results_are_counted_to_their_end_and_statements_that_fail_are_told() {
    let server = Postgres::start();
    server.sql("create table t (id int primary key)");
    let big = [
        "select repeat('x', 1000) from generate_series(1, 5000)",
        "copy t to stdout",
        "select 1; select 2",
    ];
    assert_whole(&load(&server.url(), &big, &plan(1, 3)).unwrap(), 3);

    let twice = [
        "begin",
        "insert into t values (7)",
        "insert into t values (7)",
        "commit",
    ];
    let outcome = load(&server.url(), &twice, &plan(1, 3)).unwrap();
    let errors = &outcome.errors;
    assert_eq!(errors[0].count, 3);
    assert_eq!(
        errors[0].text,
        "server: statement 3 failed: 23505 duplicate key value violates unique constraint \"?\""
    );
    let copy = load(&server.url(), &["copy t from stdin"], &plan(1, 2)).unwrap();
    assert!(
        copy.errors[0]
            .text
            .starts_with("server: statement 1 failed: 57014 COPY from stdin failed")
    );
    assert_eq!(server.sql("select count(*) from t").trim(), "0");

    let mut short = plan(1, 2);
    short.timeout = Duration::from_millis(300);
    let slow = load(&server.url(), &["select pg_sleep(100)"], &short).unwrap();
    assert_eq!(slow.errors[0].text, "server: no complete reply within 0.3 s");
}

#[test]
fn a_server_that_is_killed_is_told() {
    let mut server = Postgres::start();
    let load = sql(&server.url(), &["select pg_sleep(0.01)"], false);
    let control = RunControl::new(&StopToken::never()).unwrap();
    let mut for_a_while = plan(3, 0);
    for_a_while.operations = None;
    for_a_while.duration = Some(Duration::from_secs(3));
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| load::run(&load, &for_a_while, &control, None));
        while control.progress().done < 20 {
            std::thread::sleep(Duration::from_millis(5));
        }
        server.kill();
        run.join().unwrap().unwrap()
    });
    let measured = outcome.measured.unwrap();
    assert!(measured.operations >= 20);
    let texts: Vec<&str> = outcome.errors.iter().map(|error| error.text.as_str()).collect();
    assert!(
        texts.iter().any(|text| text.ends_with("connection refused")),
        "{texts:?}"
    );
    assert!(
        texts
            .iter()
            .any(|text| text.contains("closed before the reply") || text.contains("57P0")),
        "{texts:?}"
    );
    let total: u64 = outcome.errors.iter().map(|error| error.count).sum();
    assert_eq!(measured.errors, total);
}

#[test]
fn what_cannot_be_asked_is_refused_before_anything_is_sent() {
    let script = || Scripts::parse(["select 1"], Quoting::Standard).unwrap();
    let new = |url: &str| SqlLoad::new(&Target::parse(url).unwrap(), script(), QueryMode::Simple).map(|_| ());
    assert_eq!(new("oracle://db/shop"), Err(Error::Scheme { scheme: "oracle" }));
    assert_eq!(new("mysql://db/shop"), Ok(()));
}
