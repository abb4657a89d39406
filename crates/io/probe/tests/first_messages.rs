//! A scripted listener stands in for servers that are not available: it answers with recorded
//! bytes, slowly, in halves, with garbage, or not at all.

use model::Sample;
use probe::ping;
use probe::ping::{Opened, Pace, PingEvent, PingPlan, Question};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;
use sys::StopToken;
use sys::{Clock, Target};
use testbed::Redis;

fn listener(script: impl Fn(TcpStream) + Clone + Send + 'static) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    let port = listener
        .local_addr()
        .expect("a bound socket has an address")
        .port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let script = script.clone();
            std::thread::spawn(move || script(stream));
        }
    });
    port
}

/// Reads one write of the client; returns false at its end.
fn heard(stream: &mut TcpStream) -> bool {
    stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0)
}

fn answering(answer: &'static [u8]) -> u16 {
    listener(move |mut stream| while heard(&mut stream) && stream.write_all(answer).is_ok() {})
}

#[derive(Default, Debug)]
struct Told {
    opened: Vec<Opened>,
    samples: Vec<Sample>,
    failed: Vec<String>,
}

fn ping_target(target: &str, count: u64) -> Told {
    let plan = PingPlan {
        target: Target::parse(target).expect("a target"),
        question: Question::NoLogin,
        pace: Pace::every(Duration::from_millis(1)).expect("a pace"),
        count: Some(count),
        timeout: Duration::from_millis(300),
    };
    let mut told = Told::default();
    let stop = StopToken::never();
    let result = ping::run(&[plan], Clock::anchored_now(), &stop, |_, event| {
        match event {
            PingEvent::Opened(opening) => told.opened.push(opening),
            PingEvent::Sample(sample) => told.samples.push(sample),
            PingEvent::Floor(_) | PingEvent::Caution(_) | PingEvent::Legs { .. } => {}
            PingEvent::Failed(error) => told.failed.push(error.to_string()),
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(()) = result;
    told
}

const REFUSED: &[u8] = b"\0\x67\0\0\x04\0\0\0\x22\0\0\x5b(DESCRIPTION=(TMP=)(VSNNUM=318767104)(ERR=12514)\
    (ERROR_STACK=(ERROR=(CODE=12514)(EMFI=4))))";
const PINGED: &[u8] =
    b"\0\x46\0\0\x04\0\0\0\x22\0\0\x3a(DESCRIPTION=(TMP=)(VSNNUM=387584000)(ERR=0)(ALIAS=LISTENER)) ";
const RESEND: &[u8] = b"\0\x08\0\0\x0b\0\0\0";
/// From MS-TDS, section 4.3.
const PRELOGIN: &[u8] = b"\x04\x01\0\x2b\0\0\x01\0\0\0\x1a\0\x06\x01\0\x20\0\x01\x02\0\x21\0\x01\x03\0\x22\0\0\x04\0\x22\0\x01\xff\
    \x08\0\x01\x55\0\0\x02\0\0";

#[track_caller]
fn answered(told: &Told, turns: u64) {
    assert!(told.failed.is_empty(), "{told:?}");
    assert!(told.samples.len() >= 3, "{told:?}");
    for sample in &told.samples {
        assert_eq!(
            (sample.turns, sample.error.as_deref()),
            (Some(turns), None),
            "{sample:?}"
        );
        assert!(sample.duration.is_some(), "{sample:?}");
    }
}

#[test]
fn a_listener_that_refuses_has_answered() {
    for (answer, version) in [(REFUSED, "19.0.0.0.0"), (PINGED, "23.26.1.0.0")] {
        let told = ping_target(&format!("oracle://127.0.0.1:{}", answering(answer)), 3);
        answered(&told, 1);
        let shown = format!("Oracle Net listener {version}");
        assert_eq!(told.opened[0].version.as_deref(), Some(shown.as_str()));
    }
}

#[test]
fn a_listener_that_wants_it_again_costs_a_second_turn() {
    let port = listener(|mut stream| {
        for answer in [RESEND, REFUSED] {
            if heard(&mut stream) {
                stream.write_all(answer).ok();
            }
        }
    });
    answered(&ping_target(&format!("oracle://127.0.0.1:{port}"), 3), 2);
}

#[test]
fn a_listener_that_wants_it_again_for_ever_is_given_up() {
    let told = ping_target(&format!("oracle://127.0.0.1:{}", answering(RESEND)), 2);
    assert!(
        told.failed[0].contains("a listener's answer to CONNECT"),
        "{told:?}"
    );
    assert!(told.samples.is_empty(), "{told:?}");
}

#[test]
fn a_slow_answer_in_halves_is_whole_at_its_end() {
    let port = listener(|mut stream| {
        if heard(&mut stream) {
            for half in REFUSED.chunks(50) {
                std::thread::sleep(Duration::from_millis(20));
                stream.write_all(half).ok();
            }
        }
    });
    let told = ping_target(&format!("oracle://127.0.0.1:{port}"), 3);
    answered(&told, 1);
    for sample in &told.samples {
        assert!(sample.duration >= Some(Duration::from_millis(40)), "{sample:?}");
    }
}

#[test]
fn silence_is_lost_and_garbage_is_told() {
    for scheme in ["oracle", "sqlserver", "redis"] {
        let silent = listener(|mut stream| while heard(&mut stream) {});
        let told = ping_target(&format!("{scheme}://127.0.0.1:{silent}"), 1);
        assert!(
            told.samples.iter().all(|sample| sample.duration.is_none()),
            "{told:?}"
        );
        for (garbage, words) in [
            (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "it speaks http, not"),
            (&b"\x7fnobody speaks so\r\n\r\n"[..], "its answer is not"),
        ] {
            let garbage = answering(garbage);
            let told = ping_target(&format!("{scheme}://127.0.0.1:{garbage}"), 1);
            let errors: Vec<&str> = told
                .failed
                .iter()
                .map(String::as_str)
                .chain(told.samples.iter().filter_map(|sample| sample.error.as_deref()))
                .collect();
            assert!(
                errors.iter().any(|error| error.contains(words)),
                "{scheme}: {told:?}"
            );
        }
    }
}

#[test]
fn a_sql_server_tells_its_version_before_anybody_logs_in() {
    let told = ping_target(&format!("sqlserver://127.0.0.1:{}", answering(PRELOGIN)), 3);
    answered(&told, 1);
    assert_eq!(told.opened[0].version.as_deref(), Some("SQL Server 8.0.341"));
}

#[test]
fn redis_answers_whether_it_knows_the_client_or_not() {
    for server in [Redis::start(), Redis::start_with_password()] {
        answered(&ping_target(&server.url(), 5), 1);
    }
}
