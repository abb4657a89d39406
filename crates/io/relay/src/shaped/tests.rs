//! Times of connections that share an emulated link, exact to the nanosecond.

mod memory;
mod thousand;

use crate::recorder::Story;
use crate::sparing::{SparedConnection, Sparing};
use memory::{Server, World};
use model::{BitRate, Closing, Direction, PerDirection, Side, TcpHandshake, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Returns when it has arrived at the other side, which reads it.
fn pass_bytes(world: &mut World, connection: usize, from: Side, bytes: &[u8]) {
    assert_eq!(world.write(connection, from, bytes), bytes.len());
    world.until(|world| world.peer(connection, from.reverse()).unread() >= bytes.len());
    assert!(world.read(connection, from.reverse(), usize::MAX) == bytes);
}

fn turn(world: &mut World, connection: usize, reply: &[u8]) -> Duration {
    let asked = world.elapsed();
    pass_bytes(world, connection, Side::Client, b"?");
    pass_bytes(world, connection, Side::Server, reply);
    world.elapsed() - asked
}

fn story(world: &World, connection: usize) -> Story {
    let mut stories = world.stories().into_iter();
    stories
        .find(|(whose, _)| *whose == connection)
        .expect("it was opened")
        .1
}

#[test]
fn the_first_reply_takes_two_round_trips_and_each_later_one_takes_one() {
    let mut world = World::new("rtt=60ms");
    let client = world.connect(Server::Answers);
    assert_eq!(turn(&mut world, client, b"!"), ms(120));
    for _ in 0..3 {
        assert_eq!(turn(&mut world, client, b"!"), ms(60));
    }
    assert_eq!(world.check.outcome().rtt_error_p50_ns, Some(0));
}

#[test]
fn a_server_that_speaks_first_is_heard_after_two_round_trips() {
    let mut world = World::new("rtt=60ms");
    let client = world.connect(Server::Answers);
    world.pass(ms(30));
    pass_bytes(&mut world, client, Side::Server, b"hello");
    assert_eq!(world.elapsed(), ms(120));
}

#[test]
fn a_refusal_takes_a_round_trip() {
    let mut world = World::new("rtt=60ms");
    let client = world.connect(Server::Refuses);
    world.until(|world| world.peer(client, Side::Client).sees_reset);
    assert_eq!(world.elapsed(), ms(60));
    assert_eq!((world.counters().failed, world.counters().open), (1, 0));
}

#[test]
fn a_silent_server_is_given_up_after_ten_seconds() {
    let mut world = World::new("rtt=60ms");
    let client = world.connect(Server::IsSilent);
    world.until(|world| world.peer(client, Side::Client).sees_reset);
    // Looked at every 100 ms.
    assert_eq!(world.elapsed(), ms(60 + 10_100));
}

#[test]
fn what_was_seen_has_the_links_delay_in_the_network_and_the_servers_in_the_server() {
    let mut world = World::new("rtt=40ms");
    let client = world.connect(Server::Answers);
    pass_bytes(&mut world, client, Side::Client, b"?");
    world.pass(ms(30));
    world.write(client, Side::Server, b"begin");
    world.pass(ms(25));
    world.write(client, Side::Server, b"end");
    world.until(|world| world.peer(client, Side::Client).unread() == 8);
    world.leave(client, Side::Client);
    world.leave(client, Side::Server);
    world.rest();
    let story = story(&world, client);
    let TcpHandshake { syn, syn_ack, ack } = story.handshake.expect("reported");
    assert_eq!((syn_ack.since(syn), ack), (ms(40), syn_ack));
    assert!(!story.round_trips.is_empty());
    assert!(
        story
            .round_trips
            .iter()
            .all(|trip| *trip == (Side::Server, ms(40)))
    );
    let [request, begin, end] = story.segments[..] else {
        panic!("{:?}", story.segments)
    };
    assert_eq!((request.direction, request.at), (Direction::ClientToServer, ack));
    assert_eq!(begin.at.since(request.at), ms(40 + 30));
    assert_eq!(end.sender_idle, Some(ms(25)));
    assert_eq!(end.at.since(begin.at), ms(25));
}

#[test]
fn a_long_reply_takes_slow_starts_rounds_and_none_of_it_is_the_senders_idleness() {
    let mut world = World::new("rtt=60ms");
    let client = world.connected();
    turn(&mut world, client, b"!");
    // 200 packets: 10, 20, 40, 80, and the rest in a fifth round.
    let reply: Vec<u8> = (0..200 * 1448_u32).map(|number| number as u8).collect();
    assert_eq!(turn(&mut world, client, &reply), ms(60 * 5));
    world.leave(client, Side::Client);
    world.leave(client, Side::Server);
    world.rest();
    let story = story(&world, client);
    let packets = &story.segments[3..];
    assert!(
        packets[1..]
            .iter()
            .all(|seen| seen.sender_idle == Some(Duration::ZERO))
    );
    let span = packets.last().expect("some").at.since(packets[0].at);
    assert_eq!(span, ms(60 * 4));
}

#[test]
fn connections_share_the_rate() {
    let mut world = World::new("rtt=10ms rate=8mbit");
    let clients = [0; 4].map(|_| world.connect(Server::Answers));
    world.pass(ms(10));
    for client in clients {
        assert_eq!(world.write(client, Side::Server, &[7; 50_000]), 50_000);
    }
    world.until(|world| {
        clients
            .iter()
            .all(|client| world.peer(*client, Side::Client).unread() == 50_000)
    });
    // The first handshake, 140 packets with their headers at 1 byte a microsecond, and the way there.
    let bytes = 4 * 50_000 + 140 * 52;
    let handshake = ms(15) + Duration::from_micros(60 + 60 + 52);
    assert_eq!(world.elapsed(), handshake + Duration::from_micros(bytes) + ms(5));
    let to_client = world.check.outcome().directions[Direction::ServerToClient];
    assert_eq!(
        (to_client.packets, to_client.wire_bytes),
        (140 + 4, bytes + 4 * 60)
    );
    assert_eq!(to_client.realised_rate, BitRate::from_bits_per_second(8_000_000));
}

#[test]
fn the_end_of_one_direction_crosses_the_link_behind_its_bytes() {
    let mut world = World::new("rtt=60ms");
    let client = world.connected();
    let began = world.elapsed();
    world.write(client, Side::Client, b"request");
    world.finish(client, Side::Client);
    world.until(|world| world.peer(client, Side::Server).sees_end);
    assert_eq!(world.elapsed() - began, ms(30));
    assert_eq!(world.read(client, Side::Server, 100), b"request");
    assert_eq!(world.counters().open, 1);
    world.write(client, Side::Server, b"reply");
    world.leave(client, Side::Server);
    world.until(|world| world.peer(client, Side::Client).sees_end);
    assert_eq!(world.elapsed() - began, ms(60));
    assert_eq!(world.read(client, Side::Client, 100), b"reply");
    world.rest();
    assert_eq!(world.counters().open, 0);
    assert_eq!(story(&world, client).closed.expect("closed").1, Closing::Finished);
}

#[test]
fn resets_cross_the_link_both_ways() {
    for breaks in [Side::Client, Side::Server] {
        let mut world = World::new("rtt=60ms");
        let client = world.connected();
        let began = world.elapsed();
        world.reset(client, breaks);
        world.until(|world| world.peer(client, breaks.reverse()).sees_reset);
        assert_eq!(world.elapsed() - began, ms(30));
        assert_eq!(story(&world, client).closed.expect("closed").1, Closing::Reset);
    }
}

#[test]
fn an_outage_delays_and_loses_nothing() {
    // Counted from the first packet, a SYN.
    let mut world = World::new("rtt=2ms outage=1s@200ms");
    let client = world.connect(Server::Answers);
    turn(&mut world, client, b"!");
    world.pass(ms(400) - world.elapsed());
    turn(&mut world, client, b"!");
    let lost = world.check.outcome().directions.map(|way| way.dropped_by_outage);
    assert_eq!((world.elapsed(), lost), (ms(1210), PerDirection::new(3, 0)));
}

#[test]
fn a_server_that_ends_while_its_answer_is_on_the_way_is_heard_to_the_end() {
    let mut world = World::new("rtt=60ms");
    let client = world.connect(Server::Answers);
    world.pass(ms(30));
    world.write(client, Side::Server, b"too many connections");
    world.finish(client, Side::Server);
    world.until(|world| world.peer(client, Side::Client).sees_end);
    assert_eq!(world.elapsed(), ms(120));
    assert_eq!(world.read(client, Side::Client, 100), b"too many connections");
}

#[test]
fn a_server_that_breaks_off_after_its_end_leaves_no_connection() {
    let mut world = World::new("rtt=60ms");
    let client = world.connected();
    world.leave(client, Side::Server);
    world.rest();
    world.write(client, Side::Client, b"taken, and answered by a reset");
    world.pass(ms(5));
    world.write(client, Side::Client, b"refused");
    world.finish(client, Side::Client);
    world.rest();
    assert_eq!(world.counters().open, 0);
}

/// Of every second connection every second request, and every fourth's handshake.
#[derive(Default)]
struct SparesByTurns(AtomicU32);

struct Turns {
    connection: u32,
    requests: u32,
}

impl Sparing for SparesByTurns {
    fn connection(&self, _at: Timestamp) -> Box<dyn SparedConnection + Send> {
        Box::new(Turns {
            connection: self.0.fetch_add(1, Ordering::Relaxed),
            requests: 0,
        })
    }
}

impl SparedConnection for Turns {
    fn spares_connecting(&self) -> bool {
        self.connection % 4 == 2
    }

    fn request(&mut self, _at: Timestamp, _bytes: &[u8], _at_rest: bool) -> bool {
        self.requests += 1;
        self.connection.is_multiple_of(2) && self.requests.is_multiple_of(2)
    }

    fn reply(&mut self, _at: Timestamp, _bytes: &[u8]) {}

    fn closed(&mut self, _at: Timestamp) {}
}

#[test]
fn a_spared_exchange_takes_no_time_and_is_seen_without_any() {
    let mut world = World::new("rtt=60ms").sparing(SparesByTurns::default());
    let client = world.connected();
    let turns = [0; 6].map(|_| turn(&mut world, client, b"!"));
    assert_eq!(turns, [60, 0, 60, 0, 60, 0].map(ms));
    world.leave(client, Side::Client);
    world.leave(client, Side::Server);
    world.rest();
    let story = story(&world, client);
    let times: Vec<Duration> = story
        .segments
        .chunks(2)
        .map(|turn| turn[1].at.since(turn[0].at))
        .collect();
    assert_eq!(times, turns);
}

#[test]
fn beside_bytes_on_their_way_nothing_is_spared() {
    let mut world = World::new("rtt=60ms").sparing(SparesByTurns::default());
    let client = world.connected();
    let began = world.elapsed();
    world.write(client, Side::Client, b"one");
    world.pass(ms(10));
    world.write(client, Side::Client, b"two");
    world.until(|world| world.peer(client, Side::Server).unread() == 6);
    assert_eq!(world.elapsed() - began, ms(10 + 30));
    assert_eq!(world.read(client, Side::Server, 100), b"onetwo");
}

#[test]
fn a_spared_reply_waits_for_its_reader() {
    let mut world = World::new("rtt=60ms").sparing(SparesByTurns::default());
    let client = world.connected();
    turn(&mut world, client, b"!");
    pass_bytes(&mut world, client, Side::Client, b"?");
    let reply: Vec<u8> = (0..3_000_000_u32).map(|number| number as u8).collect();
    let (mut written, mut read) = (0, Vec::new());
    while read.len() < reply.len() {
        written += world.write(client, Side::Server, &reply[written..]);
        world.pass(ms(1));
        let held = world.held(client).expect("open")[Direction::ServerToClient];
        assert!(held <= crate::READ_LIMIT, "{held} bytes");
        read.extend(world.read(client, Side::Client, 100_000));
    }
    assert!(read == reply);
}

#[derive(Default)]
struct CountsClosed(Arc<AtomicU32>);

impl Sparing for CountsClosed {
    fn connection(&self, _at: Timestamp) -> Box<dyn SparedConnection + Send> {
        Box::new(Self(self.0.clone()))
    }
}

impl SparedConnection for CountsClosed {
    fn spares_connecting(&self) -> bool {
        false
    }

    fn request(&mut self, _at: Timestamp, _bytes: &[u8], _at_rest: bool) -> bool {
        false
    }

    fn reply(&mut self, _at: Timestamp, _bytes: &[u8]) {}

    fn closed(&mut self, _at: Timestamp) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn the_sparing_hears_of_a_refused_connection_that_it_is_closed() {
    let sparing = CountsClosed::default();
    let closed = sparing.0.clone();
    let mut world = World::new("rtt=60ms").sparing(sparing);
    world.connect(Server::Refuses);
    world.rest();
    assert_eq!(closed.load(Ordering::Relaxed), 1);
}

#[test]
fn a_spared_handshake_takes_no_time() {
    let mut world = World::new("rtt=60ms").sparing(SparesByTurns(AtomicU32::new(2)));
    let client = world.connect(Server::Answers);
    pass_bytes(&mut world, client, Side::Server, b"hello");
    assert_eq!(world.elapsed(), ms(0));
    assert_eq!(turn(&mut world, client, b"!"), ms(60));
    assert_eq!(turn(&mut world, client, b"!"), ms(0));
}
