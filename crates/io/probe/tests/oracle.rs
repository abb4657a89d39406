//! Oracle's own driver against a scripted listener, since no database is available. Only with the
//! feature `oracle`.

use client::session::oracle::OracleSession;
use client::session::{SessionError, SessionOptions};
use probe::ping;
use probe::ping::{Pace, PingEvent, PingPlan, Question};
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::{Clock, Target};
use testbed::script::{Message, tns};
use testbed::{Script, ScriptedServer};

const TIMEOUT: Duration = Duration::from_secs(2);

fn answering(answers: &[Message]) -> ScriptedServer {
    let mut script = Script::tns();
    for answer in answers {
        script = script.expect("CONNECT").send(answer.clone());
    }
    script.start()
}

fn silent() -> ScriptedServer {
    Script::tns().expect("CONNECT").start()
}

fn open(port: u16, stop: &StopToken) -> SessionError {
    let target = format!("oracle://scott:s3cret-tiger@127.0.0.1:{port}/ORCLPDB1");
    let options = SessionOptions {
        timeout: TIMEOUT,
        ..SessionOptions::new(stop)
    };
    let target = Target::parse(&target).expect("a target");
    let error = OracleSession::open(&target, options).expect_err("there is no login");
    let told = format!("{error} {error:?} {:?}", error.hint());
    assert!(!told.contains("s3cret"), "{told}");
    error
}

fn fails(port: u16) -> SessionError {
    open(port, &StopToken::never())
}

#[test]
fn an_unknown_service_is_told() {
    let refused = tns::refuse_service;
    for answers in [vec![refused()], vec![tns::resend(), refused()]] {
        let error = fails(answering(&answers).port());
        assert!(
            matches!(&error, SessionError::Login { code, .. } if code == "ORA-12514"),
            "{error:?}"
        );
        assert!(
            error.hint().is_some_and(|hint| hint.contains("lsnrctl")),
            "{error:?}"
        );
    }
}

#[test]
fn a_redirection_is_told_and_not_followed() {
    let redirect = tns::redirect("(ADDRESS=(PROTOCOL=tcp)(HOST=node2)(PORT=1522))\0(DESCRIPTION=)");
    let error = fails(answering(&[redirect]).port());
    assert_eq!(
        error,
        SessionError::Redirected {
            to: Some("node2:1522".to_owned())
        }
    );
}

#[test]
fn a_silent_listener_is_given_up_in_time() {
    let silent = silent();
    let began = Instant::now();
    let error = fails(silent.port());
    assert!(matches!(error, SessionError::TimedOut { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn waiting_can_be_ended() {
    let silent = silent();
    let stop = StopToken::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.stop();
        });
        assert_eq!(open(silent.port(), &stop), SessionError::Stopped);
    });
}

#[test]
fn a_connection_that_ends_is_told() {
    let closing = Script::tns().expect("CONNECT").close().start();
    assert_eq!(fails(closing.port()), SessionError::Closed);
    let refused = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a free port");
    let error = fails(refused.port());
    assert!(matches!(error, SessionError::Connect(_)), "{error:?}");
}

#[test]
fn garbage_ends_in_an_error() {
    for garbage in [
        &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
        b"\0\x08\0\0\x06\0\0\0",
        b"\0\x20\0\0\x02\0\0\0\x01\x3f",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\0\0\0\0\0\0\0\0",
    ] {
        let script = Script::tns().expect("CONNECT").send_bytes(garbage);
        fails(script.close().start().port());
    }
}

#[test]
fn a_target_without_a_password_is_told() {
    let stop = StopToken::new().unwrap();
    let server = Script::tns().start();
    let target = Target::parse(&format!("oracle://127.0.0.1:{}/x", server.port())).expect("a target");
    let error = OracleSession::open(&target, SessionOptions::new(&stop)).expect_err("there is no login");
    assert_eq!(error, SessionError::NoPassword);
}

#[test]
fn a_ping_that_logs_in_tells_why_it_cannot() {
    let server = answering(&[tns::refuse_service()]);
    let port = server.port();
    let target = format!("oracle://scott:s3cret-tiger@127.0.0.1:{port}/ORCLPDB1");
    let plan = PingPlan {
        target: Target::parse(&target).expect("a target"),
        question: Question::Statement {
            sql: None,
            prepared: false,
        },
        pace: Pace::every(Duration::from_millis(1)).expect("a pace"),
        count: Some(1),
        timeout: TIMEOUT,
    };
    let mut failed = Vec::new();
    let stop = StopToken::new().unwrap();
    let result = ping::run(&[plan], Clock::anchored_now(), &stop, |_, event| {
        if let PingEvent::Failed(error) = event {
            failed.push(error.to_string());
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(()) = result;
    assert_eq!(
        failed,
        ["server: login refused: ORA-12514 the listener does not know the service"]
    );
}
