//! Warnings of unseen or uncertain data, from the totals of a run.

use model::{Assignments, Evidence, NotSeen, OperationGroup, Strays, Summary, Warning, WarningKind, counted};

pub(crate) fn warnings(
    summary: &Summary,
    groups: &[OperationGroup],
    strays: Option<Strays>,
) -> impl Iterator<Item = Warning> {
    let nameless = nameless(&summary.evidence);
    let others = [
        strays.map(stray),
        mostly_guessed(&summary.assigned),
        others(groups),
    ];
    nameless.into_iter().chain(others.into_iter().flatten())
}

/// Warns that too few statements were seen for findings, once per reason. Encryption has its own
/// warning.
fn nameless(evidence: &Evidence) -> Vec<Warning> {
    if evidence.round_trips == 0 || evidence.shows_statements() {
        return Vec::new();
    }
    let reasons = evidence.reasons().into_iter();
    let told = reasons.filter(|reason| *reason != NotSeen::Encrypted);
    told.map(|reason| {
        let text = format!(
            "{}, so findings are of the others alone: {}",
            evidence.words_for(&[reason]),
            advice(reason)
        );
        Warning::new(reason.into(), text)
    })
    .collect()
}

const fn advice(reason: NotSeen) -> &'static str {
    match reason {
        NotSeen::Encrypted => {
            "--keys opens TLS where a program wrote a key log, `longwire watch` with sslmode=require in its TARGET sees what it encrypts itself"
        }
        NotSeen::PreparedBefore => {
            "begin the capture before the pool opens its connections, or have it open new ones; MySQL and MariaDB list prepared texts in \
             performance_schema.prepared_statements_instances"
        }
        NotSeen::Cut => "capture whole packets, and none dropped (tcpdump -s 0 -B 65536)",
        NotSeen::NotDecoded => "docs/protocols.md lists what is decoded",
    }
}

/// Warns that many round trips to databases belong to no request, although there are requests.
fn stray(strays: Strays) -> Warning {
    let Strays { round_trips, of } = strays;
    Warning::new(
        WarningKind::OwnersUnknown,
        format!(
            "{round_trips} of {} to databases belong to no HTTP request, although requests may have been in flight. They are background \
             work, or belong to requests to other addresses of the same host, with more round trips than shown. --host joins addresses",
            counted(of, "round trip", "round trips")
        ),
    )
}

/// Warns that many exchanges have an uncertain owner.
fn mostly_guessed(assigned: &Assignments) -> Option<Warning> {
    let share = assigned
        .share_guessed()
        .filter(|share| share.as_fraction() > GUESSES_THAT_MATTER)?;
    let (guessed, all) = assigned.guessed();
    let likely = assigned.likely_right();
    let likely = likely.map_or_else(String::new, |right| format!(", right in about {right} of them"));
    Some(Warning::new(
        WarningKind::OwnersGuessed,
        format!(
            "{guessed} of {all} exchanges ({share}) were assigned to their requests by order, which is a guess{likely}. Others may be \
             a neighbour's, or work that no request waits for. Certain with identifiers in statements (traceparent in SQL comments), \
             or per statement and transaction: docs/requests.md"
        ),
    ))
}

/// Warns of operations without prediction, because too many of their round trips may belong to
/// others.
fn others(groups: &[OperationGroup]) -> Option<Warning> {
    let names: Vec<String> = groups
        .iter()
        .filter_map(|group| Some(format!("{} ({})", group.name, group.evidence.enough_own().err()?)))
        .collect();
    let (shown, more) = names.split_at(names.len().min(SHOWN_NAMES));
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        let text = format!(
            "nothing is predicted for {}{more}: so many of their round trips are their own, most likely, and {:.0} % have to be. Pass a \
             traceparent on in SQL comments (docs/requests.md), capture one request at a time, or take --operations transaction",
            shown.join(", "),
            Evidence::LIKELY_ENOUGH * 100.0
        );
        Warning::new(WarningKind::NotPredicted, text)
    })
}

const SHOWN_NAMES: usize = 3;

/// Share of guessed exchanges above which single requests are unreliable.
const GUESSES_THAT_MATTER: f64 = 0.05;
