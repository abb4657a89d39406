//! Each listening port is announced with its bound address, and none exposes plain text that should
//! be encrypted.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use testbed::binary::longwire;
use testbed::{Postgres, Started};

fn said(command: &mut Command, last: &str) -> Vec<String> {
    let mut run = Started::heard(command.stdout(Stdio::null()));
    run.hears(last);
    run.said().lines().map(str::to_owned).collect()
}

fn ended(command: &mut Command) -> (Option<i32>, String) {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut text = String::new();
    let mut stderr = child.stderr.take().expect("it was requested");
    stderr.read_to_string(&mut text).expect("it can be read");
    (child.wait().expect("it ends").code(), text)
}

fn agent(folder: &Path, target: &str, listen: &str) -> Command {
    let config = folder.join("agent.toml");
    let text = format!(
        "[[relay]]\ntarget = \"{target}\"\nlisten = \"{listen}\"\n\n[prometheus]\nlisten = \"0.0.0.0:0\"\n"
    );
    std::fs::write(&config, text).expect("it can be written");
    let mut command = longwire(&["agent", "--config"]);
    command.arg(config);
    command
}

fn key_arguments(folder: &Path) -> Vec<String> {
    let secret = folder.join("tunnel.psk");
    let mut command = longwire(&["tunnel", "keygen", "--psk"]);
    command.arg(&secret);
    let (status, text) = ended(&mut command);
    assert_eq!(status, Some(0), "{text}");
    vec!["--psk-file".to_owned(), secret.display().to_string()]
}

/// Commands that listen beyond loopback, the announced service, and the words that end the
/// announcement.
fn commands_beyond_loopback(
    folder: &Path,
    target: &str,
    keys: &[String],
) -> Vec<(Command, &'static str, &'static str)> {
    let with_keys = |arguments: &[&str]| {
        let mut command = longwire(arguments);
        command.args(keys);
        command
    };
    vec![
        (
            longwire(&["relay", target, "--listen", "0.0.0.0:0"]),
            "the relay to ",
            "relaying ",
        ),
        (
            longwire(&["watch", target, "--listen", "[::]:0"]),
            "the relay to ",
            "relaying ",
        ),
        (
            longwire(&["relay", "--api", "0.0.0.0:0"]),
            "the API ",
            "toxiproxy's API",
        ),
        (
            longwire(&["relay", "--api", "127.0.0.1:0", target, "--listen", "0.0.0.0:0"]),
            "the proxy to ",
            "toxiproxy's API",
        ),
        (
            longwire(&["echo", "--listen", "0.0.0.0:0"]),
            "echo ",
            "echo listens on",
        ),
        (
            longwire(&["watch", target, "--prometheus", "0.0.0.0:0"]),
            "the page of figures for Prometheus ",
            "series for Prometheus",
        ),
        (
            agent(folder, target, "127.0.0.1:0"),
            "the page of figures for Prometheus ",
            "series for Prometheus",
        ),
        (
            with_keys(&["tunnel", "far", "--listen", "0.0.0.0:0", "--to", "127.0.0.1:1"]),
            "the far end of the tunnel ",
            "tunnel far end listens on",
        ),
        (
            with_keys(&[
                "tunnel",
                "near",
                "--listen",
                "0.0.0.0:0",
                "--to",
                "127.0.0.1:1",
                "--allow-plain-clients",
            ]),
            "the near end of the tunnel ",
            "tunnel near end listens on",
        ),
        (
            longwire(&[
                "tunnel",
                "far",
                "--listen",
                "127.0.0.1:0",
                "--to",
                "127.0.0.1:1",
                "--prometheus",
                "0.0.0.0:0",
            ]),
            "the page of figures for Prometheus ",
            "figures for Prometheus are at",
        ),
    ]
}

#[test]
fn every_port_beyond_loopback_is_said_with_the_address_that_is_bound() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = testbed::Redis::start();
    let target = format!("redis://127.0.0.1:{}", server.port());
    let keys = key_arguments(folder.path());
    for (mut command, name, last) in commands_beyond_loopback(folder.path(), &target, &keys) {
        let lines = said(&mut command, last);
        let warning = lines
            .iter()
            .find(|line| line.contains("warning: ") && line.contains(name));
        let warning = warning.unwrap_or_else(|| panic!("{command:?} warns of nothing: {lines:#?}"));
        let all = ["at 0.0.0.0:", "at [::]:"];
        assert!(all.iter().any(|address| warning.contains(address)), "{warning}");
        assert!(!warning.contains(":0 "), "the port that was chosen: {warning}");
        assert!(warning.contains("address of this machine"), "{warning}");
    }
}

#[test]
fn a_port_of_loopback_is_not_warned_of() {
    let lines = said(
        &mut longwire(&["relay", "--api", "127.0.0.1:0"]),
        "toxiproxy's API",
    );
    assert!(lines.iter().all(|line| !line.contains("warning")), "{lines:#?}");
}

#[test]
fn tls_to_the_server_and_plain_clients_of_other_machines_are_refused_unless_allowed() {
    let folder = tempfile::tempdir().expect("a directory");
    let server = Postgres::options().tls().start();
    let target = format!("{}?sslmode=require", server.url());
    let keys = key_arguments(folder.path());
    let tunnel = || {
        let mut command = longwire(&["tunnel", "near", "--listen", "0.0.0.0:0", "--to", "127.0.0.1:1"]);
        command.args(&keys);
        command
    };
    let relays = |command: &str| longwire(&[command, &target, "--listen", "0.0.0.0:0"]);
    for mut command in [
        relays("relay"),
        relays("watch"),
        agent(folder.path(), &target, "0.0.0.0:0"),
        tunnel(),
    ] {
        let (status, text) = ended(&mut command);
        assert_eq!(status, Some(2), "{command:?}: {text}");
        assert!(
            text.contains("in plain text. Only the way"),
            "{command:?}: {text}"
        );
        assert!(text.contains("--allow-plain-clients"), "{command:?}: {text}");
    }
    for (mut command, last) in [
        (relays("relay"), "relaying "),
        (relays("watch"), "relaying "),
        (agent(folder.path(), &target, "0.0.0.0:0"), "relaying "),
        (tunnel(), "tunnel near end listens on"),
    ] {
        let lines = said(command.arg("--allow-plain-clients"), last);
        assert!(
            lines
                .iter()
                .any(|line| line.contains("in plain text, and only the way")),
            "{lines:#?}"
        );
    }
}

#[test]
fn a_relay_onto_itself_is_refused() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = free.local_addr().expect("it has one").port();
    drop(free);
    let folder = tempfile::tempdir().expect("a directory");
    let listen = format!("127.0.0.1:{port}");
    let mut command = agent(folder.path(), &format!("tcp://localhost:{port}"), &listen);
    let (status, text) = ended(&mut command);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("it would connect to itself"), "{text}");
    // A refused port is not announced.
    let target = format!("tcp://localhost:{port}");
    let listen = format!("0.0.0.0:{port}");
    let (status, text) = ended(&mut longwire(&[
        "relay",
        "--api",
        "127.0.0.1:0",
        &target,
        "--listen",
        &listen,
    ]));
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("it would connect to itself"), "{text}");
    assert!(!text.contains("open to other machines"), "{text}");
}

#[test]
fn plain_clients_are_refused_before_the_server_is_asked() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("it has one");
    drop(free);
    let target = format!("postgres://{address}/shop?sslmode=require");
    for command in ["relay", "watch"] {
        let (status, text) = ended(&mut longwire(&[command, &target, "--listen", "0.0.0.0:0"]));
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains("in plain text. Only the way"), "{text}");
    }
}
