//! No lost packet makes a budget kept that is exceeded.

use super::captures::{Capture, read_capture};
use std::path::Path;
use testbed::binary;

/// 5 writes and 15 reads of a table, one after the other: 20 round trips.
fn store_loop() -> Capture {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/evidence");
    read_capture(&folder.join("store-loop.pcap.gz"))
}

fn check(bytes: &[u8], budget: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("lost.pcap");
    std::fs::write(&file, bytes).expect("a written capture");
    let output = binary::run(&[&["check", &file.display().to_string()], budget].concat());
    (output.status.code(), binary::unwrapped(&binary::stdout(&output)))
}

#[test]
fn a_loop_is_found_or_not_judged_without_any_one_of_its_packets() {
    let capture = store_loop();
    let forbidden = ["--forbid", "n+1"];
    assert_eq!(check(&capture.bytes(), &forbidden).0, Some(1));
    let mut not_judged = 0;
    for lost in capture.payload_packets() {
        let (status, said) = check(&capture.without(lost.packet), &forbidden);
        assert!(
            matches!(status, Some(1 | 2)),
            "without packet {}: {said}",
            lost.packet + 1
        );
        not_judged += usize::from(status == Some(2));
    }
    assert!((1..10).contains(&not_judged), "{not_judged} times");
    let (_, said) = check(&capture.without(72), &forbidden);
    assert!(
        said.contains("packets with requests were not captured in 1 of 1 operation"),
        "{said}"
    );
}

#[test]
fn round_trips_are_not_judged_where_requests_were_lost() {
    let capture = store_loop();
    let budgets = ["--max-round-trips", "15"];
    assert_eq!(check(&capture.bytes(), &budgets).0, Some(1));
    let (status, said) = check(&capture.without_those(|number| number % 3 == 0), &budgets);
    assert_eq!(status, Some(2), "{said}");
    let allowed = ["--max-round-trips", "15", "--allow-unseen"];
    let (status, said) = check(&capture.without_those(|number| number % 3 == 0), &allowed);
    assert_eq!(status, Some(0), "{said}");
    // The end of one request's body: no round trip can hide there.
    assert_eq!(
        check(&capture.without(72), &["--max-round-trips", "20"]).0,
        Some(0)
    );
}

#[test]
fn a_request_without_its_reply_is_still_its_store_s() {
    let (status, said) = check(&store_loop().without(26), &["--max-round-trips", "19"]);
    assert_eq!(status, Some(1), "{said}");
}
