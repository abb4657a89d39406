#![allow(clippy::unwrap_used, reason = "tests")]

use super::{Completion, Completions, MAX_BYTES};
use crate::error::OsError;
use crate::poller::{Poller, Waker};
use crate::socket::{Received, Socket};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(10);

fn pair() -> (TcpStream, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, Socket::adopt(ours).unwrap())
}

fn next(completions: &mut Completions, buffer: &mut [u8]) -> Completion {
    let end = Instant::now() + LONG;
    loop {
        if let Some(completion) = completions.next_completion(buffer) {
            return completion;
        }
        assert!(Instant::now() < end, "nothing came");
        completions.wait(Duration::from_millis(100));
    }
}

#[test]
fn bytes_go_and_come_in_order_whatever_their_number() {
    let poller = Poller::new().unwrap();
    let mut completions = Completions::new(1, &poller).expect("io_uring is allowed where tests run");
    let (mut peer, socket) = pair();
    completions.adopt(0, &socket);
    let sent: Vec<u8> = (0..4_000_000_u32).flat_map(u32::to_le_bytes).collect();
    for part in sent.chunks(3_000_000) {
        completions.send(0, part);
    }
    let length = sent.len();
    let echo = std::thread::spawn(move || {
        let mut came = vec![0; length];
        peer.read_exact(&mut came).unwrap();
        peer.write_all(&came).unwrap();
    });
    let mut buffer = vec![0; MAX_BYTES];
    let mut came = Vec::new();
    loop {
        match next(&mut completions, &mut buffer) {
            Completion::Socket(0, Received::Bytes { count, .. }) => came.extend_from_slice(&buffer[..count]),
            Completion::Socket(0, Received::End) => break,
            other => panic!("{other:?}"),
        }
    }
    echo.join().unwrap();
    assert!(
        came == sent,
        "{} of {} bytes came, or others",
        came.len(),
        sent.len()
    );
}

#[test]
fn a_forgotten_socket_closes_and_its_number_serves_another() {
    let poller = Poller::new().unwrap();
    let mut completions = Completions::new(1, &poller).unwrap();
    let mut buffer = vec![0; MAX_BYTES];
    for round in 0..100_u8 {
        let (mut peer, socket) = pair();
        completions.adopt(0, &socket);
        peer.write_all(&[round]).unwrap();
        let received = next(&mut completions, &mut buffer);
        assert!(
            matches!(received, Completion::Socket(0, Received::Bytes { count: 1, .. })) && buffer[0] == round,
            "{received:?} in round {round}"
        );
        // Bytes that arrive now belong to no socket.
        peer.write_all(b"late").unwrap();
        completions.send(0, b"farewell");
        completions.forget(0);
        drop(socket);
        peer.set_read_timeout(Some(LONG)).unwrap();
        let mut farewell = [0; 8];
        peer.read_exact(&mut farewell).unwrap();
        completions.wait(Duration::ZERO);
        assert_eq!(&farewell, b"farewell");
        // An end or a reset, since unread bytes were dropped; it must not stay open.
        assert!(matches!(peer.read(&mut farewell), Ok(0) | Err(_)));
    }
}

#[test]
fn an_end_and_a_broken_connection_are_told() {
    let poller = Poller::new().unwrap();
    let mut completions = Completions::new(2, &poller).unwrap();
    let mut buffer = vec![0; MAX_BYTES];
    let (peer, socket) = pair();
    completions.adopt(0, &socket);
    drop(peer);
    assert_eq!(
        next(&mut completions, &mut buffer),
        Completion::Socket(0, Received::End)
    );
    let (peer, socket) = pair();
    completions.adopt(1, &socket);
    Socket::adopt(peer).unwrap().reset();
    let reset = Completion::Socket(1, Received::Broken(OsError(libc::ECONNRESET)));
    assert_eq!(next(&mut completions, &mut buffer), reset);
}

#[test]
fn the_poller_is_waited_for_too() {
    let poller = Poller::new().unwrap();
    let waker = Waker::new().unwrap();
    poller.register_waker(&waker, 7).unwrap();
    let mut completions = Completions::new(0, &poller).unwrap();
    let mut ready = crate::poller::ReadyList::default();
    for _ in 0..3 {
        waker.wake();
        assert_eq!(next(&mut completions, &mut []), Completion::Poller);
        poller.wait(&mut ready, Some(Duration::ZERO));
        assert_eq!(ready.iter().map(|event| event.token).collect::<Vec<_>>(), [7]);
    }
}
