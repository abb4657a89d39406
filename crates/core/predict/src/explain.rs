//! A prediction's assumptions, and one operation step by step.

use crate::replay::{Replayed, StepTimes, replay};
use crate::run::Computing;
use crate::target::{ComputingByClients, PredictionTarget};
use crate::unexplained::replay_here;
use crate::wake_up::{ASSUMED, COLD_FACTOR, HALF_COLD, MAX_ALLOWANCE, WakeUp};
use model::{Assigned, ConnectionId, Fingerprint, Operation, OperationStep, Phase, Share};
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumption {
    pub text: Cow<'static, str>,
    pub source: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub assumptions: Vec<Assumption>,
    pub replayed: Replayed,
    /// Measured time minus its replay at the measured distance; may be negative.
    pub unexplained_ns: i64,
    pub steps: Vec<ExplainedStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedStep {
    pub connection: ConnectionId,
    pub phase: Phase,
    pub fingerprint: Option<Fingerprint>,
    pub moved: bool,
    pub turns: u32,
    pub request_bytes: u64,
    pub reply_bytes: u64,
    /// Index of the step for which it waited.
    pub after: Option<u32>,
    /// How it was assigned to the operation; `None` if that is certain.
    pub assigned: Option<Assigned>,
    /// Probability of a guessed assignment.
    pub probability: Option<Share>,
    pub times: StepTimes,
}

/// Replays `operation` on `target` with a single client and reports everything used.
pub fn explain(
    operation: &Operation,
    target: &PredictionTarget,
    computing: ComputingByClients,
    wake_up: WakeUp,
    moved: &dyn Fn(&OperationStep) -> bool,
) -> Explanation {
    let mut replayed = replay(operation, target, wake_up, moved);
    let here = replay_here(operation, moved);
    let wait = here.wait(replayed.attribution.transfer);
    replayed.duration += wait;
    replayed.attribution.unknown += wait;
    let steps = operation
        .steps
        .iter()
        .zip(&replayed.steps)
        .map(|(step, times)| ExplainedStep {
            connection: step.exchange.connection,
            phase: step.exchange.phase,
            fingerprint: step.exchange.fingerprint.clone(),
            moved: moved(step),
            turns: step.exchange.turns,
            request_bytes: step.exchange.request_bytes,
            reply_bytes: step.exchange.reply_bytes,
            after: step.after,
            assigned: step.assigned,
            probability: step.probability,
            times: *times,
        })
        .collect();
    let mut assumptions = vec![waking(wake_up)];
    assumptions.extend_from_slice(ASSUMPTIONS);
    let computing = computing.for_clients(target.clients);
    if target.clients > 1 || computing != Computing::default() {
        assumptions.push(cores(computing));
        assumptions.extend_from_slice(OF_SEVERAL);
        assumptions.extend(unseen_rows(operation));
    }
    Explanation {
        assumptions,
        replayed,
        unexplained_ns: here.unexplained_ns,
        steps,
    }
}

pub const ASSUMPTIONS: &[Assumption] = &[
    Assumption {
        text: Cow::Borrowed(
            "Each request is sent when the reply that it waited for has arrived; the application behaves as measured.",
        ),
        source: "the measurement",
    },
    Assumption {
        text: Cow::Borrowed(
            "Exchanges of one operation on several connections wait for each other, unless operations of its name show that they do not.",
        ),
        source: "all operations of the name: docs/prediction.md, What ran at once",
    },
    Assumption {
        text: Cow::Borrowed(
            "Replies that left at a fixed time after their request still leave then. Steps of a single operation do not show it.",
        ),
        source: "all operations of the name: docs/prediction.md, What is replayed",
    },
    Assumption {
        text: Cow::Borrowed(
            "Bytes of a small request or reply that waited for a delayed acknowledgement (40 to 200 ms) wait as long at every distance.",
        ),
        source: "the measurement: docs/prediction.md, Delayed acknowledgements",
    },
    Assumption {
        text: Cow::Borrowed(
            "Measured time that the replay does not explain (at least 1 ms and 1 %) is a wait that distance does not change. Longer \
             transfers take its place.",
        ),
        source: "the measurement: docs/definitions.md, Unexplained wait",
    },
    Assumption {
        text: Cow::Borrowed("The moved connections share the link with each other and with nothing else."),
        source: "the link as requested",
    },
    Assumption {
        text: Cow::Borrowed(
            "The measured path's round-trip times, transfer times and retransmissions are replaced by the link's; connections that do not move keep theirs.",
        ),
        source: "the measurement",
    },
    Assumption {
        text: Cow::Borrowed(
            "A TCP handshake is one round trip of 60-byte packets; a packet carries 52 bytes of headers and up to mtu - 52 of payload.",
        ),
        source: "RFC 9293, RFC 7323",
    },
    Assumption {
        text: Cow::Borrowed(
            "A sender begins with 10 packets in flight and doubles them each round trip, until acknowledgements show a queue (hybrid slow \
             start). Then it grows as cubic does.",
        ),
        source: "RFC 6928, RFC 9438, Linux tcp_cubic.c",
    },
    Assumption {
        text: Cow::Borrowed(
            "After silence longer than the retransmission timeout (round trip + 200 ms or more) the window falls back towards 10 packets.",
        ),
        source: "RFC 5681 section 4.1, Linux tcp_slow_start_after_idle",
    },
    Assumption {
        text: Cow::Borrowed(
            "A connection that an earlier operation used keeps its window, and the measured pause between them. A connection first seen \
             now starts with 10 packets, or with as many as its first large reply shows.",
        ),
        source: "the measurement; nothing before it is known",
    },
    Assumption {
        text: Cow::Borrowed(
            "A receiver grants 64 KiB at first, and up to 3.9 MB as data arrive. A sender's stack takes up to 4 MB before the application \
             waits.",
        ),
        source: "Linux tcp_rmem and tcp_wmem defaults",
    },
    Assumption {
        text: Cow::Borrowed(
            "The first 64 MiB of a message are simulated packet by packet. The rest continues at the link's rate or 3 MiB a round trip, \
             the slower of both.",
        ),
        source: "the pace reached by then",
    },
    Assumption {
        text: Cow::Borrowed(
            "A receiver acknowledges every packet at a connection's start, then every second one, a lone one within 40 ms.",
        ),
        source: "RFC 5681 section 4.2, Linux TCP_MAX_QUICKACKS and TCP_DELACK_MIN",
    },
    Assumption {
        text: Cow::Borrowed(
            "Nothing is lost unless the link's queue is bounded and full, or the link loses packets at random; both sides switch Nagle's algorithm off.",
        ),
        source: "the link as requested; the habits of database drivers",
    },
];

pub const OF_SEVERAL: &[Assumption] = &[
    Assumption {
        text: Cow::Borrowed(
            "Each client begins its next operation of that name when the last one is over, after the measured median pause. Pauses over 1 \
             ms are a user's and left out.",
        ),
        source: "a closed loop, as load generators make it",
    },
    Assumption {
        text: Cow::Borrowed(
            "Clients have connections of their own and share the link, its rate and its queue.",
        ),
        source: "the link as requested",
    },
    Assumption {
        text: Cow::Borrowed(
            "Cores are shared evenly. Computations beyond the number of cores waited in the measurement; only their work is repeated.",
        ),
        source: "processor sharing; Little's law holds for it",
    },
    Assumption {
        text: Cow::Borrowed(
            "Clients wait for locks on rows that several operations wrote, and where statements of the measurement did, and nowhere else; \
             disks have room for all.",
        ),
        source: "docs/prediction.md#several-clients; other locks are not visible on the wire",
    },
];

/// Writes by prepared statements, of rows that only their parameters name.
fn unseen_rows(operation: &Operation) -> Option<Assumption> {
    let exchanges = operation.steps.iter().map(|step| &step.exchange);
    let mut unseen = exchanges.filter(|exchange| {
        let prepared = exchange.asked.prepared_executions > 0 && exchange.asked.rows_digest.is_none();
        let verb = exchange
            .fingerprint
            .as_deref()
            .and_then(|text| text.split_whitespace().next());
        prepared && verb.is_some_and(|verb| WRITES.iter().any(|write| verb.eq_ignore_ascii_case(write)))
    });
    let first = unseen.next()?.fingerprint.as_deref()?;
    Some(Assumption {
        text: format!(
            "Parameters of {} prepared `update` or `delete` of it are not seen (the first: {first}). Locks on its rows \
             are not predicted.",
            1 + unseen.count()
        )
        .into(),
        source: "docs/prediction.md#several-clients",
    })
}

const WRITES: [&str; 2] = ["update", "delete"];

fn waking(wake_up: WakeUp) -> Assumption {
    match wake_up {
        WakeUp::None => Assumption {
            text: "Client and server take the same time as measured, at every distance.".into(),
            source: "the measurement",
        },
        WakeUp::Assumed => Assumption {
            text: format!(
                "Client and server take the time measured, and longer after longer rests. The addition is up to {COLD_FACTOR} times that \
                 time, at most {} ms, and half of it after a rest of {} ms. The bounds allow for {} to {} times that.",
                MAX_ALLOWANCE.as_millis(),
                HALF_COLD.as_millis(),
                ASSUMED.factor_low,
                ASSUMED.factor_high
            )
            .into(),
            source: "assumed, from measurements of other programs: docs/prediction.md#waking-up; --wake-up none leaves it out",
        },
        WakeUp::Calibrated(curves) => Assumption {
            text: format!(
                "{} the time measured, and longer after longer rests, as a calibration measured; the bounds hold its scatter.{}",
                match curves.map(|curve| curve.is_some()).into_array() {
                    [true, false] => "Clients take",
                    [false, true] => "Servers take",
                    [true, true] | [false, false] => "Client and server take",
                },
                match curves.iter().all(Option::is_some) {
                    true => "",
                    false => " The other side is assumed to, as without a calibration.",
                }
            )
            .into(),
            source: "longwire calibrate: docs/prediction.md#waking-up",
        },
    }
}

fn cores(computing: Computing) -> Assumption {
    let text = match (computing.client, computing.server) {
        (None, None) => "Every client and every request has a core of its own.".to_owned(),
        (client, server) => format!(
            "All clients together compute on {}, all servers together on {}.",
            count(client),
            count(server)
        ),
    };
    Assumption {
        text: text.into(),
        source: "--client-cores, --server-cores; without them as many as this system has",
    }
}

fn count(cores: Option<u32>) -> String {
    match cores {
        None => "as many cores as they need".to_owned(),
        Some(1) => "1 core".to_owned(),
        Some(cores) => format!("{cores} cores"),
    }
}
