use super::*;

fn sample(target: &str, round_trip: u64, more: &str) -> String {
    format!(
        r#"{{"type":"sample","schema":1,"number":1,"target":"{target}","at_ns":1,"duration_ns":9,"round_trip_ns":{round_trip}{more}}}"#
    )
}

fn echo(bytes: u64, streams: u64, median: u64) -> String {
    format!(
        r#"{{"type":"echo","schema":1,"request_bytes":{bytes},"reply_bytes":16,"streams":{streams},"p50_ns":{median}}}"#
    )
}

fn link(lines: &[String]) -> Result<String, String> {
    Ok(MeasuredLink::parse(&lines.join("\n"))?.link()?.to_string())
}

/// Excludes first, failed and unanswered samples.
#[test]
fn pings_give_their_median() {
    let first = sample("a", 90_000_000, r#","first":true"#);
    let failed = sample("a", 80_000_000, r#","first":false,"error":"refused""#);
    let lost = r#"{"type":"sample","target":"a","first":false,"error":"timeout"}"#.to_owned();
    let answered = [5, 6, 7].map(|time| sample("a", time * 1_000_000, r#","first":false"#));
    let mut lines = vec![
        r#"{"type":"conditions","schema":1}"#.to_owned(),
        first,
        failed,
        lost,
    ];
    lines.extend(answered);
    assert_eq!(link(&lines), Ok("rtt=6ms".to_owned()));
}

/// The smallest messages on one stream show the distance: others wait for bytes and for each other.
#[test]
fn an_echo_gives_the_median_of_its_smallest_messages_on_one_stream() {
    let lines = [
        echo(4096, 1, 9_000_000),
        echo(16, 64, 8_000_000),
        echo(16, 1, 5_000_000),
    ];
    assert_eq!(link(&lines), Ok("rtt=5ms".to_owned()));
    assert!(link(&lines[1..2]).is_err(), "64 streams wait for each other");
}

#[test]
fn rates_of_echo_are_those_of_each_direction() {
    let bulk = |direction: &str, rate: u64| {
        format!(
            r#"{{"type":"bulk","direction":"{direction}","rate_bits_per_second":{rate},"idle_p50_ns":4000000}}"#
        )
    };
    let lines = [
        bulk("client_to_server", 10_000_000),
        bulk("server_to_client", 100_000_000),
    ];
    assert_eq!(link(&lines), Ok("rtt=4ms rate=10mbit/100mbit".to_owned()));
}

#[test]
fn what_is_no_measurement_of_one_link_is_said() {
    let plain = |target: &str| sample(target, 1_000_000, r#","first":false"#);
    let cases = [
        (
            vec!["64 bytes from 10.0.0.1: time=5 ms".to_owned()],
            "line 1 is not a record",
        ),
        (
            vec![plain("a"), plain("b")],
            "line 2: these are pings of several targets",
        ),
        (
            vec![plain("a"), plain("a"), echo(16, 1, 5)],
            "this has round trips of both",
        ),
        (
            vec![r#"{"type":"conditions"}"#.to_owned()],
            "this has no round-trip time",
        ),
    ];
    for (lines, said) in cases {
        let fault = link(&lines).expect_err(said);
        assert!(fault.starts_with(said), "{fault}");
    }
    let far = [
        sample("a", u64::MAX, r#","first":false"#),
        sample("a", u64::MAX, r#","first":false"#),
    ];
    assert!(link(&far).is_err(), "{far:?}");
}
