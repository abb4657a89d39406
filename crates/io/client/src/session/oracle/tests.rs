//! Forwarding between a scripted driver and a scripted server: counts, and names of legs.

use super::driver::{Driver, Outcome};
use super::driver_proxy::DriverProxy;
use crate::session::deadline::Deadline;
use crate::session::{SessionError, SessionOptions, opening};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use sys::StopToken;
use sys::target::Target;
use testbed::Script;
use testbed::script::tns;

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    (listener, address)
}

fn hear(stream: &mut TcpStream, count: usize) {
    stream
        .read_exact(&mut vec![0; count])
        .expect("the other side speaks");
}

fn packet(kind: u8, message: [u8; 2]) -> [u8; 12] {
    [0, 12, 0, 0, kind, 0, 0, 0, 0, 0, message[0], message[1]]
}

/// Sends an answer in two pieces, a moment after the driver's packet.
fn answered(script: Script, packet: &str, answer: &[u8]) -> Script {
    let (first, rest) = answer.split_at(answer.len() / 2);
    let script = script.expect(packet).pause(Duration::from_millis(5));
    script.send_bytes(first).send_bytes(rest)
}

/// A driver that sends packets, reads the given number of bytes after each, and then has an
/// outcome.
fn driver(rounds: &'static [&'static [([u8; 2], usize)]], outcomes: Vec<Outcome>) -> (Driver, TcpStream) {
    let (listener, address) = listen();
    let driver = Driver::scripted(move |asked, tell| {
        let mut stream = TcpStream::connect(address).expect("the passage listens");
        let mut first = true;
        for (round, outcome) in rounds.iter().zip(outcomes) {
            for (message, answer) in *round {
                let kind = if std::mem::take(&mut first) { 1 } else { 6 };
                stream.write_all(&packet(kind, *message)).expect("it listens");
                hear(&mut stream, *answer);
            }
            tell(outcome);
            if asked.recv().is_err() {
                return;
            }
        }
    });
    let (stream, _) = listener.accept().expect("the driver connects");
    (driver, stream)
}

#[test]
fn turns_bytes_and_legs_are_those_of_the_server() {
    let mut script = answered(Script::tns(), "CONNECT", &tns::accept().bytes);
    for answer in [&b"ten bytes."[..], b"twenty bytes, twenty", b"four"] {
        script = answered(script, "DATA", answer);
    }
    let server = script.start();
    let target = format!("oracle://127.0.0.1:{}/x", server.port());
    let target = Target::parse(&target).expect("a target");
    let deadline = Deadline::after(Duration::from_secs(5));
    let stop = StopToken::never();
    let (line, mut legs) =
        opening::connect(&target, SessionOptions::new(&stop), &deadline).expect("it listens");
    let failed = SessionError::Login {
        code: "ORA-00942".to_owned(),
        text: "table or view does not exist".to_owned(),
    };
    let (mut driver, stream) = driver(
        &[
            &[([0, 0], 10), ([34, 0], 10)],
            &[([3, 0x5e], 20), ([3, 5], 4)],
            &[],
        ],
        vec![
            Ok("Oracle Database 23.26".to_owned()),
            Ok(String::new()),
            Err(failed),
        ],
    );
    let mut passage = DriverProxy::new(line, stream).expect("a socket");
    let version = passage
        .carry(&mut driver, &mut legs, &deadline)
        .expect("it is logged in");
    assert_eq!(version, "Oracle Database 23.26");
    let told: Vec<(&str, u64, [u64; 2])> = legs
        .as_slice()
        .iter()
        .map(|leg| (&*leg.name, leg.turns, leg.payload_bytes.into_array()))
        .collect();
    assert_eq!(
        told,
        [
            ("tcp", 1, [0, 0]),
            ("connect", 1, [12, 10]),
            ("fast authentication", 1, [12, 10]),
        ]
    );
    driver.send_request("select 1 from dual").expect("it is there");
    let reply = passage.exchange(&mut driver, &deadline).expect("it answers");
    assert_eq!((reply.turns, reply.request_bytes, reply.reply_bytes), (2, 24, 24));
    assert_eq!(reply.error, None);
    assert!(reply.duration() >= Duration::from_millis(10), "{reply:?}");
    assert!(reply.duration() < Duration::from_secs(2), "{reply:?}");
    driver.send_request("select 1 from nothing").expect("it is there");
    let reply = passage.exchange(&mut driver, &deadline).expect("it answers");
    assert_eq!((reply.turns, reply.request_bytes, reply.reply_bytes), (0, 0, 0));
    let error = reply.error.expect("an error of the statement");
    assert_eq!(error.code, "ORA-00942");
}

#[test]
fn a_stop_ends_the_wait_for_a_driver_that_does_not_connect() {
    let (listener, _) = listen();
    let mut driver = Driver::scripted(|asked, _| drop(asked.recv()));
    let stop = StopToken::new().expect("an eventfd");
    let own = stop.clone();
    let stopping = std::thread::spawn(move || own.stop());
    let deadline = Deadline::after(Duration::from_secs(3600));
    let accepted = driver.accept(&listener, &deadline, &stop);
    assert_eq!(accepted.expect_err("no driver"), SessionError::Stopped);
    stopping.join().expect("it has stopped");
}
