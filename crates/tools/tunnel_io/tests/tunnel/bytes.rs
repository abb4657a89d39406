//! Bytes pass unchanged at every level, in all sizes, on many streams.

use crate::stand::{self, Tunnel};
use model::Direction;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::thread;
use testbed::waiting::wait_until;

/// Sends `seed`'s bytes in varying pieces while reading them back.
fn there_and_back(tunnel: &Tunnel, seed: u64, count: usize) {
    let sent = stand::bytes(seed, count);
    let mut writer = tunnel.client();
    let mut reader = writer.try_clone().expect("clone");
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut rest = &sent[..];
            let mut size = 1 + (seed as usize % 7);
            while !rest.is_empty() {
                let (now, later) = rest.split_at(size.min(rest.len()));
                writer.write_all(now).expect("write");
                rest = later;
                size = size * 3 % 50_021 + 1;
            }
            writer.shutdown(Shutdown::Write).expect("shutdown");
        });
        let mut came = Vec::new();
        reader.read_to_end(&mut came).expect("read");
        assert_eq!(came.len(), sent.len(), "seed {seed}");
        assert!(came == sent, "seed {seed}");
    });
}

#[test]
fn bytes_come_back_at_every_level() {
    let database = stand::echo_server();
    for level in 0..=9 {
        let tunnel = Tunnel::before(database, level, 1);
        there_and_back(&tunnel, 2, 300_000);
        there_and_back(&tunnel, 3, 300_000);
        let totals = tunnel.near.stop();
        assert_eq!(totals.streams, 2);
        assert_eq!(totals.broken_streams, 0);
        assert_eq!(totals.ways[Direction::ClientToServer].payload_bytes, 600_000);
        assert_eq!(totals.ways[Direction::ServerToClient].payload_bytes, 600_000);
        if level > 0 {
            assert!(
                totals.ways[Direction::ClientToServer].tunnel_bytes < 550_000,
                "{totals:?}"
            );
        }
        tunnel.far.stop();
    }
}

#[test]
fn bytes_come_back_over_encrypted_lanes() {
    let tunnel = Tunnel::encrypted(stand::echo_server(), 1, 2);
    thread::scope(|scope| {
        for seed in 0..10 {
            let tunnel = &tunnel;
            scope.spawn(move || there_and_back(tunnel, seed, 2_000_000));
        }
    });
    wait_until("all streams over", || tunnel.near.totals().open_streams == 0);
    let totals = tunnel.near.totals();
    assert_eq!((totals.streams, totals.broken_streams, totals.lanes), (10, 0, 2));
    assert_eq!(totals.ways[Direction::ServerToClient].payload_bytes, 20_000_000);
}

#[test]
fn two_hundred_streams_at_once_do_not_mix() {
    let tunnel = Tunnel::before(stand::echo_server(), 1, 2);
    thread::scope(|scope| {
        for seed in 0..200 {
            let tunnel = &tunnel;
            scope.spawn(move || there_and_back(tunnel, seed, 20_000 + 500 * seed as usize));
        }
    });
    // Counters are updated once per round.
    wait_until("both ends have seen all of it", || {
        let (near, far) = (tunnel.near.totals(), tunnel.far.totals());
        near.open_streams + far.open_streams == 0
            && near.ways[Direction::ClientToServer].tunnel_bytes
                == far.ways[Direction::ClientToServer].tunnel_bytes
    });
    let (near, far) = (tunnel.near.totals(), tunnel.far.totals());
    assert_eq!((near.streams, near.broken_streams, near.lanes), (200, 0, 2));
    assert_eq!((far.streams, far.broken_streams, far.open_streams), (200, 0, 0));
    assert_eq!(
        near.ways[Direction::ClientToServer].payload_bytes,
        far.ways[Direction::ClientToServer].payload_bytes
    );
}
