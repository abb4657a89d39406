//! A thousand connections that write, read, pause, end and break as a seed says.

use super::SparesByTurns;
use super::memory::{Peer, Random, Server, World};
use model::{Closing, Direction, PerSide, Side, Timestamp};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const LINKS: [&str; 5] = [
    "rtt=0ms",
    "rtt=10ms",
    "rtt=5ms rate=50mbit",
    "rtt=2ms rate=80mbit queue=64KiB loss=0.5% jitter=500us:normal",
    "rtt=30ms loss=2% outage=200ms@1s/2s",
];
const CONNECTIONS: usize = 1000;
const AT_ONCE: usize = 30;
/// As `shaped.rs` says: the sender's buffer and the receiver's window.
const MAX_HELD: usize = 4_000_000 + 3_932_160;

#[test]
fn a_thousand_connections_lose_no_byte_hold_what_they_may_and_end() {
    let seed = std::env::var("LONGWIRE_SEED").map_or_else(
        |_| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .expect("after 1970")
                .as_nanos() as u64
        },
        |seed| seed.parse().expect("a number"),
    );
    println!("LONGWIRE_SEED={seed} repeats this");
    let mut random = Random::new(seed);
    let noise: Vec<u8> = (0..PERIOD).map(|_| random.next() as u8).collect();
    let noise = noise.repeat(2);
    for link in LINKS {
        Play::new(
            &format!("{link} seed={}", random.up_to(1000)),
            &noise,
            &mut random,
        )
        .run(&mut random);
    }
}

struct Play<'a> {
    world: World,
    noise: &'a [u8],
    players: Vec<Player>,
}

/// Both ends of a connection.
#[derive(Debug)]
struct Player {
    connection: usize,
    ends: PerSide<End>,
}

#[derive(Debug)]
struct End {
    to_write: usize,
    written: usize,
    read: usize,
    ending: Ending,
    is_over: bool,
    reads_from: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Finish,
    Reset,
    Leave,
}

impl<'a> Play<'a> {
    fn new(link: &str, noise: &'a [u8], random: &mut Random) -> Self {
        Self {
            world: World::new(link)
                .split(random.next())
                .sparing(SparesByTurns::default()),
            noise,
            players: Vec::new(),
        }
    }

    fn run(mut self, random: &mut Random) {
        let mut come = 0;
        while come < CONNECTIONS / LINKS.len() || !self.players.is_empty() {
            assert!(
                self.world.elapsed() < Duration::from_secs(600),
                "they do not end: {:?}",
                self.players
            );
            if come < CONNECTIONS / LINKS.len() && self.players.len() < AT_ONCE {
                self.come(random);
                come += 1;
            }
            for _ in 0..=random.up_to(4) {
                let player = random.up_to(self.players.len());
                self.act(player, random);
            }
            let span = [0, 100, 2_000, 20_000][random.up_to(4)];
            let limit = self.world.now().after(Duration::from_micros(span));
            while self.world.step(limit) {
                self.players
                    .iter()
                    .for_each(|player| player.holds(&mut self.world));
            }
            self.world.pass_to(limit);
            let world = &self.world;
            self.players.retain(|player| !player.is_through(world));
        }
        self.world.rest();
        assert_eq!(self.world.counters().open, 0);
        self.observers_saw_all();
    }

    fn come(&mut self, random: &mut Random) {
        let server = match random.up_to(20) {
            0 => Server::Refuses,
            1 => Server::AnswersAt(
                self.world
                    .now()
                    .after(Duration::from_millis(random.up_to(90) as u64)),
            ),
            _ => Server::Answers,
        };
        let connection = self.world.connect(server);
        let now = self.world.now();
        let end = |random: &mut Random| End {
            to_write: match random.up_to(100) {
                0 => 9_000_000,
                1..20 => 0,
                _ => random.up_to(60_000),
            },
            written: 0,
            read: 0,
            ending: [
                Ending::Finish,
                Ending::Finish,
                Ending::Finish,
                Ending::Reset,
                Ending::Leave,
            ][random.up_to(5)],
            is_over: false,
            reads_from: now.after(Duration::from_millis(random.up_to_one_of([0, 0, 0, 3_000]) as u64)),
        };
        let ends = PerSide::new(end(random), end(random));
        self.players.push(Player { connection, ends });
    }

    fn act(&mut self, player: usize, random: &mut Random) {
        let Some(player) = self.players.get_mut(player) else {
            return;
        };
        let side = [Side::Client, Side::Server][random.up_to(2)];
        if side == Side::Server && !self.world.has_answered(player.connection) {
            return;
        }
        match random.up_to(3) {
            0 => player.read(side, random, &mut self.world, self.noise),
            _ => player.write(side, random, &mut self.world, self.noise),
        }
    }

    fn observers_saw_all(&self) {
        for (_, story) in self.world.stories() {
            let (_, how, totals) = story.closed.expect("closed");
            if how == Closing::Finished {
                assert_eq!(totals.payload_bytes, story.bytes.map(|bytes| bytes.len() as u64));
            }
        }
    }
}

impl Player {
    fn write(&mut self, side: Side, random: &mut Random, world: &mut World, noise: &[u8]) {
        let connection = self.connection;
        let end = &mut self.ends[side];
        if end.is_over {
            return;
        }
        let left = end.to_write - end.written;
        if left == 0 || (end.ending == Ending::Reset && random.up_to(10) == 0) {
            end.is_over = true;
            return match end.ending {
                Ending::Finish => world.finish(connection, side),
                Ending::Reset => world.reset(connection, side),
                Ending::Leave => world.leave(connection, side),
            };
        }
        let size = 1 + random.up_to_one_of([10, 3_000, 200_000]);
        let bytes = content(noise, connection, side, end.written, size.min(left));
        end.written += world.write(connection, side, bytes);
    }

    fn read(&mut self, side: Side, random: &mut Random, world: &mut World, noise: &[u8]) {
        let end = &mut self.ends[side];
        let has_gone = end.is_over && end.ending != Ending::Finish;
        if has_gone || world.now() < end.reads_from {
            return;
        }
        let most = 1 + random.up_to_one_of([100, 10_000, PERIOD - 1]);
        let bytes = world.read(self.connection, side, most);
        let expected = content(noise, self.connection, side.reverse(), end.read, bytes.len());
        assert!(
            bytes == expected,
            "{} bytes differ from byte {} on",
            bytes.len(),
            end.read
        );
        end.read += bytes.len();
    }

    fn is_orderly(&self) -> bool {
        self.ends.iter().all(|end| end.ending == Ending::Finish)
    }

    /// Asserts that no byte is lost on the way, and that the relay holds no more than it may.
    fn holds(&self, world: &mut World) {
        let Some(held) = world.held(self.connection) else {
            return;
        };
        for direction in Direction::ALL {
            assert!(
                held[direction] <= MAX_HELD,
                "{direction:?} holds {}",
                held[direction]
            );
            if self.is_orderly() {
                let [from, to] = [direction.sender(), direction.receiver()];
                let in_kernel =
                    world.peer(self.connection, from).unsent() + world.peer(self.connection, to).unread();
                let on_the_way = self.ends[from].written - self.ends[to].read;
                assert_eq!(held[direction] + in_kernel, on_the_way, "{direction:?}");
            }
        }
    }

    /// Whether the relay has closed it and both ends have read what they will.
    fn is_through(&self, world: &World) -> bool {
        let peers = Side::ALL.map(|side| world.peer(self.connection, side));
        if !world.is_closed(self.connection) {
            return false;
        }
        let [client, server] = peers.map(Peer::unread);
        let is_orderly = self.is_orderly() && world.has_answered(self.connection);
        if is_orderly && client + server > 0 {
            return false;
        }
        if is_orderly {
            for side in Side::ALL {
                assert_eq!(self.ends[side].read, self.ends[side.reverse()].written);
                assert!(!world.peer(self.connection, side).sees_reset);
            }
        }
        peers.iter().all(|peer| peer.sees_end || peer.sees_reset)
    }
}

/// The bytes that a side of a connection writes from an offset on.
fn content(noise: &[u8], connection: usize, side: Side, offset: usize, length: usize) -> &[u8] {
    let start = (connection * 7919 + side as usize * 104_729 + offset) % PERIOD;
    &noise[start..start + length.min(PERIOD)]
}

/// A prime, so that bytes lost or doubled in round numbers are noticed.
const PERIOD: usize = 262_139;
