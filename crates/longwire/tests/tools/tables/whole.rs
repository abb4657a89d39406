//! Table folders after failed and repeated runs.

use super::{RUNS, comparable, data, files, longwire, records, succeeded, text};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn the_same_files_read_again_replace_their_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let copy = elsewhere.path().join("asyncpg.pcap.gz");
    std::fs::copy(data(RUNS[2]), &copy).expect("a copy");
    let run = data(RUNS[2]);
    let once = comparable(records(&[
        "read",
        "--json",
        "--parquet",
        text(folder.path()),
        text(&run),
    ]));
    let first = files(folder.path());
    assert!(
        first.iter().all(|path| text(path).contains("/date=2026-")),
        "{first:?}"
    );
    let path = first.iter().find(|path| text(path).contains("/exchanges/"));
    let path = path.expect("a file of exchanges");

    // Left by an earlier, longer run of this name.
    let left = PathBuf::from(text(path).replace("-0000.parquet", "-0001.parquet"));
    std::fs::copy(path, left).expect("a copy");
    succeeded(&["read", "--parquet", text(folder.path()), text(&copy)]);
    assert_eq!(files(folder.path()), first);
    let back = comparable(records(&["read", "--json", text(folder.path())]));
    assert_eq!(back, once);
}

/// Killed at any time: files with their final name are complete, and a second read adds the rest.
#[test]
fn a_killed_run_leaves_no_file_by_halves() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = data(RUNS[2]);
    let mut was_early = false;
    for milliseconds in (0..).step_by(7) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_longwire"))
            .args(["read", "--parquet", text(folder.path()), text(&run)])
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().expect("it is ours");
        let is_done = child.wait().expect("it ends").success();
        let named = files(folder.path())
            .into_iter()
            .filter(|path| text(path).ends_with(".parquet"));
        for path in named {
            let bytes = std::fs::read(&path).expect("it is readable");
            assert!(bytes.ends_with(b"PAR1"), "{} has its end", path.display());
        }
        if is_done {
            break;
        }
        was_early = true;
    }
    assert!(was_early, "one run at least was killed");
    let direct = comparable(records(&["read", "--json", text(&run)]));
    let back = comparable(records(&["read", "--json", text(folder.path())]));
    assert_eq!(back, direct);
}

/// A folder on a 32 KB file system, which fills up at once.
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"mount -t tmpfs -o size=32k tmpfs "$1" && "$2" read --parquet "$1" "$3"; echo "status $?"; find "$1" -type f"#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command
        .arg(folder.path())
        .arg(env!("CARGO_BIN_EXE_longwire"))
        .arg(data(RUNS[0]));
    let output = command.output().expect("unshare is installed by `make test`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("No space left on device"), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    let (_, after) = printed.split_once("status ").expect("a status");
    let (status, left) = after.split_once('\n').expect("a line");
    assert_ne!(status, "0");
    assert!(!left.contains(".parquet.") && !left.contains("/."), "{left}");
}

#[test]
fn foreign_and_doubled_files_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = data(RUNS[1]);
    succeeded(&["read", "--parquet", text(folder.path()), text(&run)]);
    let written = files(folder.path());
    let exchanges = written.iter().find(|path| text(path).contains("/exchanges/"));
    let exchanges = exchanges.expect("a file of exchanges");
    let refused = |name: &str, bytes: &[u8]| {
        let added = exchanges.with_file_name(name);
        std::fs::write(&added, bytes).expect("it is written");
        let output = longwire(&["read", text(folder.path())]);
        std::fs::remove_file(added).expect("it is ours");
        // Data before the damage is reported, as for recordings.
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&said).replace('\n', " ")
    };
    let bytes = std::fs::read(exchanges).expect("it is readable");
    let said = refused("part-00000-of-spark.parquet", &bytes);
    assert!(
        said.contains("part-00000-of-spark.parquet: its name is not"),
        "{said}"
    );
    let said = refused("run-0001.parquet", b"no Parquet");
    assert!(said.contains("run-0001.parquet"), "{said}");
    let doubled = text(exchanges).rsplit('/').next().expect("a name");
    let said = refused(&doubled.replace("-0000.", "-0009."), &bytes);
    assert!(said.contains("there twice"), "{said}");

    // Linked folders are read.
    let before = comparable(records(&["read", "--json", text(folder.path())]));
    let elsewhere = tempfile::tempdir().expect("a folder");
    let day = exchanges.ancestors().nth(3).expect("a day");
    let moved = elsewhere.path().join("day");
    let copied = Command::new("cp").arg("-r").args([day, &moved]).status();
    assert!(copied.expect("cp runs").success());
    std::fs::remove_dir_all(day).expect("it is ours");
    std::os::unix::fs::symlink(&moved, day).expect("a link");
    assert_eq!(
        comparable(records(&["read", "--json", text(folder.path())])),
        before
    );
}
