#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Direction, Observer};
use probe::echo;
use probe::echo::{
    BulkPlan, Echo, EchoError, EchoPlan, Listener, ListenerOptions, MAX_BYTES, MAX_STREAMS, Spin,
};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::{Clock, Target};
use testbed::floor::told_on_failure;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

static RUNS: StopToken = StopToken::never();

struct Stand {
    address: SocketAddr,
    stop: StopToken,
    serving: Option<JoinHandle<u64>>,
}

impl Stand {
    fn new(options: ListenerOptions) -> Self {
        let listener = Listener::bind("127.0.0.1:0".parse().unwrap(), options).expect("it listens");
        let (address, stop) = (listener.address(), StopToken::new().unwrap());
        let own = stop.clone();
        let serving = Some(spawn(move || listener.serve(&own).expect("it serves")));
        Self {
            address,
            stop,
            serving,
        }
    }

    fn connect(&self) -> Echo {
        Echo::connect(&target(self.address)).expect("it is greeted")
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }
}

fn target(address: SocketAddr) -> Target {
    address.into()
}

fn plan(request: u32, reply: u32, streams: u32) -> EchoPlan {
    EchoPlan {
        request,
        reply,
        streams,
        duration: ms(200),
        spin: Spin::WhilePaying,
    }
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn every_size_and_number_of_streams_is_answered() {
    let _floor = told_on_failure();
    let stand = Stand::new(ListenerOptions::default());
    let echo = stand.connect();
    for (request, reply, streams) in [(16, 16, 1), (1, 70_000, 2), (300_000, 5, 64), (16, 16, 256)] {
        let plan = plan(request, reply, streams);
        let outcome = echo::measure(&echo, &plan, &RUNS).expect("replies");
        let context = format!("{plan:?}: {outcome:?}");
        assert!(outcome.spread.count > u64::from(streams), "{context}");
        assert_eq!((outcome.errors, outcome.other_clients), (0, 0), "{context}");
        assert!(outcome.client_processor > Duration::ZERO, "{context}");
        assert!(outcome.server_processor > Some(Duration::ZERO), "{context}");
        assert!(outcome.spread.min > Some(Duration::from_micros(1)), "{context}");
        // Little's law: in closed loops, the round trips in flight equal the number of streams.
        let under_way = outcome.per_second * outcome.spread.mean.unwrap().as_secs_f64();
        let share = under_way / f64::from(streams);
        assert!((0.5..1.1).contains(&share), "{share}: {context}");
    }
    let spinning = EchoPlan {
        spin: Spin::Always,
        ..plan(16, 16, 1)
    };
    let outcome = echo::measure(&echo, &spinning, &RUNS).expect("replies");
    assert!(
        outcome.spread.count > 10 && !outcome.spin,
        "the listener was not asked to: {outcome:?}"
    );
}

#[test]
fn a_listener_that_may_spins_where_it_is_asked_to() {
    let stand = Stand::new(ListenerOptions {
        spin: true,
        ..ListenerOptions::default()
    });
    let echo = stand.connect();
    assert!(echo.spins());
    for streams in [1, 5] {
        let spinning = EchoPlan {
            spin: Spin::Always,
            ..plan(16, 16, streams)
        };
        let outcome = echo::measure(&echo, &spinning, &RUNS).expect("replies");
        assert!(outcome.spread.count > 10 && outcome.spin, "{outcome:?}");
    }
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_known_distance_is_measured() {
    let _floor = told_on_failure();
    let stand = Stand::new(ListenerOptions::default());
    let options = relay::Options {
        link: Some("rtt=30ms".parse().expect("a link")),
        ..relay::Options::new(target(stand.address))
    };
    let relay = relay::start(options, Clock::anchored_now(), Arc::new(Nobody)).expect("a relay");
    let echo = Echo::connect(&target(relay.local_addr())).expect("it is greeted");
    for streams in [1, 32] {
        let plan = EchoPlan {
            duration: ms(600),
            ..plan(16, 16, streams)
        };
        let outcome = echo::measure(&echo, &plan, &RUNS).expect("replies");
        let p50 = outcome.spread.p50.expect("a median");
        assert!(p50 >= ms(30) && p50 < ms(45), "{streams}: {outcome:?}");
    }
    drop(echo);
    relay.stop(Duration::ZERO);
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn rates_are_measured_each_way_with_round_trips_beside() {
    let _floor = told_on_failure();
    let stand = Stand::new(ListenerOptions::default());
    let options = relay::Options {
        link: Some("rtt=2ms rate=80mbit/40mbit queue=100kB".parse().expect("a link")),
        ..relay::Options::new(target(stand.address))
    };
    let relay = relay::start(options, Clock::anchored_now(), Arc::new(Nobody)).expect("a relay");
    let echo = Echo::connect(&target(relay.local_addr())).expect("it is greeted");
    for (direction, rate) in [
        (Direction::ClientToServer, 80e6),
        (Direction::ServerToClient, 40e6),
    ] {
        let plan = BulkPlan {
            direction,
            duration: ms(800),
            request: 16,
            reply: 16,
        };
        let outcome = echo::bulk(&echo, &plan, &RUNS).expect("bytes");
        let share = outcome.rate.expect("a rate").as_bits_per_second() as f64 / rate;
        // Headers, simultaneous echoes and a busy machine take their share.
        assert!((0.6..1.001).contains(&share), "{share}: {outcome:?}");
        assert!(outcome.loaded.count > 5, "{outcome:?}");
        // 100 kB at this rate take 10 or 20 ms, which shows as queueing.
        assert!(outcome.queue_delay() > Some(ms(2)), "{outcome:?}");
    }
    drop(echo);
    relay.stop(Duration::ZERO);
}

#[test]
fn visitors_that_are_none_are_sent_away_and_others_served_meanwhile() {
    let stand = Stand::new(ListenerOptions {
        idle: ms(400),
        ..ListenerOptions::default()
    });
    let mut foreign = TcpStream::connect(stand.address).expect("connect");
    foreign
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .expect("write");
    let mut slow = TcpStream::connect(stand.address).expect("connect");
    slow.write_all(b"long").expect("write");
    let silent = TcpStream::connect(stand.address).expect("connect");
    assert!(echo::measure(&stand.connect(), &plan(16, 16, 1), &RUNS).is_ok());
    let mut answer = Vec::new();
    let _ = foreign.read_to_end(&mut answer);
    assert_eq!(answer, b"", "a stranger gets no answer");
    for mut idle in [slow, silent] {
        idle.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        assert!(matches!(idle.read(&mut [0]), Ok(0)), "it is closed");
    }
}

#[test]
fn absurd_plans_are_refused_with_the_limits() {
    let stand = Stand::new(ListenerOptions::default());
    let echo = stand.connect();
    let refused = |plan: EchoPlan| echo::measure(&echo, &plan, &RUNS).expect_err("refused");
    for sizes in [(0, 1), (1, 0), (MAX_BYTES + 1, 1), (1, u32::MAX)] {
        let error = refused(plan(sizes.0, sizes.1, 1));
        assert!(
            matches!(error, EchoError::Sizes { most: MAX_BYTES, .. }),
            "{error}"
        );
    }
    let error = refused(plan(1, 1, MAX_STREAMS + 1));
    assert!(
        matches!(
            error,
            EchoError::Streams {
                most: MAX_STREAMS,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn what_is_no_longwire_is_told_from_one_that_is_not_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let talking = spawn(move || {
        let (mut peer_connection, _) = listener.accept().unwrap();
        peer_connection.write_all(&[b'x'; 64]).unwrap();
        let (peer_connection, _) = listener.accept().unwrap();
        drop(peer_connection);
    });
    let error = |address| Echo::connect(&target(address)).expect_err("no longwire");
    assert!(matches!(error(address), EchoError::Foreign { .. }));
    let hung_up = error(address);
    assert!(matches!(hung_up, EchoError::Closed { .. }), "{hung_up}");
    talking.join().unwrap();
    let nobody = error(address);
    assert!(matches!(nobody, EchoError::Live(_)), "{nobody}");
    assert!(
        nobody.hint().is_some_and(|hint| hint.contains("--listen")),
        "{nobody}"
    );
}

#[test]
fn a_listener_that_leaves_is_told_and_what_was_measured_before_is_kept() {
    let stand = Stand::new(ListenerOptions::default());
    let echo = stand.connect();
    let stop = stand.stop.clone();
    let leaving = spawn(move || {
        sleep(ms(500));
        stop.stop();
    });
    let long = EchoPlan {
        duration: Duration::from_secs(30),
        ..plan(16, 16, 3)
    };
    let began = Instant::now();
    let outcome = echo::measure(&echo, &long, &RUNS).expect("what was measured");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(outcome.errors, 3, "{outcome:?}");
    assert!(outcome.spread.count > 0, "{outcome:?}");
    leaving.join().unwrap();
}

#[test]
fn once_ends_with_the_first_client_and_a_stop_ends_a_run() {
    let mut stand = Stand::new(ListenerOptions {
        once: true,
        ..ListenerOptions::default()
    });
    let echo = stand.connect();
    let stop = StopToken::new().unwrap();
    let own = stop.clone();
    let stopping = spawn(move || {
        sleep(ms(500));
        own.stop();
    });
    let long = EchoPlan {
        duration: Duration::from_secs(30),
        ..plan(16, 16, 1)
    };
    let outcome = echo::measure(&echo, &long, &stop).expect("what was measured");
    assert!(
        outcome.elapsed < Duration::from_secs(10) && outcome.errors == 0,
        "{outcome:?}"
    );
    stopping.join().unwrap();
    drop(echo);
    assert_eq!(stand.serving.take().unwrap().join().unwrap(), 1);
}

#[test]
fn a_stop_ends_a_listener_that_has_nothing_to_do() {
    let idle = Duration::from_secs(24 * 3600);
    drop(Stand::new(ListenerOptions {
        idle,
        ..ListenerOptions::default()
    }));
}

struct Nobody;

impl ObserverFactory for Nobody {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Self)
    }
}

impl Observer for Nobody {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}
