//! Outputs of an observation: drops, packet files, refusals, privileges.

use super::{connections, observed, observing, read_records, statements};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use testbed::Postgres;
use testbed::binary::{done, ends, longwire, of_type, program, records, refused, shown, stderr};
use testbed::capture::may_capture;

#[test]
fn packets_that_were_dropped_are_counted_in_every_output() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let [recording, page] =
        ["run.lwr", "run.html"].map(|name| folder.path().join(name).display().to_string());
    let port = address.port().to_string();
    let started = observing(&[
        "--port", &port, "--ring", "2MiB", "-o", &recording, "--html", &page,
    ]);
    started.signal(libc::SIGSTOP);
    let reader = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("the client connects");
        std::io::copy(&mut peer, &mut std::io::sink()).expect("it can be read")
    });
    let mut client = TcpStream::connect(address).expect("the reader listens");
    client.write_all(&vec![b'x'; 32 << 20]).expect("it takes all");
    drop(client);
    assert_eq!(reader.join().expect("it reads all"), 32 << 20);
    started.signal(libc::SIGCONT);
    let (records, said) = observed(started);
    let warned = of_type(&records, "warning");
    let dropped = |text: &str| text.contains("were dropped (") || text.contains("packet was dropped (");
    assert!(
        warned.iter().any(|warning| dropped(&warning["text"].to_string())),
        "{warned:?}\n{said}"
    );
    assert!(dropped(&said), "{said}");
    assert!(dropped(
        &std::fs::read_to_string(&page).expect("the page is written")
    ));
    let text = longwire(&["read", &recording])
        .output()
        .expect("the binary starts");
    done(&text);
    assert!(dropped(&shown(&text)), "{}", shown(&text));
}

#[test]
fn packets_are_kept_for_their_owner_and_read_like_a_capture() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("run.pcapng");
    let (path, port) = (file.display().to_string(), server.port().to_string());
    let script = "psql -X -q -c 'select 1' -c 'select 2' >/dev/null";
    let options = [
        "watch",
        "--interface",
        "any",
        "--port",
        &port,
        "--json",
        "--write-pcap",
        &path,
        &server.url(),
    ];
    let output = may_capture(&options)
        .args(["--", "sh", "-c", script])
        .output()
        .expect("the binary starts");
    done(&output);
    let (live, kept) = (records(&output), read_records(&file, &[]));
    assert_eq!(connections(&live), connections(&kept));
    assert_eq!(connections(&live).len(), 1, "{live:?}");
    assert_eq!(statements(&live), [("\"select ?\"".to_owned(), 2, 2)]);
    let rights = std::fs::metadata(&file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(rights & 0o777, 0o600);
}

#[test]
fn a_file_of_packets_that_is_full_gives_way_to_the_next_one() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("run.pcapng");
    let (path, port) = (file.display().to_string(), server.port().to_string());
    let options = [
        "watch",
        "--interface",
        "lo",
        "--port",
        &port,
        "--json",
        "--write-pcap",
        &path,
    ];
    let script =
        "psql -X -q -c \"select repeat('x', 400000)\" >/dev/null; psql -X -q -c 'select 2' >/dev/null";
    let mut command = may_capture(&[&options[..], &["--write-pcap-size", "100kB", &server.url()]].concat());
    let output = command
        .args(["--", "sh", "-c", script])
        .output()
        .expect("the binary starts");
    done(&output);
    let full = folder.path().join("run.pcapng.1");
    assert!(std::fs::metadata(&full).expect("it was kept").len() > 100_000);
    let mut command = longwire(&["read", "--json"]);
    let both = command.args([&full, &file]).output().expect("the binary starts");
    done(&both);
    assert!(
        statements(&records(&both))
            .iter()
            .any(|(text, ..)| text == "\"select ?\""),
        "{}",
        shown(&both)
    );
}

#[test]
fn packets_that_cannot_be_kept_do_not_end_the_run() {
    let server = Postgres::start();
    let port = server.port().to_string();
    // A short and a long remainder at the end.
    for repeated in ["3", "400000"] {
        let script = format!("psql -X -q -c \"select repeat('x', {repeated})\" >/dev/null");
        let mut command = may_capture(&["watch", "--interface", "lo", "--port", &port, "--json"]);
        command.args(["--write-pcap", "/dev/full"]);
        command.arg(server.url()).args(["--", "sh", "-c", &script]);
        let output = ends(command, 2);
        let said = stderr(&output);
        assert!(
            said.contains("warning: the file of packets is given up: no space left on device"),
            "{said}"
        );
        assert_eq!(
            statements(&records(&output)),
            [("\"select repeat(?, ?)\"".to_owned(), 1, 1)]
        );
    }
    refused(
        &["watch", "--interface", "lo", "--write-pcap", "/nowhere/x"],
        &["could not write /nowhere/x"],
    );
}

#[test]
fn what_cannot_be_observed_is_refused_with_what_to_do() {
    refused(
        &["watch", "--interface", "nowhere7"],
        &[
            "there is no network interface 'nowhere7': there are",
            "lo",
            "'any' stands for all",
        ],
    );
    refused(
        &["watch", "--interface", "lo", "--filter", "port 5432 adn port 1"],
        &["--filter 'port 5432 adn port 1'", "at 'adn' (character 11)"],
    );
    refused(
        &["watch", "--interface", "lo", "--link", "rtt=1ms"],
        &["--listen, --link and --allow-plain-clients are of a relay"],
    );
    refused(&["watch", "--port", "5432"], &["--interface"]);
    let into_nothing = [
        "watch",
        "--interface",
        "lo",
        "--write-pcap",
        "/dev/null",
        "--write-pcap-size",
        "1MB",
    ];
    refused(&into_nothing, &["could not write /dev/null", "no regular file"]);
    refused(&["watch"], &["<TARGET>"]);
    // In a user namespace, a process has no privileges over the outer network.
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-current-user"])
        .arg(program())
        .args(["watch", "--interface", "lo", "--write-pcap"]);
    let earlier = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(earlier.path(), "packets").expect("it can be written");
    let output = ends(
        {
            command.arg(earlier.path());
            command
        },
        2,
    );
    assert_eq!(std::fs::read_to_string(earlier.path()).expect("text"), "packets");
    let said = stderr(&output);
    for words in [
        "operation not permitted",
        "sudo setcap cap_net_raw+ep",
        "Or use a relay, which needs no rights",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn the_right_to_capture_is_given_up() {
    let mut started = observing(&[]);
    let status = std::fs::read_to_string(format!("/proc/{}/status", started.id())).expect("it runs");
    let rights = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .expect("a line of rights");
    let rights = u64::from_str_radix(rights.trim(), 16).expect("a number");
    // CAP_NET_ADMIN and CAP_NET_RAW (linux/capability.h).
    assert_eq!(rights & (1 << 12 | 1 << 13), 0, "{rights:x}");
    started.kill();
}

#[test]
fn a_run_that_saw_nothing_says_so() {
    let output = may_capture(&["watch", "--interface", "lo", "--port", "1", "--", "true"]);
    let output = ends(output, 1);
    assert!(
        stderr(&output).contains("no TCP connection was seen at interface lo, packets of port 1"),
        "{}",
        shown(&output)
    );
}
