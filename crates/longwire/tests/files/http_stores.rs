//! Captures of real clients and stores behind HTTP (`data/http_stores`; which of them were real,
//! emulated or stand-ins is in docs/protocols/http-stores.md).

use model::Protocol;
use serde_json::Value;
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
}

#[test]
fn every_store_is_in_a_capture() {
    let read = ["stores", "vendors"].map(|file| {
        let output = run(&["read", "--json", &path(&format!("{file}.pcap.gz"))]);
        done(&output);
        records(&output)
    });
    let connections: Vec<&Value> = read.iter().flat_map(|read| of_type(read, "connection")).collect();
    let plain = [Protocol::Http, Protocol::Http2];
    let stores = Protocol::all_known().filter(|known| known.is_over_http() && !plain.contains(known));
    for store in stores {
        let mut found = connections.iter();
        assert!(found.any(|record| record["protocol"] == store.name()), "{store}");
    }
}

#[test]
fn no_key_document_or_password_is_shown() {
    for format in ["--json", "--all"] {
        let mut text = String::new();
        for file in ["stores", "script", "failed", "vendors", "http2"] {
            let output = run(&["read", format, &path(&format!("{file}.pcap.gz"))]);
            done(&output);
            text += &String::from_utf8_lossy(&output.stdout).to_lowercase();
        }
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

/// GetItem 30 times in a page, also over HTTP/2 with httpx, then one BatchGetItem.
#[test]
fn a_loop_of_get_item_is_an_n_plus_one_and_a_batch_is_none() {
    let check = |name: &str| run(&["check", "--forbid", "n+1", &path(name)]);
    for name in ["loop.pcap.gz", "http2.pcap.gz"] {
        let found = check(name);
        assert_eq!(found.status.code(), Some(1));
        let text = String::from_utf8_lossy(&found.stdout);
        assert!(text.contains("n+1 of GetItem Orders: ran 60 times"), "{text}");
        assert!(text.contains("BatchGetItem"), "{text}");
    }
    assert_eq!(check("batch.pcap.gz").status.code(), Some(0));
}

/// boto3 and elasticsearch-py without a page: they compute 0.7 ms and more between the calls of a
/// loop.
#[test]
fn a_loop_of_a_script_is_an_n_plus_one_and_a_batch_is_none() {
    let check = |name: &str| run(&["check", "--forbid", "n+1", &path(name)]);
    let found = check("script.pcap.gz");
    assert_eq!(found.status.code(), Some(1));
    let text = String::from_utf8_lossy(&found.stdout);
    for sentence in [
        "n+1 of GetItem Orders: ran 29 times",
        "n+1 of get orders: ran 10 times",
    ] {
        assert!(text.contains(sentence), "{text}");
    }
    assert_eq!(check("batched.pcap.gz").status.code(), Some(0));
}

/// ClickHouse 18.16, InfluxDB 1.6 and graphql-yoga, with curl: six of eight requests fail, five of them
/// in a reply of 200 or with an error of their own.
#[test]
fn errors_inside_a_reply_of_success_count() {
    for (name, errors) in FAILED {
        let found = statement("failed.pcap.gz", name);
        assert_eq!(found["errors"].as_u64(), Some(errors), "{name}");
    }
}

/// The clients of Snowflake (against fakesnow), BigQuery, PostgREST and Firestore (stand-ins).
#[test]
fn rows_and_pages_are_counted_where_replies_tell_them() {
    for (name, calls, fetches, errors, rows) in VENDORS {
        let found = statement("vendors.pcap.gz", name);
        let counts = ["calls", "fetches", "errors", "rows"].map(|key| found[key].as_u64());
        assert_eq!(counts, [Some(calls), Some(fetches), Some(errors), rows], "{name}");
    }
    let found = run(&["check", "--forbid", "small-fetch", &path("vendors.pcap.gz")]);
    assert_eq!(found.status.code(), Some(1));
    let text = String::from_utf8_lossy(&found.stdout);
    assert!(
        text.contains("small-fetch of getQueryResults: ran 5 times"),
        "{text}"
    );
    assert!(text.contains("Ask for larger pages"), "{text}");
}

/// boto3 against moto over TLS 1.3, which answers `Connection: close` to each request.
#[test]
fn with_keys_a_store_behind_https_has_names_and_findings() {
    let keys = path("keyed.keys");
    let output = run(&["read", "--json", "--keys", &keys, &path("keyed.pcap.gz")]);
    let read = records(&output);
    let statements = of_type(&read, "statement");
    let named = |name: &str| statements.iter().any(|record| record["fingerprint"] == name);
    assert!(named("GetItem Orders") && named("PutItem Orders"));
    let found = run(&[
        "check",
        "--forbid",
        "reconnect",
        "--keys",
        &keys,
        &path("keyed.pcap.gz"),
    ]);
    assert_eq!(found.status.code(), Some(1));
    let text = String::from_utf8_lossy(&found.stdout);
    assert!(text.contains("The server's replies end the connection"), "{text}");
}

fn statement(file: &str, name: &str) -> Value {
    let output = run(&["read", "--json", &path(file)]);
    let read = records(&output);
    let mut statements = of_type(&read, "statement").into_iter();
    let found = statements.find(|record| record["fingerprint"] == name);
    found.unwrap_or_else(|| panic!("{name}")).clone()
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

const FAILED: [(&str, u64); 8] = [
    ("select number from system.numbers limit ?", 0),
    ("select throwIf(number = ?) from system.numbers limit ?", 1),
    ("select nocolumn", 1),
    ("select bad(v) from m", 1),
    ("select v from missing", 1),
    ("select v from m", 1),
    ("query A", 0),
    ("query B", 1),
];

const VENDORS: [(&str, u64, u64, u64, Option<u64>); 8] = [
    ("select v from orders where id = ?", 6, 0, 0, None),
    ("select * from missing", 1, 0, 1, None),
    ("select v from d.orders where id = ? and s=?", 3, 0, 0, Some(3)),
    ("getQueryResults", 1, 4, 0, Some(10)),
    ("insertAll", 1, 0, 1, None),
    (
        "GET /rest/v1/orders?select=?&order=?&offset=?&limit=?",
        6,
        0,
        0,
        Some(12),
    ),
    ("batchGet", 6, 0, 0, Some(6)),
    ("runQuery orders", 1, 0, 0, Some(3)),
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
