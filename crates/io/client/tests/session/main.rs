//! Sessions over various sockets, and errors of opening them.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod failures;
mod hostile;

use client::session::{Session, SessionError, SessionOptions};
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use testbed::{MariaDb, Postgres, Redis};

static NEVER: StopToken = StopToken::never();
const WITHIN: Duration = Duration::from_secs(20);

fn open(url: &str) -> Result<Session<'static>, SessionError> {
    open_within(url, WITHIN)
}

fn open_within(url: &str, timeout: Duration) -> Result<Session<'static>, SessionError> {
    let options = SessionOptions {
        timeout,
        ..SessionOptions::new(&NEVER)
    };
    Session::open(&Target::parse(url).unwrap(), options)
}

fn refused(url: &str) -> SessionError {
    match open(url) {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

#[test]
fn rows_are_read_over_tcp_and_over_a_socket_of_the_machine() {
    let server = Postgres::start();
    let directory = server.socket_directory().display().to_string();
    let socket = format!(
        "host={directory} port={} user=postgres dbname=postgres",
        server.port()
    );
    for url in [server.url(), socket] {
        let mut session = open(&url).unwrap();
        let rows = session
            .query(
                "select 1 as one, null as nothing, 'x' as text union all select 2, null, ''",
                WITHIN,
            )
            .unwrap();
        assert_eq!(rows.columns, ["one", "nothing", "text"]);
        let text = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(rows.rows[0], [text("1"), None, text("x")]);
        assert_eq!(rows.rows[1], [text("2"), None, text("")]);
        assert_eq!(
            (rows.reply.rows, rows.reply.turns, rows.first()),
            (2, 1, Some("1"))
        );
        assert!(session.server_version().unwrap().starts_with(char::is_numeric));
        let failed = session.query("select 'secret' from missing", WITHIN).unwrap();
        let error = failed.reply.error.unwrap();
        assert_eq!(
            (error.code.as_str(), error.text.contains("secret")),
            ("42P01", false)
        );
        let long = session.query("select repeat('x', 2000000)", WITHIN);
        assert!(matches!(long, Err(SessionError::TooLong { .. })), "{long:?}");
    }
}

#[test]
fn mariadb_over_a_socket_of_the_machine() {
    let server = MariaDb::start();
    let url = server.url();
    let (credentials, _) = url.split_once('@').unwrap();
    let socket = format!("{credentials}@/test?socket={}", server.socket().display());
    for url in [url.clone(), socket] {
        let mut session = open(&url).unwrap();
        let names: Vec<_> = session.legs().iter().map(|leg| leg.name.to_string()).collect();
        assert_eq!(session.server().is_some(), names[0] == "tcp", "{names:?}");
        assert_eq!(session.kernel().is_some(), names[0] == "tcp");
        let rows = session.query("select 1 as one, null as nothing", WITHIN).unwrap();
        assert_eq!((rows.columns.len(), rows.first()), (2, Some("1")));
        assert_eq!(rows.rows[0][1], None);
        session.close();
    }
}

#[test]
fn redis_asks_for_its_password() {
    let server = Redis::start();
    let mut session = open(&format!("{}/2", server.url())).unwrap();
    let reply = session.exchange(wire::redis::PING, WITHIN).unwrap();
    assert_eq!((reply.turns, reply.error), (1, None));
    assert_eq!(session.query("select 1", WITHIN), Err(SessionError::NoSql));
}

#[test]
fn a_session_that_spins_answers_the_same() {
    let server = Postgres::start();
    let options = SessionOptions {
        spin: true,
        ..SessionOptions::new(&NEVER)
    };
    let mut session = Session::open(&Target::parse(&server.url()).unwrap(), options).unwrap();
    assert_eq!(session.query("select 7", WITHIN).unwrap().first(), Some("7"));
}
