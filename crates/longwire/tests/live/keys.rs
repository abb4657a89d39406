//! Real programs log keys of connections to real servers, and tshark decrypts captures with them.

mod drivers;
mod same_work;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use testbed::binary::{done, longwire, shown, stderr, stdout};
use testbed::{Capture, MariaDb, Postgres, Started, require};

/// TLS versions as named in the settings of PostgreSQL and MariaDB, and the label of one key log
/// line per session.
const VERSIONS: [(&str, &str); 2] = [
    ("TLSv1.2", "CLIENT_RANDOM"),
    ("TLSv1.3", "CLIENT_TRAFFIC_SECRET_0"),
];

/// Visible to tshark if the keys fit.
const MARK: &str = "opened by its keys";

fn postgres(version: &str) -> Postgres {
    let options = Postgres::options().tls();
    let options = options.setting("ssl_min_protocol_version", version);
    options.setting("ssl_max_protocol_version", version).start()
}

fn mariadb(version: &str) -> MariaDb {
    MariaDb::options().tls().setting("tls-version", version).start()
}

struct Run {
    folder: tempfile::TempDir,
    options: Vec<String>,
}

impl Run {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        Self {
            folder,
            options: Vec::new(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("keys.log")
    }

    fn run_program(&self, program: &Command) -> Output {
        let file = self.file().display().to_string();
        let mut command = longwire(&["keys", "-o", &file]);
        command.args(&self.options).arg("--");
        command.arg(program.get_program()).args(program.get_args());
        let set = program
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)));
        command.envs(set).output().expect("the binary starts")
    }

    fn lines(&self) -> Vec<String> {
        let log = fs::read_to_string(self.file()).expect("the keys");
        log.lines().map(str::to_owned).collect()
    }

    fn sessions(&self, label: &str) -> usize {
        let lines = self.lines();
        let keys: Vec<&String> = lines.iter().filter(|line| !line.starts_with('#')).collect();
        for line in &keys {
            let words: Vec<&str> = line.split(' ').collect();
            let is_whole = |word: &str, least: usize| {
                word.len() >= least && word.bytes().all(|byte| byte.is_ascii_hexdigit())
            };
            assert!(
                words.len() == 3 && is_whole(words[1], 64) && is_whole(words[2], 64),
                "cut: {} words",
                words.len()
            );
        }
        let different: BTreeSet<&&String> = keys.iter().collect();
        assert_eq!(different.len(), keys.len(), "written twice");
        let label = format!("{label} ");
        keys.iter().filter(|line| line.starts_with(&label)).count()
    }
}

/// Successful, with the right session count, and without any key in the output.
#[track_caller]
fn assert_written(output: &Output, sessions: usize, run: &Run) {
    done(output);
    let word = if sessions == 1 { "session" } else { "sessions" };
    let said = format!(
        "longwire: keys of {sessions} TLS {word} are in {}; whoever has this file",
        run.file().display()
    );
    assert!(stderr(output).contains(&said), "{}", shown(output));
    for line in run.lines().iter().filter(|line| !line.starts_with('#')) {
        let secret = line.split(' ').next_back().expect("a secret");
        assert!(!shown(output).contains(secret));
    }
}

fn statements(capture: &Path, port: u16, protocol: &str, log: Option<&Path>) -> String {
    let mut tshark = Command::new(require("tshark"));
    tshark
        .arg("-r")
        .arg(capture)
        .args(["-d", &format!("tcp.port=={port},{protocol}")]);
    if let Some(log) = log {
        tshark.args(["-o", &format!("tls.keylog_file:{}", log.display())]);
    }
    let field = format!("{protocol}.query");
    tshark.args(["-Y", &field, "-T", "fields", "-e", &field]);
    testbed::process::run(tshark)
}

#[track_caller]
fn opens(run: &Run, capture: Capture, port: u16, protocol: &str, marks: usize) {
    let capture = capture.stop();
    let seen = |log| {
        statements(&capture.path(), port, protocol, log)
            .matches(MARK)
            .count()
    };
    assert_eq!((seen(None), seen(Some(&*run.file()))), (0, marks));
}

#[test]
fn keys_of_psql_open_its_connection() {
    for (version, label) in VERSIONS {
        let (server, run) = (postgres(version), Run::new());
        let capture = Capture::start(server.port());
        let mut psql = server.client("psql");
        psql.env("PGSSLMODE", "require");
        psql.args(["-X", "-A", "-t", "-c", &format!("select '{MARK}'")]);
        let output = run.run_program(&psql);
        assert_written(&output, 1, &run);
        assert_eq!(
            stdout(&output),
            format!("{MARK}\n"),
            "the program's output is its own"
        );
        assert_eq!(run.sessions(label), 1, "{version}");
        opens(&run, capture, server.port(), "pgsql", 1);
        let mode = run.file().metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn keys_of_mariadbs_client_open_its_connection() {
    for (version, label) in VERSIONS {
        let (server, run) = (mariadb(version), Run::new());
        let capture = Capture::start(server.port());
        let mut client = server.client("mariadb");
        client.args(["--ssl", "--batch", "--execute", &format!("select '{MARK}'")]);
        assert_written(&run.run_program(&client), 1, &run);
        assert_eq!(run.sessions(label), 1, "{version}");
        opens(&run, capture, server.port(), "mysql", 1);
    }
}

#[test]
fn threads_and_children_write_whole_lines() {
    let (server, run) = (postgres("TLSv1.3"), Run::new());
    server.sql("create table accounts as select 1 as id");
    let script =
        "echo 'select 1;' > $SCRIPT && pgbench -n -C -c 8 -j 4 -t 25 -f $SCRIPT && psql -X -q -c 'select 1'";
    let mut shell = server.client("sh");
    shell.args(["-c", script]).env("PGSSLMODE", "require");
    shell.env("SCRIPT", run.folder.path().join("script.sql"));
    let output = run.run_program(&shell);
    done(&output);
    let sessions = run.sessions("CLIENT_TRAFFIC_SECRET_0");
    assert!(sessions > 8 * 25, "{sessions} sessions");
    assert_written(&output, sessions, &run);
    // A second run only counts its own sessions.
    let mut psql = server.client("psql");
    psql.args(["-X", "-q", "-c", "select 1"])
        .env("PGSSLMODE", "require");
    assert_written(&run.run_program(&psql), 1, &run);
    assert_eq!(run.sessions("CLIENT_TRAFFIC_SECRET_0"), sessions + 1);
}

#[test]
fn a_command_without_tls_is_told_so_and_leaves_no_file() {
    let run = Run::new();
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]);
        run.run_program(&shell)
    };
    for (script, status) in [("true", 1), ("exit 7", 7), ("kill -9 $$", 137)] {
        let output = shell(script);
        assert_eq!(output.status.code(), Some(status), "{}", shown(&output));
        assert!(
            stderr(&output).contains("wrote no keys of TLS sessions\nhint: "),
            "{}",
            shown(&output)
        );
        assert!(!run.file().exists());
    }
    let output = shell("echo ${LD_PRELOAD##*:}");
    let library = PathBuf::from(stdout(&output).trim());
    assert_eq!(
        library.extension().and_then(|name| name.to_str()),
        Some("so"),
        "{}",
        shown(&output)
    );
    assert!(!library.exists() && !library.parent().expect("a directory").exists());
}

#[test]
fn an_interrupted_command_has_its_keys_told() {
    let (server, run) = (postgres("TLSv1.3"), Run::new());
    let mut command = longwire(&["keys", "-o", &run.file().display().to_string(), "--", "sh", "-c"]);
    command.arg("psql -X -q -c 'select 1' >&2; echo asked >&2; sleep 100");
    let client = server.client("psql");
    command.envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut started = Started::heard(command.env("PGSSLMODE", "require"));
    started.hears("asked");
    let output = started.interrupt();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    assert!(
        stderr(&output).contains("keys of 1 TLS session are in"),
        "{}",
        shown(&output)
    );
}

#[test]
fn at_a_terminal_ctrl_c_is_the_commands() {
    let folder = tempfile::tempdir().expect("a directory");
    let script = "trap \"echo cancelled\" INT; echo ready; until read word; do :; done; echo \"the word: $word\"; exit 3";
    // Without `exec`, Ctrl-C may kill the waiting shell and replace longwire's status.
    let run = format!(
        "exec {} keys -o {}/k -- sh -c '{script}'",
        testbed::binary::program().display(),
        folder.path().display()
    );
    let mut terminal = Command::new(require("script"));
    terminal.args(["-qec", &run, "/dev/null"]);
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().expect("script starts");
    let mut typed = terminal.stdin.take().expect("piped");
    let mut lines = BufReader::new(terminal.stdout.take().expect("piped")).lines();
    let mut until = |words: &str| {
        let mut shown = lines.by_ref().map(|line| line.expect("text"));
        assert!(shown.any(|line| line.contains(words)), "'{words}' is not shown");
    };
    until("ready");
    typed.write_all(b"\x03").expect("the terminal takes keys");
    until("cancelled");
    // Longer than the grace period of a terminated command.
    std::thread::sleep(std::time::Duration::from_millis(5500));
    typed.write_all(b"on\n").expect("the terminal takes keys");
    until("the word: on");
    until("wrote no keys");
    assert_eq!(terminal.wait().expect("it ends").code(), Some(3));
}

#[test]
fn where_nothing_can_be_loaded_from_that_is_said_and_the_command_runs() {
    let folder = tempfile::tempdir().expect("a directory");
    let blank = folder.path().join("a b");
    fs::create_dir(&blank).expect("a directory");
    let file = folder.path().join("keys.log").display().to_string();
    let mut command = longwire(&["keys", "-o", &file, "--", "sh", "-c"]);
    command
        .arg("echo ${LD_PRELOAD-none}")
        .env("TMPDIR", &blank)
        .env_remove("XDG_RUNTIME_DIR");
    let output = command.output().expect("the binary starts");
    assert_eq!(stdout(&output), "none\n", "{}", shown(&output));
    assert!(
        stderr(&output).contains("set TMPDIR to a path without blanks"),
        "{}",
        shown(&output)
    );
    assert_eq!(fs::read_dir(&blank).expect("it is there").count(), 0);
}

#[test]
fn what_cannot_keep_keys_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("shared.log"), "").expect("it can be written");
    fs::set_permissions(path("shared.log"), fs::Permissions::from_mode(0o644)).expect("its owner may");
    let refused = |arguments: &[&str], words: &[&str]| {
        testbed::binary::refused(&[&["keys"], arguments].concat(), words);
    };
    refused(
        &["-o", &path("shared.log"), "--", "true"],
        &["can be read or written by others (mode 0644)", "hint: chmod 600 "],
    );
    std::os::unix::fs::symlink(path("elsewhere"), path("link.log")).expect("a link");
    refused(&["-o", &path("link.log"), "--", "true"], &["is a symbolic link"]);
    refused(
        &["-o", &path("no/folder.log"), "--", "true"],
        &["could not write the session keys to", "No such file"],
    );
    let output = longwire(&["keys", "-o", &path("a.log"), "--", "no-such-program"])
        .output()
        .expect("longwire can be started");
    assert_eq!(output.status.code(), Some(127));
    assert!(shown(&output).contains("could not start no-such-program"));
    refused(
        &[
            "-o",
            &path("a.log"),
            "--java-agent",
            "/no/agent.jar",
            "--",
            "true",
        ],
        &["could not read the Java agent", "hint: "],
    );
    refused(&["-o", &path("a.log")], &["<COMMAND>"]);
    assert!(!Path::new(&path("a.log")).exists());
}
