//! Half-close, resets, and killed processes.

use crate::stand::{TIMEOUT, accept, listen, relay_to};
use model::{Closing, Direction};
use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("SO_LINGER");
}

fn expect_reset(mut stream: TcpStream) {
    match stream.read(&mut [0; 100]) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        Ok(count) => panic!("{count} bytes instead of a reset"),
    }
}

#[test]
fn the_client_may_end_its_direction_and_still_read() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let mut server = accept(&listener);
    client.write_all(b"request").expect("write");
    client.shutdown(Shutdown::Write).expect("half-close");
    let mut request = Vec::new();
    server.read_to_end(&mut request).expect("the end arrives");
    assert_eq!(request, b"request");
    assert_eq!(stand.relay.counters().open, 1);
    server.write_all(b"reply").expect("the other direction is open");
    drop(server);
    let mut reply = Vec::new();
    client.read_to_end(&mut reply).expect("an orderly end");
    assert_eq!(reply, b"reply");
    stand.until(|counters| counters.open == 0);
}

#[test]
fn the_server_may_end_its_direction_and_still_read() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let mut server = accept(&listener);
    server.write_all(b"greeting").expect("write");
    server.shutdown(Shutdown::Write).expect("half-close");
    let mut greeting = Vec::new();
    client.read_to_end(&mut greeting).expect("the end arrives");
    assert_eq!(greeting, b"greeting");
    client.write_all(b"thanks").expect("the other direction is open");
    drop(client);
    let mut thanks = Vec::new();
    server.read_to_end(&mut thanks).expect("an orderly end");
    assert_eq!(thanks, b"thanks");
    stand.until(|counters| counters.open == 0);
}

/// The kernel accepts before the relay is connected; after one byte, it is.
fn pass_a_byte(client: &mut TcpStream, server: &mut TcpStream) {
    client.write_all(b"x").expect("write");
    server.read_exact(&mut [0]).expect("the byte arrives");
}

#[test]
fn a_reset_by_the_server_reaches_the_client() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let mut server = accept(&listener);
    pass_a_byte(&mut client, &mut server);
    reset(server);
    expect_reset(client);
    let (_, stories) = stand.stop();
    assert_eq!(stories[0].closed.expect("closed").1, Closing::Reset);
}

#[test]
fn a_reset_by_the_client_reaches_the_server() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let mut server = accept(&listener);
    pass_a_byte(&mut client, &mut server);
    reset(client);
    expect_reset(server);
    let (_, stories) = stand.stop();
    assert_eq!(stories[0].closed.expect("closed").1, Closing::Reset);
}

#[test]
fn what_a_server_said_before_it_broke_off_is_delivered() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let mut server = accept(&listener);
    client.write_all(b"never read").expect("write");
    stand.until(|counters| counters.payload_bytes[Direction::ClientToServer] == 10);
    server.write_all(b"FATAL").expect("write");
    // Unread bytes make the kernel answer the close with a reset.
    drop(server);
    let mut words = [0; 5];
    client.read_exact(&mut words).expect("the last words");
    assert_eq!(&words, b"FATAL");
    stand.until(|counters| counters.open == 0);
}

#[test]
fn stopping_closes_what_is_left_and_says_so() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let _server = accept(&listener);
    stand.until(|counters| counters.open == 1);
    let counters = stand.relay.stop(Duration::from_millis(20));
    assert_eq!(counters.open, 0);
    assert_eq!(client.read(&mut [0; 1]).expect("an end"), 0);
    assert_eq!(
        stand.recorder.stories()[0].closed.expect("closed").1,
        Closing::Unfinished
    );
}

fn socat(arguments: &[&str]) -> Child {
    Command::new("socat")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the package socat is needed for this test")
}

fn kill_and_expect_none_open(mut victim: Child, stand: &crate::stand::Stand) {
    victim.kill().expect("it runs");
    victim.wait().expect("it ends");
    // Sooner than by the kernel's keep-alive.
    stand.until(|counters| counters.open == 0);
}

#[test]
fn a_killed_client_leaves_no_connection() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = socat(&["-", &format!("TCP:{}", stand.relay.local_addr())]);
    client
        .stdin
        .as_mut()
        .expect("piped")
        .write_all(b"hello")
        .expect("write");
    let mut server = accept(&listener);
    server.read_exact(&mut [0; 5]).expect("it speaks");
    let waiter = std::thread::spawn(move || server.read(&mut [0; 1]).expect("an end"));
    kill_and_expect_none_open(client, &stand);
    assert_eq!(waiter.join().expect("no panic"), 0);
}

#[test]
fn a_killed_client_with_unread_bytes_resets_the_server() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    // Reads nothing: its socket fills.
    let client = socat(&["-u", "-", &format!("TCP:{}", stand.relay.local_addr())]);
    let server = accept(&listener);
    let writer = std::thread::spawn(move || {
        let block = vec![7; 1 << 20];
        while (&server).write_all(&block).is_ok() {}
    });
    stand.until(|counters| counters.payload_bytes[Direction::ServerToClient] > 1_000_000);
    kill_and_expect_none_open(client, &stand);
    writer.join().expect("the server's write ended in an error");
}

#[test]
fn a_killed_server_leaves_no_connection_and_the_relay_goes_on() {
    let (listener, address) = listen();
    drop(listener);
    let serve = format!("TCP-LISTEN:{},bind=127.0.0.1,reuseaddr", address.port());
    let server = socat(&[&serve, "EXEC:cat"]);
    let stand = relay_to(address);
    let deadline = Instant::now() + TIMEOUT;
    let mut client = loop {
        let mut client = stand.connect();
        let mut echo = [0; 2];
        if client.write_all(b"hi").is_ok() && client.read_exact(&mut echo).is_ok() {
            break client;
        }
        assert!(Instant::now() < deadline, "socat does not serve");
    };
    let reader = std::thread::spawn(move || client.read(&mut [0; 1]).unwrap_or(0));
    kill_and_expect_none_open(server, &stand);
    assert_eq!(reader.join().expect("no panic"), 0);
    let failed = stand.relay.counters().failed;
    drop(stand.connect());
    stand.until(|counters| counters.failed == failed + 1);
}
