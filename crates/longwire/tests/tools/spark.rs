//! `integrations/spark` on a cluster with two executors: totals equal those of `read`, exactly
//! once, despite executor failures.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::binary::{self, longwire, program, sum};
use testbed::process::{require, run};

/// Captures of two hosts in `folder/captures`, one split into several files.
fn captures(folder: &Path) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/capture/tests/data");
    for host in ["web1", "web2"] {
        fs::create_dir_all(folder.join("captures").join(host)).expect("a folder");
    }
    // More than ten files, so that numeric and alphabetical order differ.
    let one = folder.join("captures/web1");
    let whole = fs::read(data.join("redis-six-connections.pcap")).expect("a capture");
    for (number, part) in parts(&whole, 8).into_iter().enumerate() {
        fs::write(one.join(format!("run.pcap{number}")), part).expect("it is written");
    }
    assert!(one.join("run.pcap10").exists(), "files enough");
    let other = data.join("mariadb-bulk.pcap");
    fs::copy(other, folder.join("captures/web2/run.pcap")).expect("a copy");
}

/// Splits a little-endian pcap into files of at most `most` packets, like tcpdump -C, so that
/// connections span files.
fn parts(whole: &[u8], most: usize) -> Vec<Vec<u8>> {
    let (header, mut rest) = whole.split_at(24);
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let mut part = header.to_vec();
        for _ in 0..most {
            let Some(length) = rest.get(8..12) else { break };
            let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
            let (packet, after) = rest.split_at(16 + length as usize);
            part.extend_from_slice(packet);
            rest = after;
        }
        parts.push(part);
    }
    parts
}

fn driven(folder: &Path, longwire: &Path) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let programs = testbed::python::environment(&["pyspark==4.3.0"]);
    require("java");
    let mut command = Command::new(programs.join("python"));
    command
        .arg(root.join("tests/tools/spark/driver.py"))
        .args([folder, longwire])
        .env("PYTHONPATH", root.join("../../integrations/spark"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SPARK_LOCAL_HOSTNAME", "localhost")
        .current_dir(folder);
    let printed = run(command);
    let lines = printed.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON")
}

fn of_kind<'a>(printed: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let values = printed.iter().map(|line| &line[kind]);
    values.filter(|value| !value.is_null()).collect()
}

fn direct(folder: &Path, host: &str) -> Vec<Value> {
    let folder = folder.join("captures").join(host);
    let entries = fs::read_dir(folder).expect("it is readable");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    let mut command = longwire(&["read", "--json"]);
    binary::records(&command.args(files).output().expect("the binary starts"))
}

fn check_tables(folder: &Path, hosts: &[Vec<Value>]) {
    let tables = folder.join("tables").display().to_string();
    let output = longwire(&["read", "--json", &tables]).output();
    let read = binary::records(&output.expect("the binary starts"));
    for key in ["connections", "exchanges", "turns", "statements"] {
        let expected: u64 = hosts.iter().map(|host| sum(host, "summary", key)).sum();
        assert_eq!(sum(&read, "summary", key), expected, "{key}");
    }
}

/// An executor dies after writing its run and before reporting it, so Spark repeats the run on
/// another. A host without a readable capture does not affect others.
#[test]
fn rows_are_there_once_whatever_happens_to_an_executor() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    captures(folder);
    let hosts = ["web1", "web2"].map(|host| direct(folder, host));
    fs::create_dir(folder.join("captures/broken")).expect("a folder");
    fs::write(folder.join("captures/broken/run.pcap"), "no capture at all\n").expect("it is written");
    let slow = folder.join("longwire");
    let script = format!(
        "#!/bin/sh\n'{}' \"$@\"\nstatus=$?\nif mkdir '{1}/first' 2>/dev/null; then echo $PPID >'{1}/worker'; sleep 10; fi\nexit $status\n",
        program().display(),
        folder.display()
    );
    fs::write(&slow, script).expect("it is written");
    fs::set_permissions(&slow, fs::Permissions::from_mode(0o755)).expect("it is ours");

    let printed = driven(folder, &slow);
    assert_eq!(of_kind(&printed, "killed").len(), 1, "one executor");
    let mut results = of_kind(&printed, "result");
    results.sort_by_key(|result| result["host"].to_string());
    let [broken, good @ ..] = results.as_slice() else {
        panic!("{printed:?}");
    };
    let said = broken["said"].as_str().expect("a text");
    assert!(
        broken["status"] != 0 && said.contains("broken/run.pcap"),
        "{said}"
    );
    assert_eq!(good.len(), 2);
    for (result, records) in good.iter().zip(&hosts) {
        assert_eq!(result["status"], 0, "{result}");
        for key in ["connections", "exchanges", "turns"] {
            assert_eq!(result[key], sum(records, "summary", key), "{key} of {result}");
        }
    }
    check_tables(folder, &hosts);
    let predicted = of_kind(&printed, "predicted");
    let is_far = |row: &&&Value| row["host"] == "web2" && row["rtt_ns"] == 10_000_000;
    assert!(predicted.iter().any(|row| is_far(&row)), "{predicted:?}");
}
