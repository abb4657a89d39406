//! Failed outputs do not affect the application behind the relay.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testbed::Started;
use testbed::binary::longwire;
use testbed::waiting::wait_until;

fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut writer = stream.try_clone()?;
                std::io::copy(&mut &stream, &mut writer)
            });
        }
    });
    address
}

const APPLICATION: &str = "echo $LONGWIRE_PORT > port.new; mv port.new port; while [ ! -e stop ]; do sleep 0.02; done; \
                           echo done > ended";

/// `command` is the binary, or a shell that execs it; `APPLICATION` runs in `folder`.
fn watch(mut command: Command, options: &[&str], script: &str, folder: &Path) -> Started {
    let target = format!("tcp://{}", server());
    command
        .args(options)
        .args([&target, "--", "sh", "-c", script])
        .current_dir(folder);
    Started::start(&mut command)
}

fn port(folder: &Path) -> u16 {
    let file = folder.join("port");
    wait_until("the application says its port", || file.exists());
    let text = std::fs::read_to_string(file).expect("it is there");
    text.trim().parse().expect("a port")
}

fn use_relay(folder: &Path, span: Duration) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", port(folder))).expect("the relay listens");
    let until = Instant::now() + span;
    let mut count = 0_u64;
    while Instant::now() < until {
        let request = (count.wrapping_mul(0x9e37_79b9_7f4a_7c15)).to_be_bytes();
        stream.write_all(&request).expect("the relay takes it");
        let mut reply = [0; 8];
        stream.read_exact(&mut reply).expect("the relay brings the reply");
        assert_eq!(reply, request);
        count += 1;
    }
    count
}

#[track_caller]
fn ends_with_loss(mut run: Started, folder: &Path) {
    assert!(
        run.child().try_wait().expect("it can be asked").is_none(),
        "it goes on"
    );
    std::fs::write(folder.join("stop"), "").expect("it can be written");
    let status = run.ends_within(Duration::from_secs(20));
    assert!(folder.join("ended").exists(), "the application came to its end");
    assert_eq!(status.code(), Some(2), "the status says that output was lost");
}

/// Longer than the checkpoint interval of a recording.
const A_WHILE: Duration = Duration::from_millis(1500);
/// Longer than the interval of progress lines without a terminal.
const LINE_OF_A_LOG: Duration = Duration::from_millis(11_000);

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_application() {
    let folder = folder();
    let mut command = longwire(&["watch"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = watch(command, &["-o", "/dev/full"], APPLICATION, folder.path());
    use_relay(folder.path(), A_WHILE);
    let stderr = run.child().stderr.take().expect("it was requested");
    ends_with_loss(run, folder.path());
    let said: Vec<String> = BufReader::new(stderr).lines().map_while(Result::ok).collect();
    assert!(
        said.iter()
            .any(|line| line.contains("the recording is given up: No space left")),
        "{said:?}"
    );
}

#[test]
fn a_file_limit_ends_the_recording_and_not_the_application() {
    let folder = folder();
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -f 4; exec \"$0\" \"$@\""])
        .arg(testbed::binary::program())
        .arg("watch")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    let run = watch(command, &["-q", "-o", "run.lwr"], APPLICATION, folder.path());
    let mut exchanges = 0;
    let recording = folder.path().join("run.lwr");
    wait_until("the recording is about as long as it may be", || {
        exchanges += use_relay(folder.path(), Duration::from_millis(200));
        std::fs::metadata(&recording).is_ok_and(|file| file.len() >= 2048)
    });
    use_relay(folder.path(), A_WHILE);
    ends_with_loss(run, folder.path());
}

#[test]
fn a_reader_of_records_that_leaves_takes_nothing_along() {
    let folder = folder();
    let mut command = longwire(&["watch"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = watch(command, &["--json", "--exchanges"], APPLICATION, folder.path());
    let mut first = String::new();
    let mut stdout = BufReader::new(run.child().stdout.take().expect("it was requested"));
    use_relay(folder.path(), A_WHILE);
    stdout.read_line(&mut first).expect("it writes");
    assert!(first.contains("conditions"), "{first}");
    drop(stdout);
    use_relay(folder.path(), A_WHILE);
    ends_with_loss(run, folder.path());
}

#[test]
fn a_reader_of_records_that_sleeps_holds_nothing_up() {
    let folder = folder();
    let mut command = longwire(&["watch"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let run = watch(command, &["--json", "--exchanges"], APPLICATION, folder.path());
    let exchanges = use_relay(folder.path(), 2 * A_WHILE);
    assert!(
        exchanges > 500,
        "more than a pipe holds of their records: {exchanges}"
    );
    let memory = run.figure("VmHWM").expect("it runs");
    assert!(memory < 150_000, "{memory} KiB");
    ends_with_loss(run, folder.path());
}

#[test]
fn a_reader_of_stderr_that_leaves_takes_nothing_along() {
    let folder = folder();
    let mut command = longwire(&["watch"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = watch(command, &[], APPLICATION, folder.path());
    drop(run.child().stderr.take());
    use_relay(folder.path(), LINE_OF_A_LOG);
    ends_with_loss(run, folder.path());
}

#[test]
fn a_pipe_that_nobody_reads_holds_nothing_up() {
    let folder = folder();
    let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.expect("it is there").success());
    let mut command = longwire(&["watch"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let run = watch(command, &["-o", "pipe"], APPLICATION, folder.path());
    use_relay(folder.path(), A_WHILE);
    ends_with_loss(run, folder.path());
}

#[test]
fn a_relay_without_readers_goes_on() {
    let folder = folder();
    let mut command = longwire(&["relay"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = watch(command, &["--json"], APPLICATION, folder.path());
    drop((run.child().stdout.take(), run.child().stderr.take()));
    use_relay(folder.path(), A_WHILE);
    ends_with_loss(run, folder.path());
}

/// On termination writes `saved`, after a delay and using the relay; its child processes would
/// continue to sleep.
const SAVES: &str = "sleep 600 & echo $! > sleeper; trap 'sleep 0.3; echo > saved; exit 0' TERM; \
                     echo $LONGWIRE_PORT > port.new; mv port.new port; while :; do sleep 0.02; done";

fn is_gone(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("sleeper")).expect("it was written");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", text.trim()));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn the_application_is_told_to_end_and_its_group_goes_with_it() {
    for command in ["watch", "relay"] {
        let folder = folder();
        let mut command = longwire(&[command]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = watch(command, &[], SAVES, folder.path());
        use_relay(folder.path(), Duration::from_millis(100));
        run.signal(libc::SIGTERM);
        use_relay(folder.path(), Duration::from_millis(100));
        assert_eq!(run.ends_within(Duration::from_secs(10)).code(), Some(143));
        assert!(folder.path().join("saved").exists(), "it had time");
        assert!(is_gone(folder.path()), "what it started ended with it");
    }
}

#[test]
fn the_application_is_not_left_behind_when_longwire_is_killed() {
    let folder = folder();
    let mut command = longwire(&["watch"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let run = watch(command, &[], SAVES, folder.path());
    port(folder.path());
    run.signal(libc::SIGKILL);
    wait_until("the application saves", || folder.path().join("saved").exists());
}
