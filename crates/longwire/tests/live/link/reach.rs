//! Reachability and timing for a command behind a link.

use crate::link::run::{closed_port, ends, link, mirror, numbers, timed};
use std::time::Duration;
use testbed::binary::program;
use testbed::floor::told_on_failure;

#[test]
#[ignore = "timing: make test runs it alone"]
fn the_gateway_is_this_system_one_round_trip_away() {
    let _floor = told_on_failure();
    let port = mirror(1, 6);
    let connect = timed(&format!("exec 3<>/dev/tcp/$LONGWIRE_GATEWAY/{port}"));
    let exchange = timed("echo hello >&3; read -r line <&3; [ $line = hello ]");
    let printed = ends(
        link(
            &["rtt=60ms"],
            &format!("{connect}; {exchange}; echo $LONGWIRE_LINK"),
        ),
        0,
    );
    let lines: Vec<&str> = printed.lines().collect();
    for line in &lines[..2] {
        let [milliseconds, status] = numbers(line)[..] else {
            panic!("{printed}")
        };
        assert!((59..1000).contains(&milliseconds) && status == 0, "{printed}");
    }
    assert_eq!(lines[2], "rtt=60ms");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_forwarded_port_is_this_systems_and_the_handshake_takes_the_link_too() {
    let _floor = told_on_failure();
    let port = mirror(2, 6);
    let forward = format!("{port}:7001");
    let port = port.to_string();
    let script = ["7001", &port].map(|port| {
        format!(
            "{}; {}",
            timed(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")),
            timed("echo hello >&3; read -r line <&3; [ $line = hello ]")
        )
    });
    let arguments = ["rtt=60ms", "--forward", &forward, "--forward", &port];
    let printed = ends(link(&arguments, &script.join("; ")), 0);
    assert_eq!(printed.lines().count(), 4, "{printed}");
    for line in printed.lines() {
        let [milliseconds, status] = numbers(line)[..] else {
            panic!("{printed}")
        };
        assert!((59..1000).contains(&milliseconds) && status == 0, "{printed}");
    }
}

#[test]
fn other_ports_of_127_0_0_1_stay_inside() {
    let port = mirror(1, 6);
    let forward = closed_port().to_string();
    let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; echo $?");
    assert_eq!(
        ends(link(&["rtt=1ms", "--forward", &forward], &script), 0).trim(),
        "1"
    );
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_refusal_comes_after_one_round_trip() {
    let _floor = told_on_failure();
    let port = closed_port();
    let forward = port.to_string();
    let attempt = |to: &str| timed(&format!("(exec 3<>/dev/tcp/{to}/{port}) 2>/dev/null"));
    let script = format!("{}; {}", attempt("$LONGWIRE_GATEWAY"), attempt("127.0.0.1"));
    let printed = ends(link(&["rtt=60ms", "--forward", &forward], &script), 0);
    for line in printed.lines() {
        let [milliseconds, status] = numbers(line)[..] else {
            panic!("{printed}")
        };
        assert!((59..1000).contains(&milliseconds) && status == 1, "{printed}");
    }
}

#[test]
fn every_byte_arrives_through_rate_queue_and_loss() {
    const BYTES: usize = 3_000_000;
    let port = mirror(1, BYTES);
    let directory = tempfile::tempdir().expect("a directory");
    let script = format!(
        "cd {} && head -c {BYTES} /dev/urandom >sent && exec 3<>/dev/tcp/$LONGWIRE_GATEWAY/{port} && \
         (cat sent >&3 &) && cat <&3 >received && cmp sent received && echo same",
        directory.path().display()
    );
    let printed = ends(link(&["rtt=6ms rate=40mbit queue=64KiB loss=0.5%"], &script), 0);
    assert_eq!(printed.trim(), "same");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn nested_links_add_up() {
    let _floor = told_on_failure();
    let port = mirror(1, 6);
    let port_text = port.to_string();
    let inner = format!(
        "{}; {}",
        timed(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")),
        timed("echo hello >&3; read -r line <&3; [ $line = hello ]")
    );
    let longwire = program().display().to_string();
    let script =
        format!("{longwire} link rtt=20ms --forward {port} -- bash -c '{inner}'; echo $LONGWIRE_GATEWAY");
    let printed = ends(link(&["rtt=40ms", "--forward", &port_text], &script), 0);
    let lines: Vec<&str> = printed.lines().collect();
    for line in &lines[..2] {
        let [milliseconds, status] = numbers(line)[..] else {
            panic!("{printed}")
        };
        assert!((59..1000).contains(&milliseconds) && status == 0, "{printed}");
    }
}

#[test]
fn the_kernel_at_the_far_end_answers_pings_and_nobody_answers_for_others() {
    let ping = testbed::require("ping");
    let ping = ping.display();
    // Without -w, ping waits two round trips for the last reply, too short on a busy machine.
    let script = format!("{ping} -c 3 -i 0.5 -w 10 -q $LONGWIRE_GATEWAY; {ping} -c 1 -W 1 -q 192.0.2.1");
    let printed = ends(link(&["rtt=30ms"], &script), 1);
    assert!(
        printed.contains("3 received") && printed.contains("0 received"),
        "{printed}"
    );
    let least = printed.split("= ").nth(1).and_then(|text| text.split('/').next());
    let least: f64 = least.and_then(|text| text.parse().ok()).expect("ping's summary");
    assert!(least >= 29.0, "{printed}");
}

#[test]
fn names_are_known_inside() {
    // Names from the system's own files, and a configured resolver, which may not answer here.
    let script = "getent hosts localhost >/dev/null && grep -c nameserver /etc/resolv.conf";
    let servers: u32 = ends(link(&["rtt=1ms"], script), 0)
        .trim()
        .parse()
        .expect("a count");
    assert!(servers >= 1);
}

#[test]
fn it_tells_what_was_realised_as_text_records_and_capture() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let capture = path("link.pcap");
    let ping = testbed::require("ping");
    let script = format!("{} -c 5 -i 0.5 -w 10 -q $LONGWIRE_GATEWAY", ping.display());
    let arguments = ["rtt=20ms rate=1mbit", "--json", "--capture", &capture];
    let output = link(&arguments, &script)
        .output()
        .expect("longwire can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("rtt=20ms rate=1mbit") && said.contains("floor"),
        "{said}"
    );
    let records = String::from_utf8_lossy(&output.stdout);
    let records: Vec<serde_json::Value> = records
        .lines()
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect();
    let types: Vec<&str> = records
        .iter()
        .filter_map(|record| record["type"].as_str())
        .collect();
    assert_eq!(
        (types[0], types[1], types.last().copied()),
        ("conditions", "link", Some("summary"))
    );
    assert_eq!(records[0]["link"], "rtt=20ms rate=1mbit");
    assert_eq!(records[1]["client_packets"], 5);
    assert_eq!(records[1]["client_dropped_unasked"], 0);
    assert!(
        records[1]["rtt_error_p50_ns"]
            .as_i64()
            .is_some_and(|error| error >= 0)
    );
    // Ten packets of 84 bytes with headers of 16, plus the file header of 24.
    assert_eq!(
        std::fs::metadata(capture).expect("the capture").len(),
        24 + 10 * 100
    );
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_slow_link_takes_its_time() {
    let _floor = told_on_failure();
    let port = mirror(1, 20_000);
    // 20,000 bytes and 14 packet headers at 20,000 byte/s, each way.
    let work = timed(&format!(
        "exec 3<>/dev/tcp/$LONGWIRE_GATEWAY/{port}; head -c 20000 /dev/zero >&3; cat <&3 >/dev/null"
    ));
    let printed = ends(link(&["rate=160kbit"], &work), 0);
    let [milliseconds, 0] = numbers(&printed)[..] else {
        panic!("{printed}")
    };
    let span = Duration::from_millis(milliseconds);
    assert!(
        span >= Duration::from_millis(2000) && span < Duration::from_secs(6),
        "{span:?}"
    );
}
