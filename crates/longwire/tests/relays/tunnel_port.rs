//! The port of a far end under attack, and mismatched ends: each is refused with one line, nothing
//! crashes, the right near end still connects, and no secret is printed.

#![allow(clippy::unwrap_used, reason = "helpers of tests may, as tests do")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use testbed::Started;

const LONG: Duration = Duration::from_secs(20);

fn tunnel(directory: &TempDir, words: &[&str]) -> Command {
    let mut command = testbed::binary::longwire(&["tunnel"]);
    command.args(words).current_dir(directory.path());
    command
}

fn keys() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for words in [
        ["keygen", "near.key"].as_slice(),
        &["keygen", "far.key"],
        &["keygen", "other.key"],
        &["keygen", "--psk", "one.psk"],
        &["keygen", "--psk", "two.psk"],
    ] {
        let output = tunnel(&directory, words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        clean(&directory, &output);
    }
    directory
}

#[track_caller]
fn clean(directory: &TempDir, output: &Output) {
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    for name in ["near.key", "far.key", "other.key", "one.psk", "two.psk"] {
        let secret = std::fs::read_to_string(directory.path().join(name)).unwrap_or_default();
        for line in secret.lines().filter(|line| !line.starts_with('-')) {
            for part in line.as_bytes().chunks(12).filter(|part| part.len() == 12) {
                let part = std::str::from_utf8(part).unwrap();
                // Every key file starts with the same bytes.
                assert!(
                    part.starts_with("MFECAQEw") || part.starts_with("BQYDK2Vw") || !said.contains(part),
                    "{name} in\n{said}"
                );
            }
        }
    }
}

fn echoing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    address
}

struct Running {
    end: Started,
    address: SocketAddr,
}

impl Running {
    fn start(directory: &TempDir, words: &[&str]) -> Self {
        let mut command = tunnel(directory, words);
        command.args(["--listen", "127.0.0.1:0"]).stdout(Stdio::piped());
        let (end, address) = Started::listening(&mut command, " listens on ");
        Self { end, address }
    }

    #[track_caller]
    fn hears(&mut self, text: &str) -> String {
        self.end.hears(text)
    }

    #[track_caller]
    fn end(self, directory: &TempDir) -> Output {
        let output = self.end.interrupt();
        clean(directory, &output);
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        output
    }
}

#[track_caller]
fn carries(near: &Running) {
    let mut client = TcpStream::connect(near.address).unwrap();
    client.set_read_timeout(Some(LONG)).unwrap();
    client.write_all(b"select 1").unwrap();
    let mut heard = [0; 8];
    client.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"select 1");
}

#[track_caller]
fn refused(directory: &TempDir, words: &[&str], line: &str, hint: &str) {
    let output = tunnel(directory, words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
    // An earlier line may report the listening address.
    let last: Vec<_> = said.lines().rev().take(2).collect();
    let [told, next] = [last.get(1), last.first()].map(|line| line.copied().unwrap_or_default());
    assert!(
        told.starts_with("longwire: ") && told.contains(line),
        "{words:?}: {said}"
    );
    assert!(
        next.starts_with("hint: ") && next.contains(hint),
        "{words:?}: {said}"
    );
    clean(directory, &output);
}

const FAR: [&str; 5] = ["far", "--key", "far.key", "--peer", "near.key.pub"];
const NEAR: [&str; 5] = ["near", "--key", "near.key", "--peer", "far.key.pub"];

#[test]
fn among_strangers_the_right_near_end_gets_in() {
    let directory = keys();
    let database = echoing().to_string();
    let mut far = Running::start(&directory, &[&FAR, ["--to", &database].as_slice()].concat());
    let address = far.address;
    let random: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for said in [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(), &random, b"lwt\n"] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(said).ok();
        far.hears("refused: 127.0.0.1:");
    }
    // Some clients send nothing; others start a TLS record and never complete it.
    let crowd: Vec<_> = (0..1000)
        .map(|number| {
            let mut stream = TcpStream::connect(address).unwrap();
            if number % 2 == 0 {
                stream.write_all(&[22, 3, 1, 2, 0]).ok();
            }
            stream
        })
        .collect();
    let to = address.to_string();
    let mut near = Running::start(&directory, &[&NEAR, ["--to", &to].as_slice()].concat());
    near.hears("lane up");
    carries(&near);
    drop(crowd);
    carries(&near);
    near.end(&directory);
    let output = far.end(&directory);
    let lines = String::from_utf8_lossy(&output.stderr).lines().count();
    assert!(lines < 30, "{lines} lines: {output:?}");
    let summary = String::from_utf8_lossy(&output.stdout);
    let refused: u64 = summary
        .lines()
        .find_map(|line| {
            line.trim()
                .strip_suffix(" connections to the tunnel's port refused")
        })
        .and_then(|count| count.split(' ').next_back()?.parse().ok())
        .unwrap_or_else(|| panic!("{summary}"));
    assert!(refused >= 900, "{summary}");
}

#[test]
fn ends_that_do_not_fit_say_so_and_go_on() {
    let directory = keys();
    let to = ["--to", "127.0.0.1:1"].as_slice();
    let far = Running::start(&directory, &[&FAR, to].concat());
    let shared = Running::start(&directory, &[&["far", "--psk-file", "one.psk"], to].concat());
    let plain = Running::start(&directory, &[&["far"], to].concat());
    let [far_at, shared_at, plain_at] = [&far, &shared, &plain].map(|end| end.address.to_string());
    for (at, keys, line, hint) in [
        (
            &far_at,
            ["--key", "other.key", "--peer", "far.key.pub"].as_slice(),
            "does not accept this end's key SHA256:",
            "at the other end: --peer SHA256:",
        ),
        (
            &far_at,
            &["--key", "near.key", "--peer", "other.key.pub"],
            "not one of those named here",
            "--peer SHA256:",
        ),
        (&far_at, &[], "encrypts, and this end has no keys", "--psk-file"),
        (
            &shared_at,
            &["--psk-file", "two.psk"],
            "does not hold the same pre-shared key",
            "copy",
        ),
        (
            &plain_at,
            &["--key", "near.key", "--peer", "far.key.pub"],
            "does not encrypt, and this end has keys",
            "--psk-file",
        ),
    ] {
        let near = ["near", "--to", at];
        let mut near = Running::start(&directory, &[&near, keys].concat());
        near.hears(line);
        near.hears("longwire: hint: ");
        assert!(near.end.said().contains(hint), "{:#?}", near.end.said());
        near.end(&directory);
    }
    for end in [far, shared, plain] {
        let output = end.end(&directory);
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("refused: 127.0.0.1:"),
            "{output:?}"
        );
    }
}

#[test]
fn an_end_of_another_version_is_refused_with_one_line() {
    let directory = keys();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let hello = [b"lwt\nl\0\0\x0d\0\0\0\0longwire".as_slice(), &[0, 99, 0, 0, 0]].concat();
            stream.write_all(&hello).ok();
            std::io::copy(&mut stream, &mut std::io::sink()).ok();
        }
    });
    let mut near = Running::start(&directory, &["near", "--to", &to]);
    near.hears("speaks version 99");
    near.hears("same version");
    near.end(&directory);
}

#[test]
fn without_keys_it_stays_on_this_machine() {
    let directory = keys();
    for words in [
        ["far", "--listen", "0.0.0.0:0", "--to", "127.0.0.1:5432"],
        ["near", "--listen", "0.0.0.0:0", "--to", "127.0.0.1"],
        ["near", "--listen", "127.0.0.1:0", "--to", "192.0.2.1:7718"],
    ] {
        refused(&directory, &words, "is beyond loopback", "longwire tunnel keygen");
    }
}

#[test]
fn keys_are_their_owners_and_are_not_overwritten() {
    let directory = keys();
    refused(
        &directory,
        &["keygen", "near.key"],
        "exists already",
        "choose another name",
    );
    refused(
        &directory,
        &["keygen", "--psk", "one.psk"],
        "exists already",
        "choose another name",
    );
    let open = |name: &str| {
        let path = directory.path().join(name);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o640)).unwrap();
    };
    open("far.key");
    open("one.psk");
    let to = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"].as_slice();
    refused(
        &directory,
        &[&FAR, to].concat(),
        "can be read by others",
        "chmod 600 far.key",
    );
    let shared = ["far", "--psk-file", "one.psk"];
    refused(
        &directory,
        &[&shared, to].concat(),
        "can be read by others",
        "chmod 600 one.psk",
    );
    let secret = ["far", "--key", "other.key", "--peer", "near.key"];
    refused(
        &directory,
        &[&secret, to].concat(),
        "holds a secret key",
        "near.key.pub",
    );
    std::fs::write(directory.path().join("two.psk"), "hunter2").unwrap();
    let short = ["far", "--psk-file", "two.psk"];
    refused(
        &directory,
        &[&short, to].concat(),
        "has 7 characters",
        "keygen --psk",
    );
}

#[test]
fn a_near_end_without_a_far_one_says_so_once_and_goes_on_when_it_comes() {
    let directory = keys();
    let place = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = place.local_addr().unwrap().to_string();
    drop(place);
    let mut near = Running::start(&directory, &["near", "--to", &to, "--json"]);
    near.hears("connection refused; trying again");
    let database = echoing().to_string();
    let mut far = tunnel(&directory, &["far", "--listen", &to, "--to", &database]);
    let far = Started::start(far.stdout(Stdio::null()).stderr(Stdio::null()));
    near.hears("lane up");
    carries(&near);
    let said = near.end.said();
    assert_eq!(said.matches("trying again").count(), 1, "{said}");
    let output = near.end(&directory);
    drop(far);
    let records = String::from_utf8(output.stdout).unwrap();
    let kinds: Vec<_> = records
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds.first().unwrap(), "conditions", "{records}");
    let end = kinds
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|kind| kind.as_str().unwrap());
    assert_eq!(
        end.collect::<Vec<_>>(),
        ["tunnel", "tunnel_way", "tunnel_way", "summary"],
        "{records}"
    );
    assert!(
        kinds.iter().filter(|kind| *kind == "notice").count() >= 2,
        "{records}"
    );
}
