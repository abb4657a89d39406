//! Finds the request behind each statement when addresses alone do not show it.
//!
//! The web servers have two addresses, except one. PostgreSQL 15 and MariaDB are on a
//! separate host. Each reply is followed by an insert and an update; there are a heartbeat and a
//! second program on the host with occasional queries.
//!
//! Client, web servers, database and a job were in network namespaces with a router between them.
//! `10.8.2.2` and `10.8.3.2` are one host, `10.8.4.2` and `10.8.5.2` another; `10.8.8.2` is a
//! proxy, `10.8.7.2` a job. Captures are from the router or the host. If the name says "in step",
//! the querying host does not serve.

use crate::machines::{NEAR, RAW_IP, rewritten};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use testbed::binary;

fn records(name: &str, flags: &[&str]) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/hosts")
        .join(name);
    records_of(&path, flags)
}

pub fn records_of(path: &Path, flags: &[&str]) -> Vec<Value> {
    let path = path.display().to_string();
    let output = binary::run(&[&["read", path.as_str(), "--json"], flags].concat());
    binary::done(&output);
    binary::records(&output)
}

pub fn warnings(records: &[Value]) -> impl Iterator<Item = &str> {
    let warnings = records.iter().filter(|record| record["type"] == "warning");
    warnings.filter_map(|warning| warning["text"].as_str())
}

pub fn joined(records: &[Value]) -> Vec<&str> {
    let pairs = warnings(records).filter_map(|text| Some(text.split_once(" are taken to be one host: ")?.0));
    let mut pairs: Vec<&str> = pairs.collect();
    pairs.sort_unstable();
    pairs
}

/// Captured on the web server's host with `-i any`, where marks decide. As raw IP, without marks,
/// responses decide.
#[test]
fn a_web_server_s_two_addresses_are_one_host() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("unmarked.pcap");
    for (name, pair) in [
        ("express-four-clients.pcap.gz", "10.8.3.2 and 127.0.0.1"),
        ("gunicorn-four-clients.pcap.gz", "10.8.5.2 and 127.0.0.1"),
        ("php-four-clients.pcap.gz", "10.8.5.2 and 127.0.0.1"),
        ("sinatra-four-clients.pcap.gz", "10.8.3.2 and 10.8.2.2"),
        ("spring-four-clients.pcap.gz", "10.8.3.2 and 127.0.0.1"),
        // PostgreSQL in TLS sessions that began before the capture, next to SSH sessions to the web
        // server: an administrator who reads much, and another host that types. Encrypted bytes are
        // blanked.
        ("tls-and-ssh.pcap.gz", "10.9.3.2 and 10.9.2.2"),
    ] {
        assert_eq!(joined(&records(name, &[])), [pair], "{name}");
        std::fs::write(&file, rewritten(name, RAW_IP, |_| NEAR)).expect("it is written");
        let unmarked = records_of(&file, &[]);
        assert_eq!(joined(&unmarked), [pair], "{name}");
        assert!(
            warnings(&unmarked).any(|text| text.contains("with shifted times")),
            "{name}"
        );
    }
}

#[test]
fn hosts_that_fall_into_step_with_another_one_s_clients_are_not_taken_for_it() {
    for (name, asks, serves) in [
        ("two-web-servers-in-step.pcap.gz", "10.8.3.2", "10.8.4.2"),
        ("php-and-node-in-step.pcap.gz", "10.8.5.2", "10.8.2.2"),
    ] {
        let records = records(name, &[]);
        assert!(joined(&records).is_empty(), "{name}: {:?}", joined(&records));
        for open in warnings(&records).filter(|text| text.contains(&format!("{asks} (a client of "))) {
            assert!(open.contains(&format!("--host web={serves},{asks}")), "{open}");
            assert!(open.contains("joined to no request"), "{open}");
        }
    }
}

#[test]
fn a_proxy_is_not_taken_for_the_server_behind_it() {
    let records = records("nginx-before-node.pcap.gz", &[]);
    assert_eq!(joined(&records), ["10.8.3.2 and 10.8.2.2"]);
}

fn pages(name: &str) -> Vec<HashMap<String, usize>> {
    let records = records(name, &["--exchanges"]);
    let requests = records
        .iter()
        .filter(|record| record["type"] == "operation" && record["kind"] == "http");
    let mut requests: Vec<(u64, u64)> = requests
        .filter_map(|request| Some((request["at_ns"].as_u64()?, request["id"].as_u64()?)))
        .collect();
    requests.sort_unstable();
    let of_request = |(_, id): &(u64, u64)| {
        let mut texts = HashMap::new();
        for exchange in records.iter().filter(|record| record["type"] == "exchange") {
            if exchange["operation"].as_u64() == Some(*id)
                && exchange["phase"] == "work"
                && exchange["protocol"] != "http"
            {
                let text = exchange["fingerprint"].as_str().unwrap_or_default().to_owned();
                *texts.entry(text).or_default() += 1;
            }
        }
        texts
    };
    requests.iter().map(of_request).collect()
}

/// Python's `http.server` writes head and body separately: on some pages the body waits 40 ms for
/// an acknowledgement while the server updates four rows.
#[test]
fn work_after_the_first_byte_of_a_reply_that_ends_late_is_not_the_page_s() {
    let pages = pages("work-after-a-late-last-byte.pcap.gz");
    let expected = HashMap::from([("select a, b from items where a=?".to_owned(), 6)]);
    assert_eq!(pages, vec![expected; 25]);
}

/// The same page, with threads that poll, wait for notifications (`LISTEN`) and block on a list
/// (`BRPOP`).
#[test]
fn waits_for_work_and_polls_are_no_page_s() {
    let pages = pages("background-and-waits.pcap.gz");
    assert_eq!(pages.len(), 23);
    for page in &pages {
        assert_eq!(page["select a, b from items where a=?"], 6, "{page:?}");
    }
    let later: BTreeSet<&str> = pages[9..]
        .iter()
        .flat_map(HashMap::keys)
        .map(String::as_str)
        .collect();
    let waits: Vec<&&str> = later
        .iter()
        .filter(|text| text.starts_with("BRPOP") || text.starts_with("select max"))
        .collect();
    assert!(waits.is_empty(), "{waits:?}");
}
