//! Oracle's own driver against a scripted listener, since no database is available. Only with the
//! feature `oracle`.

use client::session::oracle::OracleSession;
use client::session::{SessionError, SessionOptions};
use probe::ping;
use probe::ping::{Pace, PingEvent, PingPlan, Question};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::{Clock, Target};

fn listener(script: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    let port = listener
        .local_addr()
        .expect("a bound socket has an address")
        .port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(script));
    port
}

fn heard(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let count = stream.read(&mut bytes).unwrap_or(0);
    bytes.truncate(count);
    bytes
}

fn answering(answers: &'static [&'static [u8]]) -> u16 {
    listener(move |mut stream| {
        for answer in answers {
            assert_eq!(heard(&mut stream).get(4), Some(&1), "CONNECT");
            stream.write_all(answer).expect("the client is there");
        }
    })
}

fn open(port: u16, stop: &StopToken) -> SessionError {
    let target = format!("oracle://scott:s3cret-tiger@127.0.0.1:{port}/ORCLPDB1");
    let options = SessionOptions {
        timeout: Duration::from_millis(500),
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

const REFUSED: &[u8] = b"\0\x67\0\0\x04\0\0\0\x22\0\0\x5b(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR=12514)\
    (ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
const RESEND: &[u8] = b"\0\x08\0\0\x0b\0\0\0";

#[test]
fn an_unknown_service_is_told() {
    for answers in [&[REFUSED][..], &[RESEND, REFUSED]] {
        let error = fails(answering(answers));
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
    let text = b"(ADDRESS=(PROTOCOL=tcp)(HOST=node2)(PORT=1522))\0(DESCRIPTION=)";
    let length = u8::try_from(text.len()).expect("short");
    let redirect: &'static [u8] = [&[0, 10 + length, 0, 0, 5, 0, 0, 0, 0, length], &text[..]]
        .concat()
        .leak();
    let answers: &'static [&'static [u8]] = vec![redirect].leak();
    let error = fails(answering(answers));
    assert_eq!(
        error,
        SessionError::Redirected {
            to: Some("node2:1522".to_owned())
        }
    );
}

#[test]
fn a_silent_listener_is_given_up_in_time() {
    let silent = listener(|mut stream| while !heard(&mut stream).is_empty() {});
    let began = Instant::now();
    let error = fails(silent);
    assert!(matches!(error, SessionError::TimedOut { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn waiting_can_be_ended() {
    let silent = listener(|mut stream| while !heard(&mut stream).is_empty() {});
    let stop = StopToken::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.stop();
        });
        assert_eq!(open(silent, &stop), SessionError::Stopped);
    });
}

#[test]
fn a_connection_that_ends_is_told() {
    let closing = listener(|mut stream| drop(heard(&mut stream)));
    assert_eq!(fails(closing), SessionError::Closed);
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
        let port = listener(move |mut stream| {
            heard(&mut stream);
            stream.write_all(garbage).ok();
        });
        fails(port);
    }
}

#[test]
fn a_target_without_a_password_is_told() {
    let stop = StopToken::new().unwrap();
    let port = answering(&[REFUSED]);
    let target = Target::parse(&format!("oracle://127.0.0.1:{port}/x")).expect("a target");
    let error = OracleSession::open(&target, SessionOptions::new(&stop)).expect_err("there is no login");
    assert_eq!(error, SessionError::NoPassword);
}

#[test]
fn a_ping_that_logs_in_tells_why_it_cannot() {
    let port = answering(&[REFUSED]);
    let target = format!("oracle://scott:s3cret-tiger@127.0.0.1:{port}/ORCLPDB1");
    let plan = PingPlan {
        target: Target::parse(&target).expect("a target"),
        question: Question::Statement {
            sql: None,
            prepared: false,
        },
        pace: Pace::every(Duration::from_millis(1)).expect("a pace"),
        count: Some(1),
        timeout: Duration::from_millis(500),
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
