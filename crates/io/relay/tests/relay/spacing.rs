//! The relay that holds replies back.

use crate::recorder::Recorder;
use crate::stand::{TIMEOUT, accept, listen, noise};
use model::{Direction, PerDirection, PerSide, Side};
use relay::spacing::SpacingRelay;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread::{scope, spawn};
use sys::{Clock, Target};

/// Far more than the buffers of both connections.
const BYTES: usize = 16 << 20;

#[test]
fn a_client_that_pipelines_does_not_block_it_and_each_side_sees_all_bytes() {
    let (listener, address) = listen();
    let replies = noise(8, BYTES);
    let server = spawn(move || {
        let stream = accept(&listener);
        let mut requests = Vec::new();
        scope(|scope| {
            scope.spawn(|| (&stream).write_all(&replies).expect("the relay reads on"));
            (&stream).read_to_end(&mut requests).expect("the relay sends on");
        });
        PerDirection::new(requests, replies)
    });
    let recorders = PerSide::from_fn(|_| Arc::new(Recorder::default()));
    let observers = recorders
        .clone()
        .map(|recorder| recorder as Arc<dyn model::ObserverFactory>);
    let target = Target::parse(&format!("tcp://{address}")).expect("valid");
    let relay = SpacingRelay::start(target, Clock::anchored_now(), observers).expect("starts");
    let mut client = TcpStream::connect(relay.local_addr()).expect("accepts");
    client.set_read_timeout(Some(TIMEOUT)).expect("set");
    client.set_write_timeout(Some(TIMEOUT)).expect("set");
    client.write_all(&noise(7, BYTES)).expect("the relay reads on");
    client.shutdown(Shutdown::Write).expect("shut down");
    let mut received = Vec::new();
    client.read_to_end(&mut received).expect("the relay sends on");
    let passed = server.join().expect("no panic");
    assert!(
        received == passed[Direction::ServerToClient] && passed[Direction::ClientToServer].len() == BYTES
    );
    relay.stop();
    for side in Side::ALL {
        let [story] = recorders[side].stories().try_into().expect("one connection");
        for direction in Direction::ALL {
            assert!(
                story.bytes[direction] == passed[direction],
                "{side:?} {direction:?}"
            );
        }
        assert!(story.closed.is_some());
    }
}
