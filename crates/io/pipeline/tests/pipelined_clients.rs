//! Simulates pipelining clients and observes them at a short distance. Predictions for longer
//! distances are compared with the same simulation there.
#![allow(clippy::expect_used, reason = "helpers of tests are tests too")]

use analysis::fact::Fact;
use analysis::fingerprint::Fingerprints;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use analysis::pairing::Pairing;
use link::LinkDescription;
use model::{
    ConnectionId, ConnectionTotals, Content, Decoding, Direction, Endpoint, Message, Operation, Phase,
    Protocol, Role, TcpHandshake, Timestamp,
};
use predict::{PredictionTarget, WakeUp, replay};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

const US: Duration = Duration::from_micros(1);
const MS: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy)]
enum Sends {
    /// While fewer replies than this are pending.
    Window(usize),
    /// This many at once, after all replies to the previous ones.
    Batches(usize),
    Anyway,
}

/// A client and its server. Times vary by up to a quarter.
#[derive(Debug, Clone, Copy)]
struct Work {
    sends: Sends,
    writing: Duration,
    serving: Duration,
    requests: usize,
}

fn carry_out(work: Work, rtt: Duration) -> Vec<[Duration; 2]> {
    let mut times: Vec<[Duration; 2]> = Vec::with_capacity(work.requests);
    let mut draws = 1_u32;
    let mut uneven = |span: Duration| {
        draws = draws.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        span + span * (draws >> 24) / 1024
    };
    let (mut now, mut server_free) = (rtt, Duration::ZERO);
    for number in 0..work.requests {
        let (waits_for, writing) = match work.sends {
            Sends::Window(size) => (number.checked_sub(size), work.writing),
            Sends::Batches(size) if number % size == 0 => (number.checked_sub(1), work.writing * size as u32),
            Sends::Batches(_) => (None, Duration::ZERO),
            Sends::Anyway => (None, work.writing),
        };
        if let Some(before) = waits_for.map(|before| times[before][1])
            && before > now
        {
            now = before + uneven(READING);
        }
        now += uneven(writing);
        server_free = server_free.max(now + rtt / 2) + uneven(work.serving);
        times.push([now, server_free + rtt / 2]);
    }
    times
}

fn observed(work: Work, rtt: Duration) -> Operation {
    let times = carry_out(work, rtt);
    let at = |time: Duration| Timestamp::from_nanos(1_000_000_000).after(time);
    let mut messages: Vec<(Duration, Direction)> = times
        .iter()
        .flat_map(|[sent, replied]| {
            [
                (*sent, Direction::ClientToServer),
                (*replied, Direction::ServerToClient),
            ]
        })
        .collect();
    messages.sort_by_key(|(time, _)| *time);
    let endpoint = |port| Endpoint {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port,
    };
    let (id, client, server) = (ConnectionId(0), endpoint(40_000), endpoint(6379));
    let mut facts = vec![Fact::Opened {
        connection: id,
        at: at(Duration::ZERO),
        client,
        server,
    }];
    let mut pairing = Pairing::new(id, at(Duration::ZERO), client, server, false);
    let mut fingerprints = Fingerprints::default();
    let handshake = TcpHandshake {
        syn: at(Duration::ZERO),
        syn_ack: at(rtt),
        ack: at(rtt),
    };
    pairing.handshake(handshake, &mut |fact| facts.push(fact));
    for (time, direction) in messages {
        let (role, content, bytes) = match direction {
            Direction::ClientToServer => (Role::Request, Content::Statement { text: b"set a b" }, 80),
            Direction::ServerToClient => (Role::Reply, Content::Other, 5),
        };
        let message = Message {
            stream: 0,
            protocol: Protocol::Redis,
            direction,
            started: at(time),
            ended: at(time),
            bytes,
            role,
            phase: Phase::Work,
            content,
        };
        pairing.segment(direction, at(time), None);
        pairing.message(&message, Protocol::Redis, &mut fingerprints, &mut |fact| {
            facts.push(fact)
        });
    }
    let decoding = Decoding {
        protocol: Protocol::Redis,
        encrypted: false,
        opaque: None,
    };
    let end = at(times.last().expect("a request")[1]);
    pairing.closed(end, ConnectionTotals::default(), decoding, &mut |fact| {
        facts.push(fact)
    });
    let mut operations = Operations::new(Rule::Whole);
    let mut found = None;
    let mut keep = |grouped| {
        if let Grouped::Operation(operation) = grouped {
            found = Some(operation);
        }
    };
    facts
        .into_iter()
        .for_each(|fact| operations.fact(fact, &mut keep));
    operations.finish(&mut keep);
    found.expect("an operation")
}

fn predicted(operation: &Operation, rtt: Duration) -> Duration {
    let link = LinkDescription::with_rtt(rtt);
    let target = PredictionTarget { link, clients: 1 };
    replay(operation, &target, WakeUp::None, &|_| true).duration
}

const NEAR: Duration = Duration::from_micros(30);
const READING: Duration = Duration::from_micros(8);

fn compare(work: Work, distances: &[Duration]) {
    for measured in [NEAR, MS] {
        let operation = observed(work, measured);
        let there = distances.iter().filter(|rtt| **rtt > measured);
        for rtt in there.chain([&measured]) {
            let true_time = carry_out(work, *rtt).last().expect("a request")[1];
            let predicted = predicted(&operation, *rtt);
            let error = predicted.as_secs_f64() / true_time.as_secs_f64() - 1.0;
            assert!(
                error.abs() < 0.1,
                "{work:?} from {measured:?} to {rtt:?}: {predicted:?} for {true_time:?}"
            );
        }
    }
}

#[test]
fn a_window_is_waited_for_at_every_distance() {
    for size in [8, 16, 64] {
        let work = Work {
            sends: Sends::Window(size),
            writing: 2 * US,
            serving: 10 * US,
            requests: 2000,
        };
        compare(work, &[MS, 10 * MS]);
    }
}

#[test]
fn batches_are_waited_for_at_every_distance() {
    for size in [2, 16, 100] {
        let work = Work {
            sends: Sends::Batches(size),
            writing: 2 * US,
            serving: 10 * US,
            // Enough that slow start, which the simulation omits, is a small share.
            requests: 100 * size,
        };
        compare(work, &[MS, 10 * MS]);
    }
}

#[test]
fn who_writes_on_whatever_is_answered_waits_once() {
    for (writing, serving) in [(6 * US, 3 * US), (20 * US, 15 * US)] {
        let work = Work {
            sends: Sends::Anyway,
            writing,
            serving,
            requests: 10_000,
        };
        compare(work, &[MS]);
    }
}

#[test]
fn one_after_another_costs_a_round_trip_each() {
    let work = Work {
        sends: Sends::Window(1),
        writing: 5 * US,
        serving: 40 * US,
        requests: 300,
    };
    compare(work, &[MS, 10 * MS]);
}
