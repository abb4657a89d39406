//! A known delay must be seen.

use crate::stand::{accept, listen, relay_to};
use model::{Direction, Side};
use std::io::{Read, Write};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

#[test]
fn a_server_that_takes_its_time_is_seen_to_take_it() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let mut client = stand.connect();
    let mut server = accept(&listener);
    let delays = [0, 1, 5, 20].map(Duration::from_millis);
    let serve = spawn(move || {
        delays.map(|delay| {
            server.read_exact(&mut [0; 4]).expect("a request");
            let asked = Instant::now();
            sleep(delay);
            let took = asked.elapsed();
            server.write_all(b"pong").expect("a reply");
            took
        })
    });
    let turns = delays.map(|_| {
        let asked = Instant::now();
        client.write_all(b"ping").expect("write");
        client.read_exact(&mut [0; 4]).expect("read");
        (asked, Instant::now())
    });
    let waits = turns.map(|(asked, answered)| answered - asked);
    let server_times = serve.join().expect("served");
    drop(client);
    let (_, stories) = stand.stop();
    let story = &stories[0];
    let times: Vec<_> = story
        .segments
        .iter()
        .map(|seen| (seen.direction, seen.at))
        .collect();
    assert_eq!(times.len(), 8, "{times:?}");
    for (index, pair) in times.chunks(2).enumerate() {
        assert_eq!(pair[0].0, Direction::ClientToServer);
        let seen = pair[1].1.since(pair[0].1);
        assert!(
            seen >= server_times[index],
            "{seen:?} is less than the server took, {:?}",
            server_times[index]
        );
        assert!(
            seen <= waits[index],
            "{seen:?} is more than the client waited, {:?}",
            waits[index]
        );
    }
    let idle = story.segments[7]
        .sender_idle
        .expect("the server had sent all it had");
    // Includes this client's time since the previous reply: on a busy machine more than a round
    // trip.
    let most = turns[3].1 - turns[2].0;
    assert!(idle >= delays[3] && idle <= most, "{idle:?}, at most {most:?}");
}

#[test]
fn the_kernels_round_trips_are_told_and_the_handshake_is_made_of_them() {
    let (listener, address) = listen();
    let stand = relay_to(address);
    let client = stand.connect();
    drop(accept(&listener));
    drop(client);
    let (_, stories) = stand.stop();
    let story = &stories[0];
    let handshake = story.handshake.expect("reported");
    let rtt_of = |wanted| {
        story
            .round_trips
            .iter()
            .find(|(side, _)| *side == wanted)
            .map(|(_, rtt)| *rtt)
    };
    assert_eq!(Some(handshake.syn_ack.since(handshake.syn)), rtt_of(Side::Server));
    assert_eq!(Some(handshake.ack.since(handshake.syn_ack)), rtt_of(Side::Client));
    assert!(rtt_of(Side::Server) < Some(Duration::from_secs(1)));
    assert_eq!(story.opened, Some(handshake.syn));
    assert!(story.closed.expect("closed").0 >= handshake.ack);
}
