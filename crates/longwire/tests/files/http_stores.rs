//! Captures of real clients and stores behind HTTP (`data/http_stores`; which of them were real,
//! emulated or stand-ins is in docs/protocols/http-stores.md).

use std::path::Path;
use testbed::binary::{done, of_type, records, run};

fn path(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/http_stores");
    folder.join(name).display().to_string()
}

/// As often as the clients counted them, and tshark (`http.request`): 103 requests.
#[test]
fn requests_have_the_names_of_what_they_do() {
    let output = run(&["read", "--json", &path("stores.pcap.gz")]);
    done(&output);
    let read = records(&output);
    let calls = |name: &str| {
        let mut statements = of_type(&read, "statement").into_iter();
        let found = statements.find(|record| record["fingerprint"] == name);
        let found = found.unwrap_or_else(|| panic!("{name}"));
        (found["calls"].as_u64(), found["fetches"].as_u64())
    };
    for (name, count, fetches) in NAMES {
        assert_eq!(calls(name), (Some(count), Some(fetches)), "{name}");
    }
    let total: u64 = NAMES.iter().map(|(_, count, fetches)| count + fetches).sum();
    assert_eq!(total, 103);
    let connections = of_type(&read, "connection");
    for protocol in PROTOCOLS {
        let found = connections.iter().filter(|record| record["protocol"] == protocol);
        assert!(found.count() > 0, "{protocol}");
    }
}

#[test]
fn no_key_document_or_password_is_shown() {
    for format in ["--json", "--all"] {
        let output = run(&["read", format, &path("stores.pcap.gz")]);
        done(&output);
        let text = String::from_utf8_lossy(&output.stdout).to_lowercase();
        for secret in [
            "secretkey",
            "secretvalue",
            "verysecret",
            "secretuser",
            "c2vjcmv0",
            "aksecret",
            "secretscroll",
        ] {
            assert!(!text.contains(secret), "{secret} with {format}");
        }
        assert!(!text.contains("number=770001") && !text.contains("number = 770001"));
    }
}

/// GetItem 30 times in a page, then one BatchGetItem.
#[test]
fn a_loop_of_get_item_is_an_n_plus_one_and_a_batch_is_none() {
    let check = |name: &str| run(&["check", "--forbid", "n+1", &path(name)]);
    let found = check("loop.pcap.gz");
    assert_eq!(found.status.code(), Some(1));
    let text = String::from_utf8_lossy(&found.stdout);
    assert!(text.contains("n+1 of GetItem Orders: ran 60 times"), "{text}");
    assert!(text.contains("BatchGetItem"), "{text}");
    assert_eq!(check("batch.pcap.gz").status.code(), Some(0));
}

/// Ten statements and a handshake for each page: measured behind an emulated link of 40 ms, it
/// took 462 ms.
#[test]
fn a_page_of_ten_clickhouse_queries_waits_for_each() {
    let output = run(&["predict", "--json", &path("page.pcap.gz"), "40ms"]);
    done(&output);
    let read = records(&output);
    let predictions = of_type(&read, "prediction");
    let page = predictions
        .iter()
        .find(|record| record["operation_name"] == "GET /page");
    let median = page.expect("predicted")["duration_ns"]
        .as_f64()
        .expect("a number")
        / 1e6;
    assert!((440.0..=490.0).contains(&median), "{median} ms");
}

const PROTOCOLS: [&str; 14] = [
    "dynamodb",
    "s3",
    "aws",
    "clickhouse",
    "elasticsearch",
    "influxdb",
    "prometheus",
    "etcd",
    "couchdb",
    "neon",
    "libsql",
    "upstash",
    "graphql",
    "postgrest",
];

const NAMES: [(&str, u64, u64); 48] = [
    ("get orders", 9, 0),
    ("PUT /photos/?", 4, 0),
    ("select a from t where id=?", 6, 0),
    ("PutItem Orders", 6, 0),
    ("GET /photos/?", 5, 0),
    ("scroll", 0, 4),
    (
        "select number from system.numbers where number=? limit ? FORMAT JSONEachRow",
        4,
        0,
    ),
    ("GetItem Orders", 4, 0),
    ("select v from cpu where host = ?", 4, 0),
    ("GET /rest/v1/orders?select=?&id=?", 3, 0),
    ("GET ?", 3, 0),
    ("AmazonSQS.SendMessage", 3, 0),
    ("Scan Orders", 1, 2),
    ("query PageA", 2, 0),
    ("msearch", 2, 0),
    ("index orders", 2, 0),
    ("search orders", 2, 0),
    ("mget orders", 2, 0),
    ("bulk", 2, 0),
    ("query PageB", 2, 0),
    ("GET /photos?list-type&prefix", 1, 1),
    ("query", 2, 0),
    ("query_range", 2, 0),
    ("CreateTable Orders", 1, 0),
    ("insert into t values(?); select ?", 1, 0),
    ("all_docs orders", 1, 0),
    ("PUT /photos", 1, 0),
    ("find orders", 1, 0),
    ("AmazonSQS.CreateQueue", 1, 0),
    ("MGET ? ?", 1, 0),
    ("insert into t values(?); begin IMMEDIATE; commit; rollback", 1, 0),
    ("insert into orders FORMAT JSONEachRow", 1, 0),
    (
        "create table if not exists orders(id UInt64, v String) engine=Log",
        1,
        0,
    ),
    ("mutation Save", 1, 0),
    ("write metrics", 1, 0),
    ("POST /photos?delete", 1, 0),
    ("put", 1, 0),
    ("AmazonSQS.ReceiveMessage", 1, 0),
    ("bulk_docs orders", 1, 0),
    ("HEAD /photos/?", 1, 0),
    ("BatchGetItem Orders", 1, 0),
    ("POST /rest/v1/orders", 1, 0),
    ("select number from system.numbers where number = ? limit ?", 1, 0),
    ("GetItem Missing", 1, 0),
    ("pipeline GET", 1, 0),
    ("range", 1, 0),
    ("SET ? ?", 1, 0),
    ("put orders", 1, 0),
];
