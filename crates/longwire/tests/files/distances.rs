//! The distances that longwire chooses itself are the same everywhere.

use serde_json::Value;
use std::collections::BTreeSet;
use testbed::binary::{done, of_type, records, run};

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/captures/pgjdbc4274-pg15-trust.pcap"
);

/// Round-trip times in milliseconds.
fn rtts(records: &[Value], kind: &str, key: fn(&Value) -> Option<u64>) -> BTreeSet<u64> {
    let found = of_type(records, kind).into_iter().filter_map(key);
    found.map(|rtt| rtt / 1_000_000).collect()
}

#[test]
fn read_and_predict_choose_the_same_distances() {
    for command in [&["read", "--json", CAPTURE][..], &["predict", "--json", CAPTURE]] {
        let output = run(command);
        done(&output);
        let predicted = rtts(&records(&output), "prediction", |record| {
            record["rtt_ns"].as_u64()
        });
        assert_eq!(Vec::from_iter(predicted), [10, 40, 120], "{command:?}");
    }
}

#[test]
fn findings_have_a_price_at_the_middle_one() {
    let priced = rtts(
        &records(&run(&["read", "--json", CAPTURE])),
        "finding",
        |record| record["rtt_ns"].as_u64(),
    );
    assert_eq!(Vec::from_iter(priced), [40]);
}
