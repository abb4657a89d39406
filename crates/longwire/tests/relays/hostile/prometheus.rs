//! The port of `--prometheus`: the time that one client takes from the others, and from the end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;
use testbed::Started;
use testbed::binary::longwire;

fn served() -> (Started, SocketAddr) {
    let mut command = longwire(&["tunnel", "far", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:1"]);
    command
        .args(["--prometheus", "127.0.0.1:0"])
        .stdout(Stdio::null());
    Started::listening(&mut command, "figures for Prometheus are at http://")
}

/// Sends a byte every now and then, which is not yet the end of a request, for as long as it may.
fn dribble(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    std::thread::spawn(move || {
        while stream.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
}

#[test]
fn a_client_that_dribbles_keeps_nobody_from_the_figures() {
    let (_server, address) = served();
    dribble(address);
    std::thread::sleep(Duration::from_millis(200));
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a socket");
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("it takes it");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the figures come");
    assert!(text.starts_with("HTTP/1.1 200 OK"), "{text}");
}

#[test]
fn a_client_that_dribbles_does_not_hold_up_the_end() {
    let (mut server, address) = served();
    dribble(address);
    std::thread::sleep(Duration::from_millis(500));
    server.signal(libc::SIGINT);
    assert_eq!(server.ends_within(Duration::from_secs(10)).code(), Some(130));
}
