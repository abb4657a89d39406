//! The relay forwards every byte, in order.

use crate::stand::{Random, accept, listen, noise, relay_to};
use model::{Closing, Direction, PerDirection};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread::{scope, spawn};

fn write_in_pieces(mut stream: &TcpStream, bytes: &[u8], seed: u64, most: usize) {
    let mut random = Random(seed | 1);
    let mut rest = bytes;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(random.up_to(most).min(rest.len()));
        stream.write_all(piece).expect("the relay takes it");
        rest = after;
    }
    stream.shutdown(Shutdown::Write).expect("still open");
}

fn read_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an orderly end");
    bytes
}

#[test]
fn both_directions_at_once_in_random_pieces_are_byte_exact_and_observed_so() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    for (seed, most) in [(1, 1), (2, 700), (3, 100_000), (4, 1_000_000)] {
        let length = if most == 1 { 20_000 } else { 4_000_000 };
        let (up, down) = (noise(seed, length), noise(seed + 100, length / 2 + 1));
        let client = stand.connect();
        let server = accept(&listener);
        scope(|scope| {
            scope.spawn(|| write_in_pieces(&client, &up, seed, most));
            scope.spawn(|| write_in_pieces(&server, &down, seed + 7, most));
            scope.spawn(|| assert!(read_all(&server) == up, "client to server, seed {seed}"));
            assert!(read_all(&client) == down, "server to client, seed {seed}");
        });
        stand.until(|counters| counters.open == 0);
        let stories = stand.recorder.stories();
        let story = stories.last().expect("observed");
        assert!(
            story.bytes == PerDirection::new(up.clone(), down.clone()),
            "the observer saw other bytes, seed {seed}"
        );
        let (_, how, totals) = story.closed.expect("closed");
        assert_eq!(how, Closing::Finished);
        assert_eq!(
            totals.payload_bytes,
            PerDirection::new(up.len() as u64, down.len() as u64)
        );
        assert!(totals.retransmitted_packets.is_some(), "Linux counts them");
        let packets = totals.packets.expect("Linux counts packets");
        assert!(
            packets.iter().all(|count| *count >= 3),
            "SYN, data and FIN at least: {packets:?}"
        );
    }
    let (counters, stories) = stand.stop();
    assert_eq!((counters.accepted, counters.open, counters.failed), (4, 0, 0));
    let sum = |direction: Direction| -> u64 {
        stories
            .iter()
            .map(|story| story.bytes[direction].len() as u64)
            .sum()
    };
    assert_eq!(
        counters.payload_bytes,
        PerDirection::new(sum(Direction::ClientToServer), sum(Direction::ServerToClient))
    );
}

#[test]
fn a_slow_reader_holds_back_the_sender_and_loses_nothing() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let server = accept(&listener);
    const LENGTH: usize = 100_000_000;
    let writer = spawn(move || {
        let block = noise(5, 1 << 20);
        let mut left = LENGTH;
        while left > 0 {
            let piece = left.min(block.len());
            (&server).write_all(&block[..piece]).expect("the relay takes it");
            left -= piece;
        }
        drop(server);
    });
    // The sender fills every buffer on the way and then stalls: the relay must not read on.
    let mut held = 0;
    loop {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let taken = stand.relay.counters().payload_bytes[Direction::ServerToClient];
        if taken == held && taken > 0 {
            break;
        }
        held = taken;
    }
    assert!(
        held < LENGTH as u64 / 2,
        "the relay took {held} bytes that were not read"
    );
    let block = noise(5, 1 << 20);
    let mut buffer = vec![0; 1 << 16];
    let mut read = 0;
    loop {
        let count = client.read(&mut buffer).expect("read");
        if count == 0 {
            break;
        }
        for (index, byte) in buffer[..count].iter().enumerate() {
            assert_eq!(*byte, block[(read + index) % block.len()], "at {}", read + index);
        }
        read += count;
    }
    assert_eq!(read, LENGTH);
    writer.join().expect("the sender was served");
}

#[test]
fn five_hundred_connections_at_once_are_all_served() {
    let (listener, address) = listen();
    const COUNT: usize = 500;
    let server = spawn(move || {
        let streams: Vec<_> = (0..COUNT).map(|_| accept(&listener)).collect();
        for mut stream in streams {
            let mut word = [0; 8];
            stream.read_exact(&mut word).expect("a request");
            stream.write_all(&word).expect("a reply");
        }
    });
    let stand = relay_to(address);
    let mut clients: Vec<_> = (0..COUNT).map(|_| stand.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.write_all(&(number as u64).to_le_bytes()).expect("write");
    }
    stand.until(|counters| counters.accepted == COUNT as u64);
    for (number, client) in clients.iter_mut().enumerate() {
        let mut word = [0; 8];
        client.read_exact(&mut word).expect("the reply");
        assert_eq!(u64::from_le_bytes(word), number as u64);
    }
    drop(clients);
    server.join().expect("all served");
    stand.until(|counters| counters.open == 0);
    let (counters, stories) = stand.stop();
    assert_eq!((counters.failed, stories.len()), (0, COUNT));
    assert!(stories.iter().all(|story| story.closed.is_some()));
}
