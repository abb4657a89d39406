//! What a prediction rests on: the model's assumptions, and one operation step by step.

use crate::predictor::Target;
use crate::replay::{Replayed, StepTimes, replay};
use model::{ConnectionId, Fingerprint, Operation, OperationStep, Phase};

/// One thing the model takes for granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assumption {
    /// What is assumed, one sentence.
    pub text: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// A predicted operation, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Everything the model takes for granted.
    pub assumptions: &'static [Assumption],
    /// The replay as a whole.
    pub replayed: Replayed,
    /// The operation's exchanges in its order.
    pub steps: Vec<ExplainedStep>,
}

/// One exchange of a predicted operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedStep {
    /// Its connection.
    pub connection: ConnectionId,
    /// What it is for.
    pub phase: Phase,
    /// Its statement, where it has one.
    pub fingerprint: Option<Fingerprint>,
    /// Whether its connection was moved to the link.
    pub moved: bool,
    /// Its turns.
    pub turns: u32,
    /// Payload bytes of the request.
    pub request_bytes: u64,
    /// Payload bytes of the reply.
    pub reply_bytes: u64,
    /// Index of the step it waited for.
    pub after: Option<u32>,
    /// When it begins and ends on the target.
    pub times: StepTimes,
}

/// Replays `operation` on `target` and tells all that went into it.
pub fn explain(
    operation: &Operation,
    target: &Target,
    moved: &dyn Fn(&OperationStep) -> bool,
) -> Explanation {
    let replayed = replay(operation, target, moved);
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
            times: *times,
        })
        .collect();
    Explanation {
        assumptions: ASSUMPTIONS,
        replayed,
        steps,
    }
}

/// Everything the model takes for granted.
pub const ASSUMPTIONS: &[Assumption] = &[
    Assumption {
        text: "Client and server take the same time as measured, whatever the distance.",
        source: "the measurement",
    },
    Assumption {
        text: "Each exchange begins when what it waited for in the measurement is there; the application does not change its ways.",
        source: "the measurement",
    },
    Assumption {
        text: "The moved connections share the link with each other and with nobody else.",
        source: "the link as asked for",
    },
    Assumption {
        text: "The measured path's round trips, transfer times and retransmissions are replaced by the link's; connections that do not move keep theirs.",
        source: "the measurement",
    },
    Assumption {
        text: "A TCP handshake is one turn of 60-byte packets; a packet carries 52 bytes of headers and up to mtu - 52 of payload.",
        source: "RFC 9293, RFC 7323",
    },
    Assumption {
        text: "A sender begins with 10 packets in flight and doubles each round trip, until acknowledgements show a queue (hybrid slow start); then it grows as cubic does.",
        source: "RFC 6928, RFC 9438, Linux tcp_cubic.c",
    },
    Assumption {
        text: "After silence longer than the retransmission timeout (round trip + 200 ms or more) the window falls back towards 10 packets.",
        source: "RFC 5681 section 4.1, Linux tcp_slow_start_after_idle",
    },
    Assumption {
        text: "A connection that an earlier operation used keeps its window, and the pause between them as measured; one of which nothing earlier was seen starts with 10 packets.",
        source: "what happened before the observation is not known",
    },
    Assumption {
        text: "A receiver grants 64 KiB at first and makes room as data come, up to 3.9 MB; a sender's stack takes up to 4 MB before the application waits.",
        source: "Linux tcp_rmem and tcp_wmem defaults",
    },
    Assumption {
        text: "Of one message 64 MiB are simulated packet by packet; the rest goes on at the link's rate, or 3 MiB a round trip, whichever is slower.",
        source: "the pace reached by then",
    },
    Assumption {
        text: "A receiver acknowledges every packet at a connection's start, then every second one, a lone one within 40 ms.",
        source: "RFC 5681 section 4.2, Linux TCP_MAX_QUICKACKS and TCP_DELACK_MIN",
    },
    Assumption {
        text: "Nothing is lost unless the link's queue is bounded and full; both sides switch Nagle's algorithm off.",
        source: "the link as asked for; what database drivers do",
    },
];
