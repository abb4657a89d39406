//! A scripted server stands in for servers that are not available: it answers as they do, slowly, in
//! halves, with garbage, or not at all.

use model::Sample;
use probe::ping;
use probe::ping::{Opened, Pace, PingEvent, PingPlan, Question};
use std::time::Duration;
use sys::StopToken;
use sys::{Clock, Target};
use testbed::script::{Message, tds, tns};
use testbed::{Redis, Script, ScriptedServer};
use wire::http2::{SETTINGS, SETTINGS_ACK};

/// Answers each of the first messages of any number of connections.
fn answering(script: Script, request: &str, answer: Message) -> ScriptedServer {
    script.expect(request).send(answer).again().start_for_all()
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
        timeout: Duration::from_secs(1),
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
    let pinged = tns::refuse("(DESCRIPTION=(TMP=)(VSNNUM=387584000)(ERR=0)(ALIAS=LISTENER)) ");
    for (answer, version) in [(tns::refuse_service(), "19.0.0.0.0"), (pinged, "23.26.1.0.0")] {
        let server = answering(Script::tns(), "CONNECT", answer);
        let told = ping_target(&format!("oracle://127.0.0.1:{}", server.port()), 3);
        answered(&told, 1);
        let shown = format!("Oracle Net listener {version}");
        assert_eq!(told.opened[0].version.as_deref(), Some(shown.as_str()));
    }
}

#[test]
fn a_listener_that_wants_it_again_costs_a_second_turn() {
    let server = Script::tns()
        .expect("CONNECT")
        .send(tns::resend())
        .expect("CONNECT")
        .send(tns::refuse_service())
        .start_for_all();
    let told = ping_target(&format!("oracle://127.0.0.1:{}", server.port()), 3);
    answered(&told, 2);
}

#[test]
fn a_listener_that_wants_it_again_for_ever_is_given_up() {
    let server = answering(Script::tns(), "CONNECT", tns::resend());
    let told = ping_target(&format!("oracle://127.0.0.1:{}", server.port()), 2);
    assert!(
        told.failed[0].contains("a listener's answer to CONNECT"),
        "{told:?}"
    );
    assert!(told.samples.is_empty(), "{told:?}");
}

#[test]
fn a_slow_answer_in_halves_is_whole_at_its_end() {
    let mut script = Script::tns().expect("CONNECT");
    for half in tns::refuse_service().bytes.chunks(50) {
        script = script.pause(Duration::from_millis(20)).send_bytes(half);
    }
    let server = script.start_for_all();
    let told = ping_target(&format!("oracle://127.0.0.1:{}", server.port()), 3);
    answered(&told, 1);
    for sample in &told.samples {
        assert!(sample.duration >= Some(Duration::from_millis(40)), "{sample:?}");
    }
}

#[test]
fn silence_is_lost_and_garbage_is_told() {
    for scheme in ["oracle", "sqlserver", "redis", "http2"] {
        let silent = Script::any_protocol().expect("bytes").start_for_all();
        let told = ping_target(&format!("{scheme}://127.0.0.1:{}", silent.port()), 1);
        assert!(
            told.samples.iter().all(|sample| sample.duration.is_none()),
            "{told:?}"
        );
        for (garbage, words) in [
            (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "it speaks http, not"),
            (&b"\x7fnobody speaks so\r\n\r\n"[..], "its answer is not"),
        ] {
            let script = Script::any_protocol().expect("bytes").send_bytes(garbage);
            let server = script.again().start_for_all();
            let told = ping_target(&format!("{scheme}://127.0.0.1:{}", server.port()), 1);
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
fn settings_without_an_acknowledgement_are_lost() {
    let opening = || Script::any_protocol().expect("bytes");
    let acknowledged = [SETTINGS.as_slice(), SETTINGS_ACK].concat();
    let silent = opening().send_bytes(SETTINGS);
    let closing = opening().send_bytes(&acknowledged).close();
    for (script, opened) in [(silent, 0), (closing, 1)] {
        let server = script.start_for_all();
        let told = ping_target(&format!("grpc://127.0.0.1:{}", server.port()), 1);
        assert_eq!((told.opened.len(), told.failed.len()), (opened, 0), "{told:?}");
        let is_lost = |sample: &Sample| sample.duration.is_none() && sample.error.is_some();
        assert!(
            !told.samples.is_empty() && told.samples.iter().all(is_lost),
            "{told:?}"
        );
    }
}

#[test]
fn a_server_that_ends_the_connection_says_why() {
    let go_away = [SETTINGS, &b"\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b"[..]].concat();
    let script = Script::any_protocol().expect("bytes").send_bytes(&go_away);
    let server = script.start_for_all();
    let told = ping_target(&format!("http2://127.0.0.1:{}", server.port()), 1);
    assert!(
        told.failed[0].contains("GOAWAY 11, ENHANCE_YOUR_CALM"),
        "{told:?}"
    );
}

#[test]
fn a_sql_server_tells_its_version_before_anybody_logs_in() {
    let server = answering(Script::tds(), "PreLogin", tds::prelogin());
    let told = ping_target(&format!("sqlserver://127.0.0.1:{}", server.port()), 3);
    answered(&told, 1);
    assert_eq!(told.opened[0].version.as_deref(), Some("SQL Server 8.0.341"));
}

#[test]
fn redis_answers_whether_it_knows_the_client_or_not() {
    for server in [Redis::start(), Redis::start_with_password()] {
        answered(&ping_target(&server.url(), 5), 1);
    }
}

#[test]
fn a_handshake_lasts_until_the_kernel_had_the_answer_not_until_this_process_woke_up() {
    let server = sys::listening::on_loopback().expect("a port");
    let address = server.local_addr().expect("its address");
    let told = ping_target(&format!("tcp://{address}"), 20);
    answered(&told, 1);
    for sample in &told.samples {
        assert_eq!(sample.duration, sample.kernel_rtt, "{sample:?}");
    }
}
