//! Login passwords appear in no output, for any protocol, form and output. Literals only appear on
//! request.

mod conversations;
mod forms;
mod real;
mod stores;

use crate::findings::{done, longwire, records};
use conversations::Conversation;
use model::Protocol;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use testbed::{Capture, require};

const PASSWORD: &str = "kestrel";
const USER: &str = "mallory";
/// Appears in statements, and is kept if literals are kept.
const LITERAL: &str = "osprey";
/// Protocols without a conversation.
const UNSPOKEN: [Protocol; 5] = [
    Protocol::Etcd,
    Protocol::Bigquery,
    Protocol::Firestore,
    Protocol::Fastcgi,
    Protocol::Tls,
];

#[test]
fn no_password_of_a_login_message_reaches_an_output() {
    let folder = tempfile::tempdir().expect("a directory");
    let servers = real::Servers::start();
    let listening = |conversation: Conversation| {
        let port = listen(conversation.steps.clone());
        (conversation, port)
    };
    let scripted: Vec<(Conversation, u16)> = conversations::all()
        .into_iter()
        .chain(stores::watched())
        .map(listening)
        .collect();
    let ports: Vec<u16> = servers
        .ports()
        .into_iter()
        .chain(scripted.iter().map(|(_, port)| *port))
        .collect();
    let captured: Vec<(Conversation, u16)> = stores::captured().into_iter().map(listening).collect();
    let ports = [ports, captured.iter().map(|(_, port)| *port).collect()].concat();
    let capture = Capture::start_ports(&ports);
    for (conversation, port) in &captured {
        play(*port, &conversation.steps).expect("its server answers");
    }
    let mut runs: Vec<(&str, String, Vec<String>)> = Vec::new();
    for (conversation, port) in &scripted {
        let target = format!(
            "{}://{USER}:{PASSWORD}@127.0.0.1:{port}/shop",
            conversation.scheme
        );
        runs.push((conversation.name, target, client(folder.path(), conversation)));
    }
    for login in servers.logins() {
        runs.push((login.name, login.target, login.words));
    }
    let leaks_of = |keep: bool| {
        let leaks = runs.iter().map(|(name, target, words)| {
            let place = Place::new(folder.path(), name, keep);
            leaks_in(name, &place.outputs_of_watch(target, words), keep)
        });
        leaks.collect::<String>()
    };
    let mut leaks = std::thread::scope(|scope| {
        let without = scope.spawn(|| leaks_of(false));
        leaks_of(true) + &without.join().expect("it ran")
    });
    let capture = capture.stop();
    let passed = std::fs::read(capture.path()).expect("it can be read");
    let passed = leaks_in("", &[(String::new(), passed)], false);
    for form in [
        "text",
        "EBCDIC",
        "TDS's scrambling",
        "text in base64 behind 2 bytes",
    ] {
        assert!(
            passed.contains(&format!("as {form} in")),
            "no client sent it as {form}: {passed}"
        );
    }
    let read = records(&done(longwire(&["read", "--json"]).arg(capture.path())));
    let spoken: Vec<&Value> = read.iter().map(|record| &record["protocol"]).collect();
    let missing: Vec<Protocol> = Protocol::all_known()
        .filter(|protocol| !UNSPOKEN.contains(protocol))
        .filter(|protocol| !spoken.contains(&&Value::from(protocol.name())))
        .collect();
    assert!(missing.is_empty(), "no client spoke {missing:?}");
    for keep in [false, true] {
        let place = Place::new(folder.path(), "capture", keep);
        leaks += &leaks_in("a capture of all", &place.outputs_of_read(&capture.path()), keep);
    }
    assert!(leaks.is_empty(), "{leaks}");
}

#[test]
fn no_password_of_a_target_reaches_an_error() {
    let closed = testbed::process::free_port();
    let silent = listen(Vec::new());
    let mut leaks = String::new();
    let schemes = sys::Scheme::all().map(sys::Scheme::name);
    for scheme in schemes.chain(["nothing"]) {
        for port in [closed, silent] {
            let url = format!("{scheme}://{USER}:{PASSWORD}@127.0.0.1:{port}/shop?password={PASSWORD}");
            for arguments in [
                &["ping", "-n", "1", &url][..],
                &["watch", &url, "--", "true"],
                &["load", &url, "--time", "1s"],
                &["tune", &url],
            ] {
                leaks += &refused(arguments);
            }
        }
    }
    let words = format!("host=127.0.0.1 port={closed} user={USER} password={PASSWORD} nothing={PASSWORD}");
    let jdbc = format!("jdbc:postgresql://127.0.0.1:{closed}/shop?user={USER}&password={PASSWORD}");
    let odd = format!("postgres://{USER}:{PASSWORD}@[:::{closed}/shop?sslmode={PASSWORD}");
    for target in [words, jdbc, odd] {
        for command in ["ping", "watch", "load", "relay", "split"] {
            leaks += &refused(&[command, &target]);
        }
    }
    assert!(leaks.is_empty(), "{leaks}");
}

fn refused(arguments: &[&str]) -> String {
    // The timeout ends commands that wait for Ctrl-C.
    let mut command = std::process::Command::new(require("timeout"));
    command
        .args(["--signal=INT", "5"])
        .arg(testbed::binary::program());
    let output = command
        .args(arguments)
        .stdin(std::process::Stdio::null())
        .output()
        .expect("it starts");
    let seen = [
        ("stdout".to_owned(), output.stdout),
        ("stderr".to_owned(), output.stderr),
    ];
    leaks_in(&format!("{arguments:?}").replace(PASSWORD, "..."), &seen, true)
}

struct Place {
    recording: String,
    page: String,
    keep: &'static [&'static str],
}

impl Place {
    fn new(folder: &Path, name: &str, keep: bool) -> Self {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let path = |end: &str| folder.join(format!("{name}-{keep}.{end}")).display().to_string();
        Self {
            recording: path("lwr"),
            page: path("html"),
            keep: if keep { &["--keep-literals"] } else { &[] },
        }
    }

    fn outputs_of_watch(&self, target: &str, words: &[String]) -> Vec<(String, Vec<u8>)> {
        let mut watch = longwire(&[
            "watch",
            "--json",
            "--exchanges",
            "-o",
            &self.recording,
            "--html",
            &self.page,
            "--quiet",
        ]);
        watch.args(self.keep).args([target, "--"]).args(words);
        let output = done(&mut watch);
        let mut seen = vec![
            ("watch".to_owned(), output.stdout),
            ("watch's messages".to_owned(), output.stderr),
        ];
        seen.push(("watch's page".to_owned(), read_file(&self.page)));
        let recording = zstd::decode_all(&read_file(&self.recording)[..]).expect("it is whole");
        seen.push(("the recording".to_owned(), recording));
        seen.extend(self.outputs_of_read(Path::new(&self.recording)));
        seen
    }

    fn outputs_of_read(&self, file: &Path) -> Vec<(String, Vec<u8>)> {
        let ways: [&[&str]; 4] = [
            &["read", "--html", &self.page],
            &["read", "--json", "--exchanges"],
            &["read", "--json", "--operations", "transaction"],
            &["predict", "--rtt", "40ms", "--explain"],
        ];
        let mut seen = Vec::new();
        for way in ways {
            let keep = if way[0] == "read" { self.keep } else { &[] };
            let output = longwire(way).args(keep).arg(file).output().expect("it starts");
            seen.push((way.join(" "), output.stdout));
            seen.push((way.join(" ") + ", messages", output.stderr));
        }
        seen.push(("the page".to_owned(), read_file(&self.page)));
        seen
    }
}

fn read_file(file: &str) -> Vec<u8> {
    std::fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn leaks_in(name: &str, seen: &[(String, Vec<u8>)], keep: bool) -> String {
    let seen: Vec<(&str, String)> = seen
        .iter()
        .map(|(output, content)| (&**output, as_text(content)))
        .collect();
    let secrets = if keep {
        &[PASSWORD][..]
    } else {
        &[PASSWORD, LITERAL]
    };
    let mut leaks = String::new();
    for secret in secrets {
        for (form, bytes) in forms::forms(secret) {
            let wanted = as_text(&bytes);
            for (output, content) in &seen {
                if let Some((before, behind)) = content.split_once(&wanted) {
                    let before: Vec<char> = before.chars().rev().take(60).collect();
                    let around: String = before.into_iter().rev().chain(behind.chars().take(20)).collect();
                    writeln!(
                        leaks,
                        "{name}, {keep}: {secret} as {form} in {output}: {around:?}"
                    )
                    .expect("a string takes all");
                }
            }
        }
    }
    leaks
}

/// One character per byte: the standard library's text search is fast in debug builds too.
fn as_text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// Replays the server's side to every client that sends the client's side.
fn listen(steps: Vec<[Vec<u8>; 2]>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let port = listener
        .local_addr()
        .expect("a bound socket has an address")
        .port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A mere connection check ends here.
            let _ = answer(stream, &steps);
        }
    });
    port
}

fn answer(mut stream: TcpStream, steps: &[[Vec<u8>; 2]]) -> std::io::Result<()> {
    for [asked, answered] in steps {
        stream.read_exact(&mut vec![0; asked.len()])?;
        stream.write_all(answered)?;
    }
    Ok(())
}

/// Sends the client's side.
fn play(port: u16, steps: &[[Vec<u8>; 2]]) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    for [asked, answered] in steps {
        stream.write_all(asked)?;
        stream.read_exact(&mut vec![0; answered.len()])?;
    }
    Ok(())
}

fn client(folder: &Path, conversation: &Conversation) -> Vec<String> {
    let mut script = "exec 3<>/dev/tcp/$LONGWIRE_HOST/$LONGWIRE_PORT\n".to_owned();
    for (number, [asked, answered]) in conversation.steps.iter().enumerate() {
        let name: String = conversation
            .name
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let file: PathBuf = folder.join(format!("{name}-{number}"));
        std::fs::write(&file, asked).expect("it can be written");
        writeln!(
            script,
            "cat '{}' >&3; head -c {} <&3 | wc -c >&2",
            file.display(),
            answered.len()
        )
        .expect("a string takes all");
    }
    vec!["bash".to_owned(), "-ec".to_owned(), script]
}
