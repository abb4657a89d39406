//! The port of `longwire echo --listen`: CPU time and threads.

use super::process::{IDLE, cores_used};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;
use testbed::Started;
use testbed::binary::longwire;

fn listener() -> (Started, SocketAddr) {
    let mut command = longwire(&["echo", "--listen", "127.0.0.1:0"]);
    Started::listening(command.stdout(Stdio::null()), " listens on ")
}

/// Claims to be one of `streams` streams and requests polling for messages.
fn greeted(address: SocketAddr, streams: u32) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let (version, purpose, spin) = ([0, 1], 2, 1);
    let mut hello = [b"longwire".as_slice(), &version, &[purpose, spin]].concat();
    for word in [16, 16, streams, 0, 0] {
        hello.extend_from_slice(&u32::to_be_bytes(word));
    }
    stream.write_all(&hello).expect("it takes it");
    let mut answer = [0; 32];
    stream.read_exact(&mut answer).expect("it answers");
    assert_eq!(answer[10], 0, "accepted");
    stream
}

#[test]
fn nobody_makes_the_listener_spin() {
    let (listener, address) = listener();
    let strangers: Vec<TcpStream> = [1, 1, 1, 1000, 1000, 1000]
        .into_iter()
        .map(|streams| greeted(address, streams))
        .collect();
    let cores = cores_used(&listener);
    assert!(
        cores < IDLE,
        "{cores:.2} cores for connections on which nothing happens"
    );
    drop(strangers);
}

#[test]
fn who_says_nothing_has_no_thread() {
    let (listener, address) = listener();
    let silent: Vec<TcpStream> = (0..500)
        .map(|_| TcpStream::connect(address).expect("it listens"))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let threads = listener.figure("Threads").expect("it runs");
    assert!(threads < 50, "{threads} threads for {} connections", silent.len());
    let cores = cores_used(&listener);
    assert!(cores < IDLE, "{cores:.2} cores");
    // A client that sends data is still served.
    greeted(address, 1);
}

#[test]
fn who_greets_and_then_says_nothing_has_a_bounded_number_of_threads() {
    let (listener, address) = listener();
    let streams: Vec<TcpStream> = (0..400).map(|_| greeted(address, 1)).collect();
    let threads = listener.figure("Threads").expect("it runs");
    assert!(
        threads < 200,
        "{threads} threads for {} connections",
        streams.len()
    );
}
