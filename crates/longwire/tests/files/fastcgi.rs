//! Capture of a browser, nginx, php-fpm and PostgreSQL on four addresses (`data/fastcgi`). Each
//! browser request is one operation with its work on all three legs.

use serde_json::Value;
use std::path::Path;
use testbed::binary::{done, of_type, records, run};

fn read_records(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fastcgi");
    let file = folder.join(name).display().to_string();
    let output = run(&["read", "--json", &file]);
    done(&output);
    records(&output)
}

fn operations(records: &[Value]) -> Vec<(String, u64, u64)> {
    let number = |record: &Value, key: &str| record[key].as_u64().expect("a number");
    let mut operations = of_type(records, "operation");
    operations.sort_by_key(|record| number(record, "at_ns"));
    operations
        .into_iter()
        .map(|record| {
            let name = record["operation_name"].as_str().expect("a name").to_owned();
            (name, number(record, "connections"), number(record, "turns"))
        })
        .collect()
}

/// Eight requests on separate connections, then eight on kept ones. Each has two round trips of
/// HTTP, two of FastCGI, and the database's, plus three per further look-up.
#[test]
fn a_request_that_a_web_server_passes_on_is_one_operation() {
    let read = read_records("site.pcap.gz");
    let found = operations(&read);
    let asked = [
        ("GET /page.php?n=?&secret=?", 3, 22),
        ("GET /page.php?n=?&secret=?", 3, 22),
        ("GET /page.php?n=?&secret=?", 3, 22),
        ("POST /post.php", 3, 10),
        ("GET /missing.php", 2, 4),
        ("GET /fails.php", 2, 4),
        ("GET /moved.php", 2, 4),
        ("GET /large.php", 2, 4),
        ("GET /page.php?n=?", 3, 7),
        ("GET /page.php?n=?", 3, 8),
        ("GET /page.php?n=?", 3, 11),
        ("GET /page.php?n=?", 3, 14),
        ("POST /post.php", 3, 8),
        ("GET /fails.php", 2, 2),
        ("GET /large.php", 2, 2),
        ("HEAD /page.php?n=?", 3, 11),
    ];
    let asked = asked.map(|(name, connections, turns)| (name.to_owned(), connections, turns));
    assert_eq!(found, asked, "and nothing is left over");
    for connection in of_type(&read, "connection") {
        assert_eq!(connection["opaque"], false, "{connection}");
    }
}

/// The visitor disconnects during a page; php-fpm and its database work continue.
#[test]
fn what_php_goes_on_with_when_the_visitor_has_left_is_still_its_request() {
    let found = operations(&read_records("left.pcap.gz"));
    let asked = [
        ("GET /page.php?n=?", 3, 13),
        ("GET /slow.php", 1, 1),
        ("GET /slow.php", 2, 11),
        ("GET /page.php?n=?", 3, 13),
    ];
    assert_eq!(
        found,
        asked.map(|(name, connections, turns)| (name.to_owned(), connections, turns))
    );
}
