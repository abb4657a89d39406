//! `longwire tunnel advise` on captures, recordings and a real server: same results, and no literal
//! revealed.

use serde_json::Value;
use std::path::{Path, PathBuf};
use testbed::binary::{records, refused, run, stderr, stdout, unwrapped};
use testbed::{Capture, MariaDb, Postgres};

fn captured(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    folder.join(name).display().to_string()
}

fn levels(records: &[Value]) -> Vec<&Value> {
    records
        .iter()
        .filter(|record| record["type"] == "level")
        .collect()
}

fn bytes(level: &Value) -> u64 {
    level["reply_tunnel_bytes"].as_u64().expect("a number")
}

const MARKER: &str = "Xq7vMarkerOfALiteral";

fn statement() -> String {
    format!(
        "select i, '{MARKER}' || i, 'the customer ordered article ' || i || ' from the warehouse', \
         repeat('delivery expected ', 1 + i % 7) from generate_series(1, 1000) i"
    )
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("the folder is there");
    files.map(|file| file.expect("it can be listed").path()).collect()
}

#[test]
fn server_capture_and_recording_agree_and_no_literal_leaves_memory() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a private directory can be made");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let sql = statement();
    let capture = Capture::start(server.port());
    let asked = [
        "--statement",
        &sql,
        "-n",
        "3",
        "--json",
        "--html",
        &at("page.html"),
    ];
    let of_server = run(&[&["tunnel", "advise", &server.url()][..], &asked[..]].concat());
    let captured = capture.stop();
    let watched = run(&[
        "watch",
        "-q",
        "--compressed-sizes",
        "-o",
        &at("run.lwr"),
        &server.url(),
        "--",
        "psql",
        "-X",
        "-q",
        "-At",
        "-o",
        &at("psql.rows"),
        "-c",
        &sql,
        "-c",
        &sql,
        "-c",
        &sql,
    ]);
    assert!(watched.status.success(), "{}", stderr(&watched));
    std::fs::remove_file(at("psql.rows")).expect("psql wrote its rows");
    let of_capture = run(&[
        "tunnel",
        "advise",
        "--json",
        &captured.path().display().to_string(),
    ]);
    let of_recording = run(&["tunnel", "advise", "--json", &at("run.lwr")]);
    let view = run(&["tunnel", "advise", "--price-per-gb", "0.09", &at("run.lwr")]);
    let again = run(&["read", "--json", "--exchanges", &at("run.lwr")]);

    let outputs = [&of_server, &of_capture, &of_recording, &view, &again, &watched];
    for output in outputs {
        assert!(!stdout(output).contains(MARKER) && !stderr(output).contains(MARKER));
    }
    for file in all_files(folder.path()) {
        let held = std::fs::read(&file).expect("it can be read");
        assert!(
            !String::from_utf8_lossy(&held).contains(MARKER),
            "{}",
            file.display()
        );
    }
    assert!(
        stdout(&again).contains("\"levels\":["),
        "the recording has levels"
    );

    let [of_server, of_capture, of_recording] = [&of_server, &of_capture, &of_recording].map(records);
    let off = |records: &[Value]| bytes(levels(records)[0]);
    let smallest = |records: &[Value]| bytes(levels(records)[9]);
    assert_eq!(levels(&of_server).len(), 10);
    // The same rows three times. Bytes differ by frame headers, and by up to 10 % through chunk
    // boundaries.
    for (what, records) in [("capture", &of_capture), ("recording", &of_recording)] {
        let near = |one: u64, other: u64, share: u64| one.abs_diff(other) * share <= other;
        assert!(near(off(records), off(&of_server), 100), "{what}, off");
        assert!(
            near(smallest(records), smallest(&of_server), 4),
            "{what}, level 9"
        );
    }
    assert!(
        off(&of_server) > 5 * smallest(&of_server),
        "repeated text becomes smaller"
    );
}

/// Longwire is the client: it compresses inside of TLS.
#[test]
fn a_server_that_offers_tls_is_advised_on_the_same_bytes() {
    let (postgres, mariadb) = (
        Postgres::options().tls().start(),
        MariaDb::options().tls().start(),
    );
    for (url, plain, tls) in [
        (postgres.url(), "sslmode=disable", "sslmode=require"),
        (mariadb.url(), "ssl-mode=disabled", "ssl-mode=required"),
    ] {
        let of = |option: &str| {
            let url = format!("{url}{option}");
            let sql = "select repeat('delivery expected ', 4000)";
            let output = run(&["tunnel", "advise", &url, "--statement", sql, "-n", "5", "--json"]);
            assert!(output.status.success(), "{url}: {}", stderr(&output));
            (records(&output), stderr(&output))
        };
        let (without, said) = of(&format!("?{plain}"));
        assert!(!said.contains("TLS"), "{said}");
        for option in [String::new(), format!("?{tls}")] {
            let (within, said) = of(&option);
            assert!(
                said.contains("only if clients connect to its near end without TLS"),
                "{said}"
            );
            for at in [0, 9] {
                let [plain, inside] = [&without, &within].map(|records| bytes(levels(records)[at]));
                assert!(plain.abs_diff(inside) * 20 <= plain, "{at}: {plain} {inside}");
            }
        }
    }
}

#[test]
fn a_script_of_two_statements_is_one_operation_of_both() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a private directory can be made");
    let script = folder.path().join("two.sql");
    std::fs::write(&script, "select 1;\nselect repeat('x', 500);\n").expect("it can be written");
    let script = script.display().to_string();
    let output = run(&[
        "tunnel",
        "advise",
        &server.url(),
        "-f",
        &script,
        "-n",
        "5",
        "--json",
    ]);
    let records = records(&output);
    let advice = records
        .iter()
        .find(|record| record["type"] == "advice")
        .expect("advice");
    let figures = ["operations", "exchanges", "turns"].map(|key| advice[key].as_u64());
    assert_eq!(figures, [Some(5), Some(10), Some(10)], "{advice}");
}

#[test]
fn the_view_fits_a_screen_and_the_page_has_its_map() {
    let folder = tempfile::tempdir().expect("a private directory can be made");
    let page = folder.path().join("page.html").display().to_string();
    let capture = captured("pgjdbc4274-pg15-trust.pcap");
    let output = run(&[
        "tunnel",
        "advise",
        &capture,
        "--rate",
        "450KB/s,1gbit",
        "--rtt",
        "20ms",
        "--levels",
        "1,6",
        "--price-per-gb",
        "0.09",
        "--html",
        &page,
    ]);
    let view = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        view.lines().count() <= 24 && view.lines().all(|line| line.chars().count() <= 160),
        "{view}"
    );
    for word in [
        "3.6 Mbit/s",
        "1 Gbit/s",
        "break-even",
        "a million operations",
        "20.0 ms",
    ] {
        assert!(unwrapped(&view).contains(word), "'{word}' is missing in:\n{view}");
    }
    let html = std::fs::read_to_string(&page).expect("the page was written");
    assert!(html.contains("<svg") && html.contains("break-even rate"));
}

#[test]
fn sources_with_nothing_to_go_by_are_refused_with_a_way_out() {
    let folder = tempfile::tempdir().expect("a private directory can be made");
    let recording = folder.path().join("run.json").display().to_string();
    let output = run(&[
        "read",
        "--json",
        "--exchanges",
        &captured("pgjdbc4274-pg15-trust.pcap"),
    ]);
    std::fs::write(&recording, output.stdout).expect("it can be written");
    refused(
        &["tunnel", "advise", &recording],
        &["does not say how small", "watch --compressed-sizes"],
    );
    let nothing = captured("ojdbc11-23.5-connect-silent.pcap");
    refused(
        &["tunnel", "advise", "--on", "mysql", &nothing],
        &["no exchange", "--on"],
    );
    refused(
        &["tunnel", "advise", &recording, "--statement", "select 1"],
        &["--statement", "files"],
    );
    refused(
        &["tunnel", "advise", "oracle://db1/x"],
        &["cannot load", "capture"],
    );
    refused(
        &["tunnel", "advise", "postgres://a@b/c", "postgres://a@b/d"],
        &["one server"],
    );
    refused(&["tunnel", "advise", &recording, "--rate", "10"], &["rate"]);
    refused(
        &["tunnel", "advise", &recording, "--price-per-gb", "cheap"],
        &["price"],
    );
    refused(&["tunnel", "advise", &recording, "--levels", "10"], &["level"]);
}

/// Packets cut to 200 bytes, like an old tcpdump.
#[test]
fn a_capture_without_whole_packets_is_refused_and_says_how_much_is_missing() {
    let whole = std::fs::read(captured("pgjdbc4274-pg15-trust.pcap")).expect("the capture is there");
    let (header, mut rest) = whole.split_at(24);
    let mut cut = header.to_vec();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let kept = length.min(90);
        cut.extend_from_slice(&rest[..8]);
        cut.extend_from_slice(&(kept as u32).to_le_bytes());
        cut.extend_from_slice(&rest[12..16 + kept]);
        rest = &rest[16 + length..];
    }
    let folder = tempfile::tempdir().expect("a private directory can be made");
    let file = folder.path().join("cut.pcap");
    std::fs::write(&file, cut).expect("it can be written");
    refused(
        &["tunnel", "advise", &file.display().to_string()],
        &["lack payload", "tcpdump -s 0"],
    );
}
