use super::*;
use model::{ConnectionEvent, Endpoint};
use std::time::Duration;
use sys::StopToken;

fn opened(channel: &FactChannel, number: u32, at: u64) {
    let connection = ConnectionId(number);
    let endpoint = Endpoint {
        address: std::net::IpAddr::from([127, 0, 0, 1]),
        port: 5432,
    };
    channel.observe(connection).event(
        connection,
        ConnectionEvent::Opened {
            at: Timestamp::from_nanos(at),
            client: endpoint,
            server: endpoint,
            sides_certain: true,
        },
    );
}

fn numbers(posted: &[Posted]) -> Vec<u32> {
    let facts = posted.iter().map(|posted| match posted {
        Posted::Fact(Fact::Opened { connection, .. }) => connection.0,
        other => panic!("{other:?} was not sent"),
    });
    facts.collect()
}

static NEVER: StopToken = StopToken::never();
const NOW: WaitLimit<'_> = WaitLimit::new(&NEVER, Duration::ZERO);

#[test]
fn what_a_slower_thread_saw_before_comes_before() {
    let channel = FactChannel::new(false).expect("an eventfd");
    opened(&channel, 2, 2_000);
    assert_eq!(numbers(&channel.wait(NOW)), [0; 0]);
    opened(&channel, 3, 3_000);
    opened(&channel, 1, 1_000);
    assert_eq!(numbers(&channel.wait(NOW)), [1, 2]);
    assert_eq!(numbers(&channel.wait(NOW)), [3]);
    assert_eq!(numbers(&channel.wait(NOW)), [0; 0]);
}

#[test]
fn effects_wait_for_causes_that_another_thread_has_not_shown() {
    let channel = FactChannel::new(false).expect("an eventfd");
    let watermark = channel.watermark();
    watermark.hold(Timestamp::from_nanos(1_500));
    opened(&channel, 1, 1_000);
    opened(&channel, 3, 3_000);
    assert_eq!(numbers(&channel.wait(NOW)), [0; 0]);
    assert_eq!(numbers(&channel.wait(NOW)), [1]);
    assert_eq!(numbers(&channel.wait(NOW)), [0; 0]);
    opened(&channel, 2, 2_000);
    watermark.release();
    assert_eq!(numbers(&channel.wait(NOW)), [2, 3]);
}

#[test]
fn the_rest_is_taken_at_the_end() {
    let channel = FactChannel::new(false).expect("an eventfd");
    opened(&channel, 2, 2_000);
    channel.wait(NOW);
    opened(&channel, 1, 1_000);
    assert_eq!(numbers(&channel.take_all()), [1, 2]);
    assert_eq!(numbers(&channel.take_all()), [0; 0]);
}

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
const PONG: &[u8] = b"+PONG\r\n";

struct Client {
    observer: Box<dyn Observer + Send>,
    connection: ConnectionId,
    now: u64,
}

impl Client {
    fn open(channel: &FactChannel, number: u32) -> Self {
        let connection = ConnectionId(number);
        let endpoint = |port| Endpoint {
            address: std::net::IpAddr::from([127, 0, 0, 1]),
            port,
        };
        let mut client = Self {
            observer: channel.observe(connection),
            connection,
            now: 0,
        };
        client.event(ConnectionEvent::Opened {
            at: Timestamp::from_nanos(0),
            client: endpoint(40_000),
            server: endpoint(6379),
            sides_certain: true,
        });
        client
    }

    fn event(&mut self, event: ConnectionEvent<'_>) {
        self.observer.event(self.connection, event);
    }

    fn pass(&mut self, direction: Direction, payload: &[u8]) {
        self.now += 1000;
        self.event(ConnectionEvent::Segment(Segment {
            direction,
            at: Timestamp::from_nanos(self.now),
            payload,
            unseen: 0,
            is_gap: false,
            sender_idle: None,
        }));
    }

    fn pipeline(&mut self, count: usize) {
        self.pass(Direction::ClientToServer, &PING.repeat(count));
        self.pass(Direction::ServerToClient, &PONG.repeat(count));
    }

    fn ping(&mut self, times: usize) {
        (0..times).for_each(|_| self.pipeline(1));
    }

    fn close(mut self) {
        self.event(ConnectionEvent::Closed {
            at: Timestamp::from_nanos(self.now),
            how: model::Closing::Finished,
            totals: model::ConnectionTotals::default(),
        });
    }
}

#[derive(Debug, Default, PartialEq)]
struct Sums {
    opened: u64,
    exchanges: u64,
    executions: u64,
    turns: u64,
    bytes: u64,
    counted: u64,
    closed: u64,
}

fn sums(facts: impl IntoIterator<Item = Fact>) -> Sums {
    let mut sums = Sums::default();
    for fact in facts {
        match fact {
            Fact::Opened { .. } => sums.opened += 1,
            Fact::Exchange { exchange, .. } => {
                sums.exchanges += 1;
                sums.executions += u64::from(exchange.executions);
                sums.turns += u64::from(exchange.turns);
                sums.bytes += exchange.request_bytes + exchange.reply_bytes;
                assert_eq!(exchange.first.reply_bytes, exchange.reply_bytes);
            }
            Fact::Closed(outcome) => {
                sums.closed += 1;
                sums.counted += outcome.exchanges;
            }
            other => panic!("{other:?} was not sent"),
        }
    }
    sums
}

const TOO_MANY: usize = room::MAX_WAITING as usize / size_of::<model::Exchange>() + 5_000;

#[test]
fn what_nobody_takes_is_bounded_dropped_and_counted() {
    let channel = FactChannel::new(false).expect("an eventfd");
    let mut client = Client::open(&channel, 0);
    client.ping(TOO_MANY);
    // The rest has room for the start of a few connections, which are then posted as closed too.
    for number in 1..=20 {
        let mut late = Client::open(&channel, number);
        late.ping(10);
        late.close();
    }
    client.close();
    let waiting = channel.room.waiting();
    assert!(waiting <= room::MAX_WAITING + 32_768, "{waiting} bytes wait");
    let (arrived, losses) = (sums(channel.facts()), channel.take_losses());
    assert!(losses.connections > 0, "{losses:?}");
    assert_eq!(arrived.opened + losses.connections, 21);
    assert_eq!(arrived.closed, arrived.opened);
    assert!(losses.exchanges > 0, "{losses:?}");
    assert_eq!(arrived.exchanges + losses.exchanges, TOO_MANY as u64 + 200);
    assert_eq!(losses.turns, losses.exchanges);
    let counted = TOO_MANY as u64 + 10 * (arrived.closed - 1);
    assert_eq!(arrived.counted, counted, "connections count all of their own");
    assert_eq!(losses.summed, 0, "each was waited for");
    assert_eq!(channel.room.waiting(), 0);
    let mut again = Client::open(&channel, 2);
    again.ping(3);
    again.close();
    assert_eq!(sums(channel.facts()).exchanges, 3, "there is room again");
    assert_eq!(channel.take_losses(), FactLosses::default());
}

#[test]
fn pipelined_exchanges_are_summed_up_before_any_is_dropped() {
    let channel = FactChannel::new(false).expect("an eventfd");
    let mut client = Client::open(&channel, 0);
    for _ in 0..200 {
        client.pipeline(1000);
    }
    client.close();
    let (arrived, losses) = (sums(channel.facts()), channel.take_losses());
    assert_eq!(losses.exchanges, 0, "{losses:?}");
    assert!(losses.summed > 0, "{losses:?}");
    assert_eq!(arrived.exchanges + losses.summed, 200_000);
    assert_eq!(arrived.counted, arrived.exchanges);
    assert_eq!((arrived.executions, arrived.turns), (200_000, 200));
    assert_eq!(arrived.bytes, 200_000 * (PING.len() + PONG.len()) as u64);
}

#[test]
fn a_summed_exchange_was_waited_for_as_long_as_its_parts() {
    let (few, many) = (
        FactChannel::new(false).expect("an eventfd"),
        FactChannel::new(false).expect("an eventfd"),
    );
    let crowd = |channel: &FactChannel| Client::open(channel, 1).ping(40_000);
    crowd(&many);
    let waits = |channel: &FactChannel| {
        let mut client = Client::open(channel, 0);
        for _ in 0..3 {
            client.pipeline(50);
        }
        let facts = channel.facts();
        let waits = facts.filter_map(|fact| match fact {
            Fact::Exchange { exchange, .. } if exchange.connection.0 == 0 => {
                Some(analysis::waited::waited(&exchange))
            }
            _ => None,
        });
        let waits: Vec<_> = waits.collect();
        let total: Duration = waits.iter().map(|waited| waited.total).sum();
        let server: Duration = waits.iter().map(|waited| waited.server).sum();
        (waits.len(), total, server)
    };
    let (apart, total, server) = waits(&few);
    assert_eq!(waits(&many), (3, total, server));
    assert_eq!(apart, 150);
}

#[test]
fn longwires_own_client_waits_for_room() {
    let channel = FactChannel::waiting(false).expect("an eventfd");
    let done = std::sync::atomic::AtomicBool::new(false);
    let arrived = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = Client::open(&channel, 0);
            client.ping(TOO_MANY);
            client.close();
            done.store(true, Ordering::Release);
        });
        let mut facts = Vec::new();
        loop {
            let was_done = done.load(Ordering::Acquire);
            facts.extend(channel.facts());
            if was_done {
                break;
            }
            std::thread::yield_now();
        }
        sums(facts)
    });
    assert_eq!(arrived.exchanges, TOO_MANY as u64);
    assert_eq!(channel.take_losses(), FactLosses::default());
}

#[test]
fn payload_without_room_is_counted_as_unseen() {
    let channel = FactChannel::new(false).expect("an eventfd").with_payload();
    let mut client = Client::open(&channel, 0);
    let rounds = 2 * room::MAX_WAITING as usize / size_of::<Posted>() + 1000;
    for _ in 0..rounds {
        client.pass(Direction::ClientToServer, b"*");
    }
    client.close();
    let waiting = channel.room.waiting();
    assert!(waiting <= 2 * room::MAX_WAITING + 4096, "{waiting} bytes wait");
    let (mut kept, mut unseen) = (0, 0);
    for posted in channel.take_all() {
        if let Posted::Payload(payload) = posted {
            kept += payload.bytes.len();
            unseen += payload.unseen as usize;
        }
    }
    assert_eq!(kept + unseen, rounds);
}
