//! A pool that keeps few idle connections.

mod made;

use made::{Made, operation, operation_step, step};
use model::{Operation, OperationKind, Phase, Protocol, Timestamp};
use predict::{PredictionTarget, Predictor, WakeUp};
use std::collections::BTreeSet;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);
const STATEMENTS: usize = 4;

struct Program {
    rtt: Duration,
    idle_limit: usize,
    idle: Vec<u32>,
    opened: u32,
    pauses: u32,
    requests: Vec<Request>,
    /// By time and client, with the connection that it returns; it takes one otherwise.
    events: BTreeSet<(Timestamp, usize, Option<u32>)>,
    operations: Vec<Operation>,
}

#[derive(Default)]
struct Request {
    at: Timestamp,
    now: Timestamp,
    statements: usize,
    steps: Vec<(Made, Timestamp)>,
}

impl Program {
    fn observe(rtt: Duration, idle_limit: usize) -> Vec<Operation> {
        let mut program = Self {
            rtt,
            idle_limit,
            idle: Vec::new(),
            opened: 0,
            pauses: 0,
            requests: Vec::new(),
            events: BTreeSet::new(),
            operations: Vec::new(),
        };
        for client in 0..4 {
            program.requests.push(Request::default());
            let at = Timestamp::from_nanos(1_000_000_000_000).after(client as u32 * 700 * US);
            program.receive(client, at);
        }
        while program.operations.len() < 400 {
            let (at, client, returned) = program.events.pop_first().expect("clients that go on");
            match returned {
                Some(connection) => program.give_back(client, connection, at),
                None => program.take_connection(client, at),
            }
        }
        program.operations
    }

    fn receive(&mut self, client: usize, at: Timestamp) {
        self.requests[client] = Request {
            at,
            ..Request::default()
        };
        let pause = self.pause();
        self.events.insert((at.after(pause), client, None));
    }

    fn pause(&mut self) -> Duration {
        self.pauses = self.pauses.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (200 + (self.pauses >> 16) % 31 * 20) * US
    }

    fn take_connection(&mut self, client: usize, at: Timestamp) {
        let idle = self.idle.pop();
        let connection = idle.unwrap_or(self.opened);
        let request = &mut self.requests[client];
        request.now = at;
        if idle.is_none() {
            self.opened += 1;
            request.exchange(Phase::Connect, connection, self.rtt, Duration::ZERO);
            request.exchange(Phase::Login, connection, self.rtt, 500 * US);
            request.exchange(Phase::Login, connection, self.rtt, 500 * US);
        }
        request.exchange(Phase::Work, connection, self.rtt, MS);
        request.statements += 1;
        self.events.insert((request.now, client, Some(connection)));
    }

    fn give_back(&mut self, client: usize, connection: u32, at: Timestamp) {
        if self.idle.len() < self.idle_limit {
            self.idle.push(connection);
        } else {
            self.requests[client].exchange(Phase::Close, connection, Duration::ZERO, Duration::ZERO);
        }
        if self.requests[client].statements < STATEMENTS {
            let pause = self.pause();
            self.events.insert((at.after(pause), client, None));
            return;
        }
        let request = std::mem::take(&mut self.requests[client]);
        let number = self.operations.len() as u64;
        let answered = at.after(100 * US);
        self.operations
            .push(request.finish(number, client as u32, answered, self.rtt));
        self.receive(client, answered.after(20 * US));
    }
}

impl Request {
    fn exchange(&mut self, phase: Phase, connection: u32, rtt: Duration, server: Duration) {
        let bytes = if phase == Phase::Connect { 0 } else { 50 };
        let made = Made {
            phase,
            ..Made::query(bytes, bytes).on(1000 + connection).server(server)
        };
        self.steps.push((made, self.now));
        self.now = self.now.after(rtt + server);
    }

    fn finish(self, number: u64, client: u32, answered: Timestamp, rtt: Duration) -> Operation {
        let outer = Made::query(200, 200).on(client).server(answered.since(self.at));
        let mut outer = operation_step(&outer, step(self.at, Duration::ZERO, &outer));
        outer.protocol = Protocol::Http;
        outer.exchange.first.server = 100 * US;
        outer.reply_after = Some(self.steps.len() as u32);
        let mut steps = vec![outer];
        let mut before = self.at;
        for (made, sent) in self.steps {
            let mut seen = step(sent, rtt, &made);
            let client_before = sent.since(before);
            before = match made.phase {
                Phase::Close => {
                    (seen.reply_started, seen.reply_ended, seen.turn) = (None, None, false);
                    sent
                }
                _ => seen.reply_ended.expect("made with a reply"),
            };
            let mut asked = operation_step(&made, seen);
            asked.after = Some(steps.len() as u32 - 1);
            asked.after_start = steps.len() == 1;
            asked.client_before = client_before;
            steps.push(asked);
        }
        Operation {
            id: number,
            name: "GET /entries".into(),
            kind: OperationKind::Http,
            ..operation(self.at, answered.since(self.at), steps)
        }
    }
}

fn predicted(operations: &[Operation], rtt: Duration) -> model::Prediction {
    let target = PredictionTarget {
        link: link::LinkDescription::with_rtt(rtt),
        clients: 4,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|step| step.protocol == Protocol::Postgres))
        .with_wake_up(WakeUp::None);
    operations.iter().for_each(|operation| predictor.add(operation));
    predictor.finish().remove(0)
}

fn mean(operations: &[Operation]) -> Duration {
    let durations = operations.iter().map(|operation| operation.duration);
    durations.sum::<Duration>() / operations.len() as u32
}

fn round_trips(operations: &[Operation]) -> f64 {
    let turns = operations.iter().flat_map(|operation| &operation.steps);
    let turns: u32 = turns
        .filter(|step| step.protocol == Protocol::Postgres)
        .map(|step| step.exchange.turns)
        .sum();
    f64::from(turns) / operations.len() as f64
}

#[test]
fn connections_are_opened_as_the_state_of_the_pool_requires() {
    for idle_limit in [1, 2] {
        let near = Program::observe(Duration::ZERO, idle_limit);
        for rtt in [2 * MS, 40 * MS] {
            let far = Program::observe(rtt, idle_limit);
            let predicted = predicted(&near, rtt);
            let truth = mean(&far);
            let duration = predicted.spread.mean.expect("durations");
            assert!(
                duration.abs_diff(truth) < truth / 20,
                "{duration:?} instead of {truth:?}, {idle_limit} idle; round trips {} near, {} far, predicted {}",
                round_trips(&near),
                round_trips(&far),
                predicted.turns,
            );
        }
    }
}
