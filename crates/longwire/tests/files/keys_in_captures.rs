//! Keys embedded in pcapng files work like `--keys`, in any file and position.
//!
//! `tests/data/keys` has recorded connections with their key logs: Redis 7 over TLS 1.3, nginx over
//! TLS 1.2. Secrets and certificates were generated for the recording.

use crate::pcapng::Blocks;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use testbed::binary::{self, of_type};
use testbed::{Tmux, process};

const REDIS: &str = "redis-tls13";
const HTTP: &str = "http-tls12";

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/keys")
        .join(name)
}

fn key_log(name: &str) -> String {
    std::fs::read_to_string(data(&format!("{name}.keys"))).expect("a key log")
}

fn packets(name: &str) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(data(&format!("{name}.pcap"))).expect("a capture");
    let (head, mut rest) = bytes.split_at(24);
    assert_eq!(head[..4], 0xa1b2_c3d4_u32.to_le_bytes(), "microseconds");
    let mut packets = Vec::new();
    while let Some(length) = rest.get(8..12) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
        let (packet, behind) = rest.split_at(16 + length);
        packets.push(packet.to_vec());
        rest = behind;
    }
    packets
}

fn key_log_block(blocks: &mut Blocks, text: &str) {
    let body = [
        &blocks.four(0x544c_534b)[..],
        &blocks.four(text.len() as u32),
        text.as_bytes(),
    ];
    blocks.add(10, &body.concat());
}

/// Packets with a key log before packet `before`, or after the last.
fn section(packets: &[Vec<u8>], keys: &str, before: usize, big: bool) -> Vec<u8> {
    let mut blocks = Blocks::new(big, &[]);
    for (number, packet) in packets.iter().enumerate() {
        if number == before && !keys.is_empty() {
            key_log_block(&mut blocks, keys);
        }
        blocks.packet(packet);
    }
    if before >= packets.len() && !keys.is_empty() {
        key_log_block(&mut blocks, keys);
    }
    blocks.bytes
}

struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).expect("it can be written");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

fn read_records(arguments: &[&str]) -> Vec<Value> {
    of_output(&binary::run(
        &[&["read", "--json", "--exchanges"], arguments].concat(),
    ))
}

fn read_piped(bytes: &[u8]) -> Vec<Value> {
    let mut command = binary::longwire(&["read", "--json", "--exchanges", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(bytes).expect("it reads");
    drop(stdin);
    of_output(&child.wait_with_output().expect("it ends"))
}

fn of_output(output: &std::process::Output) -> Vec<Value> {
    binary::done(output);
    assert_no_secret(&binary::shown(output));
    let mut records = binary::records(output);
    records.retain(|record| record["type"] != "conditions");
    for record in &mut records {
        if let Some(asked) = record.get_mut("asked").and_then(Value::as_object_mut) {
            asked.remove("request_digest");
        }
    }
    records
}

fn assert_no_secret(text: &str) {
    for line in [REDIS, HTTP].map(key_log).iter().flat_map(|log| log.lines()) {
        if let (false, Some(secret)) = (line.starts_with('#'), line.split(' ').nth(2)) {
            assert!(!text.contains(&secret[..16]), "a secret is in: {text}");
        }
    }
}

fn opened(name: &str) -> Vec<Value> {
    let (capture, keys) = (data(&format!("{name}.pcap")), data(&format!("{name}.keys")));
    let records = read_records(&[
        &capture.display().to_string(),
        "--keys",
        &keys.display().to_string(),
    ]);
    let protocol = name.split('-').next().expect("a name");
    assert_eq!(of_type(&records, "connection")[0]["protocol"], protocol);
    records
}

fn warnings(records: &[Value]) -> Vec<&str> {
    let warnings = of_type(records, "warning");
    warnings
        .into_iter()
        .filter_map(|record| record["text"].as_str())
        .collect()
}

#[test]
fn a_file_is_opened_as_with_its_key_log_wherever_the_keys_are() {
    let files = Files::new();
    for name in [REDIS, HTTP] {
        let (packets, keys, expected) = (packets(name), key_log(name), opened(name));
        for big in [false, true] {
            for before in [0, packets.len() / 2, packets.len()] {
                let file = files.write("keys.pcapng", &section(&packets, &keys, before, big));
                assert_eq!(read_records(&[&file]), expected, "{name} {big} {before}");
            }
        }
        let last = section(&packets, &keys, packets.len(), false);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&last).expect("it is compressed");
        let gzip = files.write("keys.pcapng.gz", &gzip.finish().expect("it is compressed"));
        let zstd = zstd::encode_all(&last[..], 1).expect("it is compressed");
        let zstd = files.write("keys.pcapng.zst", &zstd);
        assert_eq!(read_records(&[&gzip]), expected, "{name}");
        assert_eq!(read_records(&[&zstd]), expected, "{name}");
    }
}

#[test]
fn wireshark_s_tools_write_what_is_opened() {
    let files = Files::new();
    for name in [REDIS, HTTP] {
        let mut command = Command::new("editcap");
        command.arg("--inject-secrets");
        command.arg(format!("tls,{}", data(&format!("{name}.keys")).display()));
        command.arg(data(&format!("{name}.pcap"))).arg(files.path(name));
        process::run(command);
        assert_eq!(read_records(&[&files.path(name)]), opened(name));
    }
    let [redis, http] = [REDIS, HTTP].map(|name| data(&format!("{name}.pcap")));
    let mut command = Command::new("mergecap");
    command.args(["-w", &files.path("merged")]).args([&redis, &http]);
    process::run(command);
    let keys = files.write("keys", (key_log(REDIS) + &key_log(HTTP)).as_bytes());
    let mut command = Command::new("editcap");
    command.args([
        "--inject-secrets",
        &format!("tls,{keys}"),
        &files.path("merged"),
        &files.path("both"),
    ]);
    process::run(command);
    let both = read_records(&[&files.path(REDIS), &files.path(HTTP)]);
    assert_eq!(of_type(&both, "connection").len(), 2);
    assert_eq!(
        without_file(&read_records(&[&files.path("both")]), "exchange"),
        without_file(&both, "exchange")
    );
}

/// Without the file, and the number that depends on it.
fn without_file(records: &[Value], name: &str) -> Vec<Value> {
    let mut found: Vec<Value> = of_type(records, name).into_iter().cloned().collect();
    for record in found.iter_mut().filter_map(Value::as_object_mut) {
        record.retain(|key, _| !["file", "id", "connection"].contains(&key.as_str()));
    }
    found
}

#[test]
fn keys_of_one_file_open_connections_of_another() {
    let files = Files::new();
    let (packets, keys, expected) = (packets(REDIS), key_log(REDIS), opened(REDIS));
    let (first, second) = packets.split_at(packets.len() / 2);
    let first = files.write("1", &section(first, "", 0, false));
    let second = files.write("2", &section(second, &keys, usize::MAX, true));
    for order in [[&first, &second], [&second, &first]] {
        let records = read_records(&order.map(String::as_str));
        for name in ["exchange", "connection"] {
            assert_eq!(without_file(&records, name), without_file(&expected, name));
            let mut found = of_type(&records, name).into_iter();
            assert!(found.all(|record| record["file"] == first), "{name}");
        }
    }
    // The keys are in the capture of another connection.
    let holder = files.write(
        "3",
        &section(&self::packets(HTTP), &(keys + &key_log(HTTP)), usize::MAX, false),
    );
    let records = read_records(&[&first, &second, &holder]);
    let protocols: Vec<&Value> = of_type(&records, "connection")
        .iter()
        .map(|one| &one["protocol"])
        .collect();
    assert!(
        protocols.contains(&&"redis".into()) && protocols.contains(&&"http".into()),
        "{protocols:?}"
    );
}

#[test]
fn keys_of_a_file_and_of_a_key_log_open_connections_of_one_run() {
    let files = Files::new();
    let redis = files.write("1", &section(&packets(REDIS), &key_log(REDIS), usize::MAX, false));
    let http = files.write("2", &section(&packets(HTTP), "", 0, false));
    let keys = data(&format!("{HTTP}.keys")).display().to_string();
    let records = read_records(&[&redis, &http, "--keys", &keys]);
    for connection in of_type(&records, "connection") {
        assert_eq!(connection["opaque"], false, "{connection}");
    }
    // Two unrelated programs: statements of one belong to no request of the other.
    let warnings = warnings(&records);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("20 of 20 round trips to databases belong to no HTTP request"),
        "{warnings:?}"
    );
}

#[test]
fn a_pipe_is_opened_by_keys_that_come_first_and_later_ones_are_counted() {
    let (packets, keys) = (packets(REDIS), key_log(REDIS));
    let piped = |before: usize| read_piped(&section(&packets, &keys, before, false));
    assert_eq!(piped(0), opened(REDIS));
    let late = "1 TLS connection had begun before the captures' keys arrived in the pipe";
    for before in [packets.len() / 2, packets.len()] {
        let records = piped(before);
        assert_eq!(of_type(&records, "connection")[0]["opaque"], true);
        let warnings = warnings(&records);
        assert!(warnings.iter().any(|text| text.starts_with(late)), "{warnings:?}");
        assert!(
            !warnings.iter().any(|text| text.contains("open nothing")),
            "{warnings:?}"
        );
    }
    let mut bytes = section(&[], &key_log(HTTP), 0, false);
    bytes.extend(section(&packets, &keys, usize::MAX, true));
    let records = read_piped(&bytes);
    let warnings = warnings(&records);
    assert!(warnings.iter().any(|text| text.starts_with(late)), "{warnings:?}");
}

#[test]
fn keys_that_open_nothing_are_reported_and_a_capture_without_keys_is_as_before() {
    let files = Files::new();
    let packets = packets(REDIS);
    let other = files.write("1", &section(&packets, &key_log(HTTP), 0, false));
    let records = read_records(&[&other]);
    let expected = "none of the secrets of 1 session in the captures fits a TLS connection that was seen: was it written by another run?";
    assert!(warnings(&records).contains(&expected), "{:?}", warnings(&records));
    let plain = std::fs::read(data(
        "../../../../core/capture/tests/data/redis-six-connections.pcap",
    ));
    let plain = files.write("plain.pcap", &plain.expect("a capture"));
    let keys = files.write("2", &section(&[], &key_log(HTTP), 0, false));
    let records = read_records(&[&plain, &keys]);
    let expected =
        "no TLS connection began in the capture, so the secrets of 1 session in the captures open nothing";
    assert!(warnings(&records).contains(&expected), "{:?}", warnings(&records));
    let without = files.write("3", &section(&packets, "", 0, false));
    let pcap = data(&format!("{REDIS}.pcap")).display().to_string();
    assert_eq!(read_records(&[&without]), read_records(&[&pcap]));
}

#[test]
fn a_file_that_is_cut_or_damaged_in_the_keys_gives_its_packets_and_the_place() {
    let files = Files::new();
    let (packets, keys) = (packets(REDIS), key_log(REDIS));
    let whole = section(&packets, &keys, usize::MAX, false);
    let place = section(&packets, "", 0, false).len();
    for length in (place + 8..whole.len()).step_by(31) {
        let file = files.write("cut", &whole[..length]);
        let records = read_records(&[&file]);
        assert_eq!(
            of_type(&records, "connection")[0]["client_packets"],
            28,
            "{length}"
        );
        let expected = format!("ends inside a block of keys that begins at byte {place}");
        assert!(
            warnings(&records).iter().any(|text| text.contains(&expected)),
            "{records:?}"
        );
    }
    let whole = section(&packets, &keys, 20, false);
    let place = section(&packets[..20], "", 0, false).len();
    for offset in (0..keys.len() + 20).step_by(31) {
        let mut damaged = whole.clone();
        damaged[place + offset] ^= 0x81;
        let file = files.write("damaged", &damaged);
        let records = read_records(&[&file]);
        assert_eq!(
            of_type(&records, "connection")[0]["client_packets"],
            28,
            "{offset}"
        );
    }
}

#[test]
fn every_command_that_reads_captures_opens_them() {
    let files = Files::new();
    let packets = packets(HTTP);
    let opened = files.write("opened", &section(&packets, &key_log(HTTP), usize::MAX, false));
    let closed = files.write("closed", &section(&packets, "", 0, false));
    let request = "GET /?";
    for (arguments, status) in [
        (&["predict", "--json", "--rtt", "40ms"][..], 0),
        (&["check", "--json", "--max-round-trips", "0"], 1),
        (&["tunnel", "advise", "--json", "--on", "http"], 2),
    ] {
        let run = |file: &str| binary::run(&[arguments, &[file]].concat());
        let output = run(&opened);
        assert_no_secret(&binary::shown(&output));
        assert_eq!(output.status.code(), Some(status), "{}", binary::shown(&output));
        let is_opened = |output| {
            let shown = binary::shown(output);
            // Encrypted bytes cannot be compressed, even with keys. Only with keys is the traffic
            // known to be HTTP.
            shown.contains(request) || shown.contains("are encrypted: encrypted bytes cannot be made fewer")
        };
        assert!(is_opened(&output), "{arguments:?}: {}", binary::shown(&output));
        assert!(!is_opened(&run(&closed)), "{arguments:?}");
    }
    let terminal = Tmux::start(100, 30);
    let program = binary::program().display().to_string();
    terminal.text(&format!("'{program}' top '{opened}'"));
    terminal.keys(&["Enter"]);
    terminal.wait_for(request);
    terminal.text("q");
}
