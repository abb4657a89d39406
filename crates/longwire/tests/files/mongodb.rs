//! MongoDB as tshark 4.0 counts it: messages made by hand that no server of the tests sends, and a
//! login with SCRAM (PyMongo 4.10, FerretDB 1.24).

use serde_json::Value;
use std::path::Path;
use testbed::binary::{done, number, of_type, records, run};

fn path(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mongodb");
    folder.join(name).display().to_string()
}

fn read(name: &str) -> Vec<Value> {
    let output = run(&["read", "--json", "--exchanges", &path(name)]);
    done(&output);
    records(&output)
}

fn of_connection(records: &[Value], connection: usize) -> Vec<&Value> {
    let exchanges = of_type(records, "exchange").into_iter();
    exchanges
        .filter(|exchange| exchange["connection"] == connection && exchange["phase"] != "connect")
        .collect()
}

/// Requests, their bytes, replies, their bytes (`tshark -d tcp.port==27017,mongo`). tshark calls
/// messages with a checksum malformed behind it, and does not know Zstandard.
#[test]
fn messages_made_by_hand_are_as_many_as_tshark_counts() {
    let read = read("by-hand.pcap");
    for (connection, (name, counts)) in [
        ("OP_QUERY, OP_GET_MORE, OP_INSERT", [4, 306, 3, 198]),
        ("exhaustAllowed, moreToCome", [5, 400, 6, 574]),
        ("checksumPresent", [5, 419, 5, 467]),
        ("snappy", [6, 658, 6, 707]),
        ("zlib", [6, 575, 6, 613]),
        ("zstd", [6, 577, 6, 658]),
    ]
    .into_iter()
    .enumerate()
    {
        let exchanges = of_connection(&read, connection);
        let keys = [
            "request_messages",
            "request_bytes",
            "reply_messages",
            "reply_bytes",
        ];
        let found = keys.map(|key| exchanges.iter().map(|one| number(one, key)).sum::<u64>());
        assert_eq!(found, counts, "{name}");
        let documents = exchanges
            .iter()
            .filter_map(|one| one["rows"].as_u64())
            .sum::<u64>();
        assert_eq!(documents, [0, 5, 5, 9, 9, 9][connection], "{name}");
    }
}

/// The first `hello` begins SCRAM, two `saslContinue` end it.
#[test]
fn a_login_with_scram_is_three_round_trips_and_shows_nothing() {
    let read = read("scram.pcap");
    let logins: Vec<usize> = [0, 1]
        .map(|connection| {
            let exchanges = of_connection(&read, connection).into_iter();
            exchanges.filter(|one| one["phase"] == "login").count()
        })
        .to_vec();
    assert_eq!(logins, [1, 3], "one connection watches the server, one works");
    for view in [&["--all"][..], &["--json", "--exchanges", "--keep-literals"]] {
        let output = run(&[&["read", &path("scram.pcap")], view].concat());
        let text = String::from_utf8_lossy(&output.stdout);
        for secret in ["anna", "ospreyvalue", "r=", "p=", "SCRAM"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}
