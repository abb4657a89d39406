//! Bounds on memory and time of reading file arguments, protection of existing files, and leftovers
//! of a killed run.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::binary::{longwire, program};
use testbed::waiting::wait_until;
use testbed::{Postgres, Redis, Started};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("it is there").success());
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Exit status and stderr of a command that must end within 20 seconds.
fn ended(command: &mut Command) -> (Option<i32>, String) {
    let mut run = Started::heard(command.stdout(Stdio::null()).stdin(Stdio::null()));
    let status = run.ends_within(Duration::from_secs(20));
    wait_until("its last words are heard", || run.has_said_all());
    (status.code(), run.said())
}

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/captures/pgjdbc4274-pg15-trust.pcap"
);

#[test]
fn a_pipe_a_device_or_a_directory_in_place_of_a_small_file_is_refused_at_once() {
    let folder = folder();
    let server = Postgres::start();
    let target = server.url();
    let pipe = pipe(folder.path(), "pipe");
    let cases: [&[&str]; 9] = [
        &["agent", "--config"],
        &["agent", "--check-config", "--config"],
        &["lab", "check"],
        &["lab", "run"],
        &["check", CAPTURE, "--budgets"],
        &["load", &target, "-f"],
        &["split", &target, "-f"],
        &[
            "tunnel",
            "near",
            "--listen",
            "0",
            "--to",
            "127.0.0.1:1",
            "--psk-file",
        ],
        &["read", CAPTURE, "--keys"],
    ];
    for arguments in cases {
        for (path, kind) in [
            (pipe.as_path(), "a pipe"),
            (Path::new("/dev/zero"), "a device"),
            (folder.path(), "a directory"),
        ] {
            let (status, said) = ended(longwire(arguments).arg(path));
            assert_eq!(status, Some(2), "{arguments:?} {kind}: {said}");
            assert!(said.contains(&format!("it is {kind}")), "{arguments:?}: {said}");
            assert!(said.contains(text(path)), "{arguments:?}: {said}");
        }
    }
    let (status, said) = ended(longwire(&["plan", text(&pipe), CAPTURE]).stdin(Stdio::null()));
    assert!(status == Some(2) && said.contains("it is a pipe"), "{said}");
}

#[test]
fn a_configuration_of_three_gigabytes_is_refused_within_a_small_memory() {
    let folder = folder();
    let path = folder.path().join("agent.toml");
    File::create(&path)
        .and_then(|file| file.set_len(3 << 30))
        .expect("a sparse file");
    for arguments in ["agent --check-config --config", "agent --config", "lab check"] {
        let mut command = Command::new("sh");
        let script = format!("ulimit -v 2000000; exec \"$0\" {arguments} \"$1\"");
        command.args(["-c", &script]).arg(program()).arg(&path);
        let (status, said) = ended(&mut command);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("larger than 1 MiB"), "{arguments}: {said}");
    }
}

fn agent(folder: &Path, more: &str) -> PathBuf {
    let path = folder.join("agent.toml");
    let relay = "[[relay]]\ntarget = \"tcp://127.0.0.1:1\"\nlisten = \"127.0.0.1:0\"\n\n";
    fs::write(&path, format!("{relay}{more}")).expect("it is written");
    path
}

#[test]
fn two_relays_with_one_address_are_refused_when_the_configuration_is_checked() {
    let folder = folder();
    let second = |listen: &str| {
        let relay =
            |listen: &str| format!("[[relay]]\ntarget = \"tcp://127.0.0.1:1\"\nlisten = \"{listen}\"\n");
        let text = format!("{}{}", relay("127.0.0.1:15432"), relay(listen));
        let path = folder.path().join("two.toml");
        fs::write(&path, text).expect("it is written");
        ended(longwire(&["agent", "--check-config", "--config"]).arg(&path))
    };
    for listen in [
        "127.0.0.1:15432",
        "15432",
        "0.0.0.0:15432",
        "[::]:15432",
        "localhost:15432",
    ] {
        let (status, said) = second(listen);
        assert_eq!(status, Some(2), "{listen}: {said}");
        assert!(
            said.contains("one address") && said.contains("two.toml:4:1"),
            "{said}"
        );
    }
    for listen in ["127.0.0.1:15433", "127.0.0.2:15432", "127.0.0.1:0"] {
        assert_eq!(second(listen).0, Some(0), "{listen}");
    }
    let page = agent(folder.path(), "[prometheus]\nlisten = \"127.0.0.1:15432\"\n");
    let text = fs::read_to_string(&page)
        .expect("it is there")
        .replace("127.0.0.1:0", "0.0.0.0:15432");
    fs::write(&page, text).expect("it is written");
    let (status, said) = ended(longwire(&["agent", "--check-config", "--config"]).arg(&page));
    assert!(status == Some(2) && said.contains("listened on twice"), "{said}");
}

fn health(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    stream
        .write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("it takes it");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn a_pipe_in_place_of_the_configuration_does_not_stop_an_agent_that_reads_it_again() {
    let folder = folder();
    let config = agent(folder.path(), "[prometheus]\nlisten = \"127.0.0.1:0\"\n");
    let mut command = longwire(&["agent", "--config", text(&config)]);
    let (mut run, address) = Started::listening(
        command.stdout(Stdio::null()),
        "series for Prometheus are at http://",
    );
    let text = fs::read_to_string(&config).expect("it is there");
    for _ in 0..3 {
        fs::remove_file(&config).expect("it is there");
        pipe(folder.path(), "agent.toml");
        run.signal(libc::SIGHUP);
        let said = run.hears("the configuration was not changed");
        assert!(said.contains("it is a pipe"), "{said}");
        // Observation continues; the health page explains why the old configuration is kept.
        wait_until("health says why", || health(address).contains("a pipe"));
        fs::remove_file(&config).expect("it is there");
        fs::write(&config, &text).expect("it is written");
        run.signal(libc::SIGHUP);
        run.hears("the configuration was read again");
        wait_until("all is well", || health(address).starts_with("HTTP/1.1 200"));
    }
    run.signal(libc::SIGTERM);
    run.ends_within(Duration::from_secs(20));
}

const WRITERS: [&[&str]; 3] = [
    &["read", CAPTURE, "--html"],
    &["check", CAPTURE, "--max-round-trips", "1000000", "--junit"],
    &["predict", CAPTURE, "--rtt", "1ms", "--html"],
];

#[test]
fn files_that_are_written_over_are_this_users_alone_afterwards() {
    let folder = folder();
    for arguments in WRITERS {
        let path = folder.path().join("out");
        fs::write(&path, "before").expect("it is written");
        fs::set_permissions(&path, Permissions::from_mode(0o666)).expect("its owner may");
        let output = longwire(arguments).arg(&path).output().expect("it starts");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let about = path.metadata().expect("it is there");
        assert_eq!(about.permissions().mode() & 0o777, 0o600, "{arguments:?}");
        assert_ne!(fs::read(&path).expect("it is there"), b"before");
        fs::remove_file(&path).expect("it is there");
    }
}

#[test]
fn links_and_other_users_files_are_not_written_over() {
    let folder = folder();
    let victim = folder.path().join("victim");
    let link = folder.path().join("link");
    symlink(&victim, &link).expect("a link");
    let mut cases = vec![(link, "a link")];
    let is_root =
        fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    if is_root {
        let others = folder.path().join("others");
        fs::write(&others, "before").expect("it is written");
        std::os::unix::fs::chown(&others, Some(65534), None).expect("root may");
        cases.push((others, "another user"));
    }
    for arguments in WRITERS {
        for (path, reason) in &cases {
            fs::write(&victim, "before").expect("it is written");
            let (status, said) = ended(longwire(arguments).arg(path));
            assert_eq!(status, Some(2), "{arguments:?}: {said}");
            assert!(said.contains(reason), "{arguments:?}: {said}");
            assert_eq!(fs::read(path).expect("it is there"), b"before");
        }
    }
    let redis = Redis::start();
    let target = format!("redis://127.0.0.1:{}", redis.port());
    for (path, reason) in &cases {
        let (status, said) =
            ended(longwire(&["watch", "-o", text(path), &target, "--", "true"]).stdin(Stdio::null()));
        assert!(status == Some(2) && said.contains(reason), "{said}");
        assert_eq!(fs::read(path).expect("it is there"), b"before");
    }
}

fn complete(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn a_killed_agent_leaves_the_tables_of_the_windows_before() {
    let folder = folder();
    let redis = Redis::start();
    let tables = folder.path().join("tables");
    let config = folder.path().join("agent.toml");
    let text_of_config = format!(
        "[[relay]]\ntarget = \"redis://127.0.0.1:{}\"\nlisten = \"127.0.0.1:0\"\n\n[windows]\nlength = \"1s\"\n\n[parquet]\nfolder = \"{}\"\n",
        redis.port(),
        text(&tables)
    );
    fs::write(&config, text_of_config).expect("it is written");
    let mut command = longwire(&["agent", "--config", text(&config)]);
    let (mut run, address) = Started::listening(command.stdout(Stdio::null()), "relaying ");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let mut ping = || {
        stream.write_all(b"PING\r\n").expect("it takes it");
        stream.read_exact(&mut [0; 7]).expect("the reply");
    };
    wait_until("exchanges are in files that are complete", || {
        ping();
        complete(&tables)
            .iter()
            .any(|path| text(path).contains("/exchanges/"))
    });
    run.kill();
    let output = longwire(&["read", "--json", text(&tables)])
        .output()
        .expect("it starts");
    let records = String::from_utf8_lossy(&output.stdout);
    let summary = records.lines().find(|line| line.contains("\"type\":\"summary\""));
    let summary: serde_json::Value =
        serde_json::from_str(summary.unwrap_or_else(|| panic!("{records}"))).expect("a record");
    assert!(
        summary["exchanges"].as_u64().is_some_and(|count| count > 0),
        "{summary}"
    );
}
