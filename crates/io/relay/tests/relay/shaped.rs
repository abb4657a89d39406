//! Connections that share an emulated link, over real sockets: every byte, every end. Times are exact in
//! `src/shaped/tests.rs`.

use crate::ends::reset;
use crate::stand::{Random, Stand, accept, listen, noise, relay_with_link};
use model::{Closing, Direction, PerDirection};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};
use testbed::floor::told_on_failure;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn turn(stream: &mut TcpStream) -> Duration {
    let asked = Instant::now();
    stream.write_all(b"?").expect("write");
    stream.read_exact(&mut [0]).expect("an answer");
    asked.elapsed()
}

fn echo(mut stream: TcpStream) {
    spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            if stream.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    });
}

#[track_caller]
fn expect_about(took: Duration, least: Duration) {
    assert!(took >= least, "{took:?} is less than {least:?}");
    assert!(took < least + ms(500), "{took:?} is far more than {least:?}");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn the_first_reply_takes_two_round_trips_and_each_later_one_takes_one() {
    let _floor = told_on_failure();
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=60ms");
    let began = Instant::now();
    let mut client = stand.connect();
    spawn(move || echo(accept(&listener)));
    turn(&mut client);
    expect_about(began.elapsed(), ms(120));
    for _ in 0..3 {
        expect_about(turn(&mut client), ms(60));
    }
    let error = stand.relay.link_outcome().expect("a link").rtt_error_p50_ns;
    assert!(error.is_some_and(|error| error >= 0), "{error:?}");
}

#[test]
fn a_refusal_takes_a_round_trip() {
    let (listener, address) = listen();
    drop(listener);
    let stand = relay_with_link(address, "rtt=60ms");
    let began = Instant::now();
    let mut client = stand.connect();
    assert!(client.read(&mut [0; 1]).is_err(), "reset");
    assert!(began.elapsed() >= ms(60));
    assert_eq!(stand.until(|counters| counters.failed == 1).open, 0);
}

fn noise_both_ways(link: &str, length: usize) -> Stand {
    let (listener, address) = listen();
    let stand = relay_with_link(address, link);
    let client = stand.connect();
    let server = accept(&listener);
    let sides = [(client, 1), (server, 2)].map(|(stream, seed)| {
        let reader = stream.try_clone().expect("cloned");
        let write = spawn(move || write_in_pieces(stream, seed, length));
        (write, spawn(move || read_all(reader)))
    });
    let [from_server, from_client] = sides.map(|(write, read)| {
        write.join().expect("written");
        read.join().expect("read")
    });
    assert!(from_server == noise(2, length), "{} bytes", from_server.len());
    assert!(from_client == noise(1, length), "{} bytes", from_client.len());
    stand.until(|counters| counters.open == 0);
    stand
}

fn write_in_pieces(mut stream: TcpStream, seed: u64, length: usize) {
    let bytes = noise(seed, length);
    let (mut rest, mut random) = (&bytes[..], Random(seed));
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(random.up_to(60_000).min(rest.len()));
        stream.write_all(piece).expect("write");
        rest = later;
    }
    stream.shutdown(Shutdown::Write).expect("half-close");
}

fn read_all(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an orderly end");
    bytes
}

#[test]
fn every_byte_and_both_ends_arrive_whatever_the_link_loses() {
    for link in [
        "rtt=4ms loss=1% jitter=1ms",
        "rtt=2ms rate=80mbit queue=64KiB loss=0.5% jitter=500us:normal seed=3",
        "rtt=0ms",
    ] {
        let stand = noise_both_ways(link, 3_000_000);
        let outcome = stand.relay.link_outcome().expect("a link");
        let lost: u64 = outcome.directions.iter().map(|way| way.dropped_by_loss).sum();
        assert_eq!(lost > 0, link.contains("loss"), "{link}: {outcome:?}");
        let (counters, stories) = stand.stop();
        assert_eq!(counters.payload_bytes, PerDirection::splat(3_000_000));
        assert_eq!(
            stories[0].bytes,
            PerDirection::new(noise(1, 3_000_000), noise(2, 3_000_000))
        );
        let (_, how, totals) = stories[0].closed.expect("closed");
        assert_eq!(
            (how, totals.payload_bytes),
            (Closing::Finished, PerDirection::splat(3_000_000))
        );
        assert_eq!(
            totals.retransmitted_packets > Some(0),
            link.contains("loss"),
            "{totals:?}"
        );
    }
}

#[test]
fn a_client_that_does_not_read_stops_the_server_and_loses_nothing() {
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=2ms");
    let mut client = stand.connect();
    let mut server = accept(&listener);
    const LENGTH: usize = 60_000_000;
    let writer = spawn(move || {
        let written = Instant::now();
        server.write_all(&noise(7, LENGTH)).expect("write");
        written.elapsed()
    });
    sleep(ms(700));
    assert!(!writer.is_finished(), "nothing held the server back");
    let mut bytes = vec![0; LENGTH];
    client.read_exact(&mut bytes).expect("all of it");
    assert!(bytes == noise(7, LENGTH));
    assert!(writer.join().expect("written") >= ms(600));
}

#[test]
fn resets_cross_the_link_both_ways() {
    for from_client in [true, false] {
        let (listener, address) = listen();
        let stand = relay_with_link(address, "rtt=60ms");
        let mut client = stand.connect();
        let mut server = accept(&listener);
        client.write_all(b"x").expect("write");
        server.read_exact(&mut [0]).expect("the byte arrives");
        let (breaks, mut stays) = if from_client {
            (client, server)
        } else {
            (server, client)
        };
        let began = Instant::now();
        reset(breaks);
        let error = stays.read(&mut [0; 100]).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert!(began.elapsed() >= ms(30));
        let (_, stories) = stand.stop();
        assert_eq!(stories[0].closed.expect("closed").1, Closing::Reset);
    }
}

#[test]
fn what_a_server_said_before_it_broke_off_is_delivered() {
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=20ms");
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
fn a_peer_that_is_gone_ends_the_connection() {
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=10ms");
    let client = stand.connect();
    let server = accept(&listener);
    let writer = spawn(move || {
        let block = vec![7; 1 << 20];
        while (&server).write_all(&block).is_ok() {}
    });
    stand.until(|counters| counters.payload_bytes[Direction::ServerToClient] > 100_000);
    // Closes with unread bytes, as the kernel does for a killed process.
    drop(client);
    stand.until(|counters| counters.open == 0);
    writer.join().expect("the server's write ended in an error");
}

#[test]
fn many_connections_come_and_go() {
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=20ms");
    let serve = spawn(move || {
        for stream in listener.incoming().take(600) {
            echo(stream.expect("accepted"));
        }
    });
    for _ in 0..2 {
        let began = Instant::now();
        let mut clients: Vec<_> = (0..300).map(|_| stand.connect()).collect();
        clients
            .iter_mut()
            .for_each(|client| client.write_all(b"?").expect("write"));
        for client in &mut clients {
            client.read_exact(&mut [0]).expect("an answer");
        }
        assert!(began.elapsed() >= ms(40));
        assert_eq!(stand.relay.counters().open, 300);
        drop(clients);
        stand.until(|counters| counters.open == 0);
    }
    serve.join().expect("served");
}

#[test]
fn stopping_closes_what_is_left_and_says_so() {
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=10ms");
    let mut client = stand.connect();
    let _server = accept(&listener);
    stand.until(|counters| counters.open == 1);
    let counters = stand.relay.stop(ms(20));
    assert_eq!(counters.open, 0);
    assert!(
        counters
            .link
            .is_some_and(|link| link.directions[Direction::ClientToServer].packets >= 2)
    );
    assert_eq!(client.read(&mut [0; 1]).expect("an end"), 0);
    assert_eq!(
        stand.recorder.stories()[0].closed.expect("closed").1,
        Closing::Unfinished
    );
}

#[test]
fn a_target_with_tls_is_refused_together_with_a_link() {
    let options = relay::Options {
        listen: "127.0.0.1:0".parse().expect("valid"),
        target: sys::Target::parse("postgres://127.0.0.1/x?sslmode=require").expect("valid"),
        link: Some("rtt=1ms".parse().expect("a link")),
        sparing: None,
        tls: relay::RelayTls::default(),
        plain_clients: sys::listening::PlainClients::default(),
        numbers: relay::ConnectionNumbers::default(),
    };
    let recorder = std::sync::Arc::new(crate::recorder::Recorder::default());
    let error = relay::start(options, sys::Clock::anchored_now(), recorder).expect_err("refused");
    assert_eq!(error, sys::LiveError::TlsThroughLink);
    assert!(error.hint().is_some_and(|hint| hint.contains("sslmode=disable")));
}

#[test]
fn a_server_that_ends_before_it_is_known_is_heard_to_the_end() {
    let (listener, address) = listen();
    let stand = relay_with_link(address, "rtt=60ms");
    let mut client = stand.connect();
    accept(&listener)
        .write_all(b"too many connections")
        .expect("write");
    let mut words = Vec::new();
    client.read_to_end(&mut words).expect("an orderly end");
    assert_eq!(words, b"too many connections");
    drop(client);
    stand.until(|counters| counters.open == 0);
}
