use super::assert_whole;
use super::http::serve;
use client::Watch;
use load::http::HttpLoad;
use load::script::{Quoting, Scripts};
use load::sql::SqlLoad;
use load::{Outcome, Plan, QueryMode, RunControl, Workload};
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Observer, PerDirection, Role, Timestamp};
use std::io::Write;
use std::sync::{Arc, Mutex};
use sys::StopToken;
use sys::{Clock, Target};
use testbed::Postgres;

#[derive(Default)]
struct Seen {
    opened: bool,
    handshake: bool,
    closed: bool,
    payload: PerDirection<u64>,
    last: PerDirection<Timestamp>,
    replies: u64,
}

#[derive(Default)]
struct Factory(Arc<Mutex<Vec<Arc<Mutex<Seen>>>>>);

struct Watcher {
    seen: Arc<Mutex<Seen>>,
    decoder: wire::Stream,
}

impl ObserverFactory for Factory {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        self.0.lock().unwrap().push(seen.clone());
        Box::new(Watcher {
            seen,
            decoder: wire::Stream::new(0),
        })
    }
}

impl Observer for Watcher {
    fn event(&mut self, _: ConnectionId, event: ConnectionEvent<'_>) {
        let mut seen = self.seen.lock().unwrap();
        assert!(!seen.closed);
        match event {
            ConnectionEvent::RelayHandshake(_) => {}
            ConnectionEvent::Opened { sides_certain, .. } => {
                assert!(sides_certain && !seen.opened);
                seen.opened = true;
            }
            ConnectionEvent::Handshake(handshake) => {
                assert!(handshake.syn <= handshake.syn_ack && handshake.syn_ack <= handshake.ack);
                seen.handshake = true;
            }
            ConnectionEvent::Segment(segment) => {
                assert!(seen.handshake);
                let direction = segment.direction;
                assert!(segment.at >= seen.last[direction]);
                seen.last[direction] = segment.at;
                seen.payload[direction] += segment.payload.len() as u64;
                let mut replies = 0;
                self.decoder
                    .feed(segment.at, segment.direction, segment.payload, &mut |message| {
                        let work = message.phase == model::Phase::Work;
                        replies += u64::from(work && message.role == Role::Reply);
                    });
                seen.replies += replies;
            }
            ConnectionEvent::RoundTrip { .. }
            | ConnectionEvent::AssumedRoundTrip { .. }
            | ConnectionEvent::Recovery { .. }
            | ConnectionEvent::Ended { .. }
            | ConnectionEvent::Drained => {}
            ConnectionEvent::Closed { totals, .. } => {
                assert_eq!(totals.payload_bytes, seen.payload);
                seen.closed = true;
            }
        }
    }
}

fn watch(load: &dyn Workload, plan: &Plan) -> (Outcome, Vec<Seen>) {
    let factory = Factory::default();
    let watch = Watch {
        clock: Clock::anchored_now(),
        factory: &factory,
        began: None,
    };
    let outcome = load::run(
        load,
        plan,
        &RunControl::new(&StopToken::never()).unwrap(),
        Some(&watch),
    )
    .unwrap();
    let seen = std::mem::take(&mut *factory.0.lock().unwrap());
    let seen = seen
        .into_iter()
        .map(|seen| Arc::into_inner(seen).unwrap().into_inner().unwrap())
        .collect();
    (outcome, seen)
}

fn sum(seen: &[Seen], figure: impl Fn(&Seen) -> u64) -> u64 {
    seen.iter().map(figure).sum()
}

#[test]
fn every_byte_of_http_requests_is_seen() {
    let answer = |_: &str, stream: &mut std::net::TcpStream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            .is_ok()
    };
    for (keep_alive, connections) in [(true, 3), (false, 30)] {
        serve(answer, |address| {
            let url = format!("http://{address}/");
            let load = HttpLoad::new(&url, address, keep_alive).unwrap();
            let (outcome, seen) = watch(&load, &super::plan(3, 30));
            assert_whole(&outcome, 30);
            assert_eq!(seen.len(), connections);
            assert!(seen.iter().all(|seen| seen.opened && seen.closed));
            let payload = PerDirection::from_fn(|direction| sum(&seen, |seen| seen.payload[direction]));
            assert_eq!(payload, outcome.payload_bytes);
            assert_eq!(sum(&seen, |seen| seen.replies), 30);
            outcome
        });
    }
}

#[test]
fn logins_and_statements_are_seen() {
    let server = Postgres::start();
    let script = Scripts::parse(["select 1", "select 2"], Quoting::Standard).unwrap();
    let target = Target::parse(&server.url()).unwrap();
    for mode in [QueryMode::Simple, QueryMode::Prepared] {
        for (reconnect, connections) in [(false, 2), (true, 20)] {
            let load = SqlLoad::new(&target, script.clone(), mode)
                .unwrap()
                .reconnecting(reconnect);
            let (outcome, seen) = watch(&load, &super::plan(2, 20));
            assert_whole(&outcome, 20);
            assert_eq!(seen.len(), connections);
            assert!(seen.iter().all(|seen| seen.opened && seen.closed));
            assert_eq!(sum(&seen, |seen| seen.replies), 40, "{mode:?} {reconnect}");
        }
    }
}
