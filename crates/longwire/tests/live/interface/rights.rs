//! Privileges of the processes of an observation started by root.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;
use testbed::binary::{done, number, of_type, program, records, shown, stderr};
use testbed::capture::may_capture;
use testbed::waiting::wait_until;
use testbed::{Postgres, Started};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reads a field of every thread, such as `Uid`, `NoNewPrivs` or `CapPrm`.
fn of_threads(process: u32, field: &str) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let each = threads.flatten().filter_map(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    each.collect()
}

fn value(process: u32, field: &str) -> String {
    of_threads(process, field).swap_remove(0)
}

fn helpers(longwire: u32) -> Vec<(u32, String)> {
    let children = std::fs::read_to_string(format!("/proc/{longwire}/task/{longwire}/children"));
    let children = children.expect("the kernel lists children");
    let numbers = children.split_whitespace().filter_map(|word| word.parse().ok());
    numbers
        .map(|number: u32| {
            let name = std::fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
            (number, name.trim().to_owned())
        })
        .collect()
}

fn observing(command: &mut Command) -> Started {
    let mut started = Started::heard(command.stdout(Stdio::null()));
    started.hears("Ctrl-C ends");
    wait_until("packets are read", || {
        let names = std::fs::read_dir(format!("/proc/{}/task", started.id())).expect("it runs");
        names.flatten().any(|thread| {
            let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
            name.trim() == "longwire captur"
        })
    });
    started
}

/// Limits the damage of a decoder bug to the files of a user that owns none, permanently and in
/// every thread.
#[test]
fn what_reads_packets_is_a_user_without_rights() {
    let folder = tempfile::tempdir().expect("a directory");
    let (recording, packets) = (folder.path().join("run.lwr"), folder.path().join("run.pcapng"));
    let (recording, packets) = (recording.display().to_string(), packets.display().to_string());
    let options = [
        "watch",
        "--interface",
        "lo",
        "--port",
        "1",
        "-o",
        &recording,
        "--write-pcap",
        &packets,
        "--prometheus",
        "127.0.0.1:0",
    ];
    for by_sudo in [false, true] {
        let mut command = may_capture(&options);
        command.env_remove("SUDO_UID").env_remove("SUDO_GID");
        if by_sudo {
            command.env("SUDO_UID", "4711").env("SUDO_GID", "4712");
        }
        let mut longwire = observing(&mut command);
        let threads = of_threads(longwire.id(), "Uid");
        assert!(threads.len() > 2, "{threads:?}");
        let nothing = "0".repeat(16);
        for field in ["CapPrm", "CapEff", "CapInh", "CapAmb"] {
            assert!(
                of_threads(longwire.id(), field)
                    .iter()
                    .all(|rights| *rights == nothing),
                "{field}"
            );
        }
        assert!(
            of_threads(longwire.id(), "NoNewPrivs")
                .iter()
                .all(|set| set == "1")
        );
        let root = |ids: &String| ids.split(' ').any(|id| id == "0");
        for field in ["Uid", "Gid"] {
            let ids = of_threads(longwire.id(), field);
            assert!(!is_root() || !ids.iter().any(root), "{field}: {ids:?}");
        }
        if is_root() {
            assert_eq!(value(longwire.id(), "Groups"), "");
            let user = value(longwire.id(), "Uid");
            assert_eq!(user == "4711 4711 4711 4711", by_sudo, "{user}");
        }
        longwire.signal(libc::SIGINT);
        let status = longwire.ends_within(std::time::Duration::from_secs(30));
        assert_eq!(
            status.code(),
            Some(130),
            "outputs were opened before: {}",
            longwire.said()
        );
    }
}

/// Limits the rest of root's rights to one lookup process, unreachable for anything longwire
/// starts.
#[test]
fn a_process_apart_looks_for_programs_and_can_do_nothing_else() {
    if !is_root() {
        // An ordinary user only looks up their own programs and needs no such process.
        return;
    }
    let longwire = observing(&mut may_capture(&["watch", "--interface", "lo", "--port", "1"]));
    let helpers = helpers(longwire.id());
    let [(lookup, name)] = &helpers[..] else {
        panic!("{helpers:?}");
    };
    assert_eq!(name, "longwire lookup");
    // CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE (linux/capability.h).
    let rights = u64::from_str_radix(&value(*lookup, "CapPrm"), 16).expect("a number");
    assert_eq!(rights & !(1 << 2 | 1 << 19), 0, "{rights:x}");
    assert_eq!(value(*lookup, "NoNewPrivs"), "1");
    let open = std::fs::read_dir(format!("/proc/{lookup}/fd")).expect("root may look");
    assert_eq!(open.count(), 1, "its channel, and nothing that longwire has open");
    let lookup = *lookup;
    drop(longwire);
    wait_until("it ends with longwire", || {
        !Path::new(&format!("/proc/{lookup}")).exists()
    });
}

/// Program names are still found although longwire may not look them up itself, and the command
/// runs as the caller.
#[test]
fn the_command_is_the_callers_and_programs_are_found() {
    let server = Postgres::start();
    let port = server.port().to_string();
    let script = format!(
        "id -u >&2; grep NoNewPrivs /proc/self/status >&2; exec psql -X -q -o /dev/null -d '{}' -c 'select pg_sleep(1)'",
        server.url()
    );
    let arguments = [
        "watch",
        "--interface",
        "lo",
        "--port",
        &port,
        "--json",
        "--",
        "sh",
        "-c",
        &script,
    ];
    let output = may_capture(&arguments).output().expect("the binary starts");
    done(&output);
    let said = stderr(&output);
    let own = rustix::process::geteuid().as_raw();
    assert!(said.lines().any(|line| line == own.to_string()), "{said}");
    assert!(said.contains("NoNewPrivs:\t0"), "{said}");
    let records = records(&output);
    let connections = of_type(&records, "connection");
    assert_eq!(connections.len(), 1, "{}", shown(&output));
    assert_eq!(connections[0]["client_process"], "psql", "{}", connections[0]);
    assert!(number(connections[0], "client_process_number") > 0);
    if is_root() {
        assert_eq!(connections[0]["server_process"], "postgres", "{}", connections[0]);
    }
}

/// A killed run leaves no keys on disk and no process that holds them.
#[test]
fn keys_are_on_no_disk_and_gone_with_a_killed_run() {
    let places = tempfile::tempdir().expect("a directory");
    let script = "echo \"$SSLKEYLOGFILE\" >&2; echo CLIENT_RANDOM_OF_A_TEST >> \"$SSLKEYLOGFILE\" && echo written >&2; exec sleep 600";
    let arguments = [
        "watch",
        "--interface",
        "lo",
        "--port",
        "1",
        "--keys-from-command",
        "--",
        "sh",
        "-c",
        script,
    ];
    let run = |kill: bool| {
        let mut command = may_capture(&arguments);
        command.env("TMPDIR", places.path()).env_remove("XDG_RUNTIME_DIR");
        let mut longwire = Started::heard(command.stdout(Stdio::null()));
        let path = longwire.hears("/proc/");
        longwire.hears("written");
        for entry in files(places.path()) {
            let content = std::fs::read(&entry).expect("it can be read");
            let has_key = content.windows(23).any(|part| part == b"CLIENT_RANDOM_OF_A_TEST");
            assert!(!has_key, "{}", entry.display());
        }
        longwire.signal(if kill { libc::SIGKILL } else { libc::SIGTERM });
        longwire.ends_within(std::time::Duration::from_secs(30));
        wait_until("no process has the keys", || !Path::new(&path).exists());
    };
    run(true);
    run(false);
    wait_until("nothing is left of either run", || {
        files(places.path()).is_empty()
    });
    assert_eq!(std::fs::read_dir(places.path()).expect("it is there").count(), 0);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => files(&path),
            path => vec![path],
        })
        .collect()
}

/// A copy owned by another user.
fn copied(mode: u32) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    let path = folder.path().join("longwire");
    std::fs::copy(program(), &path).expect("the program can be copied");
    if mode & 0o6000 != 0 {
        // Owned by another user: the bits have no effect for the owner.
        chown(&path, Some(65_533), Some(65_533)).expect("root may");
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("root may");
    (folder, path)
}

/// An administrator's mistake grants no rights.
#[test]
fn a_setuid_or_setgid_program_refuses_to_run() {
    if !is_root() {
        return;
    }
    for (mode, runs) in [(0o755, true), (0o4755, false), (0o2755, false), (0o6755, false)] {
        let (_folder, path) = copied(mode);
        let output = Command::new(&path).arg("--version").output().expect("it starts");
        let said = stderr(&output);
        assert_eq!(output.status.success(), runs, "{mode:o}: {said}");
        if !runs {
            assert_eq!(output.status.code(), Some(2));
            assert!(
                said.contains("setuid or setgid") && said.contains("hint: chmod u-s,g-s "),
                "{said}"
            );
        }
    }
}

/// Tables are created one after another, long after privileges were dropped: in a folder created
/// for the unprivileged user, or not at all.
#[test]
fn tables_are_written_by_the_user_that_reads_packets() {
    let server = Postgres::start();
    let port = server.port().to_string();
    let folder = tempfile::tempdir().expect("a directory");
    let open = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    let tables = folder.path().join("tables").display().to_string();
    let command = [
        "--",
        "psql",
        "-X",
        "-q",
        "-o",
        "/dev/null",
        "-d",
        &server.url(),
        "-c",
        "select 1",
    ];
    let watch = |folder: &str| {
        let options = ["watch", "--interface", "lo", "--port", &port, "--parquet", folder];
        may_capture(&[&options[..], &command].concat())
            .output()
            .expect("the binary starts")
    };
    let output = watch(&tables);
    done(&output);
    let written = files(Path::new(&tables));
    assert!(
        written
            .iter()
            .any(|file| file.extension().is_some_and(|end| end == "parquet")),
        "{written:?}"
    );
    if is_root() {
        let owners = ["root's"].map(|name| folder.path().join(name).display().to_string());
        std::fs::create_dir(&owners[0]).expect("a directory");
        let outputs = ["records", "page.html", "packets.pcap"].map(|name| folder.path().join(name));
        let [records, page, packets] = outputs.each_ref().map(|path| path.display().to_string());
        let options = [
            "watch",
            "--interface",
            "lo",
            "--port",
            &port,
            "--parquet",
            &owners[0],
        ];
        let also = ["-o", &records, "--html", &page, "--write-pcap", &packets];
        let output = may_capture(&[&options[..], &also, &command].concat())
            .output()
            .expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(
            outputs.iter().all(|path| !path.exists()),
            "an output was left behind"
        );
        assert!(
            stderr(&output).contains("give it the folder with chown"),
            "{}",
            shown(&output)
        );
    }
}
