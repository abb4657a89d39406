//! Operations from the members of a group.

use super::member::{Member, Members};
use super::{attribution, dependencies, span};
use model::{Attribution, ConnectionId, Exchange, Operation, OperationKind, Protocol, Timestamp};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is handed on at once, never kept")]
pub enum Grouped {
    /// An operation, or a part of one ([`Operation::continues`]).
    Operation(Operation),
    /// An exchange outside all operations under the rule.
    Alone(Box<Exchange>, Protocol),
}

/// Receives operations in order of their end. A request whose last database exchange is opaque
/// comes once its end is known ([`crate::fact::Fact::Begun`]).
pub type GroupedSink<'s> = dyn FnMut(Grouped) + 's;

pub(super) const UNNAMED_REQUEST: &str = "HTTP request";

pub(super) fn group_name(kind: OperationKind, member: &Member) -> Arc<str> {
    match kind {
        // Until there is a statement.
        OperationKind::Transaction => Arc::from(format!("exchange with {}", member.sides.server)),
        OperationKind::Request => Arc::from("request"),
        OperationKind::Connection => Arc::from(format!("connection to {}", member.sides.server)),
        OperationKind::Burst => Arc::from(format!("burst of {}", member.sides.client.address)),
        OperationKind::Marked => Arc::from("marked"),
        OperationKind::Whole => Arc::from("whole observation"),
        OperationKind::Http => match &member.exchange.fingerprint {
            Some(fingerprint) => fingerprint.clone(),
            None => Arc::from(UNNAMED_REQUEST),
        },
    }
}

/// With one direction unseen, time cannot be attributed.
pub(super) fn without_parts(grouped: Grouped) -> Grouped {
    match grouped {
        Grouped::Operation(mut operation) => {
            operation.attribution = Attribution {
                unknown: operation.duration,
                ..Attribution::default()
            };
            Grouped::Operation(operation)
        }
        alone @ Grouped::Alone(..) => alone,
    }
}

/// `from` is the end of the previous part.
pub(super) fn assemble(
    id: u64,
    kind: OperationKind,
    name: Arc<str>,
    members: Members,
    from: Option<Timestamp>,
    continues: bool,
) -> Operation {
    let mut linked = dependencies::link(members);
    let moments = &linked.moments;
    let started = moments.iter().map(|moment| moment.started).min();
    let at = from.or(started).unwrap_or_default();
    let ended = moments.iter().map(|moment| moment.ended).max();
    let ended = ended.unwrap_or(at).max(at);
    let mut seen: Vec<ConnectionId> = moments.iter().map(|moment| moment.connection).collect();
    seen.sort_unstable();
    seen.dedup();
    let turns = moments.iter().map(|moment| moment.turns).sum();
    let walked = attribution::walk(&linked.steps, &linked.parents, &linked.by_end, at, ended);
    if let (Some(from), Some(first)) = (from, linked.steps.first_mut()) {
        first.client_before = span::started(&first.exchange).since(from);
    }
    Operation {
        id,
        kind,
        name,
        at,
        duration: ended.since(at),
        turns,
        connections: u32::try_from(seen.len()).unwrap_or(u32::MAX),
        attribution: walked.attribution,
        setup: walked.setup,
        client_after: Duration::ZERO,
        transactions: Vec::new(),
        after_reply: Vec::new(),
        continues,
        steps: linked.steps,
    }
}
