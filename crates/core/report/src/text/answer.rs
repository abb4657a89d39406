//! The answer of `read`, `watch` and their pages in one sentence: the effect of distance on the
//! operation that takes most time there, and the saving of its findings. Without enough data for
//! that, it names the missing part.

use super::escape::{cut, printable};
use super::prediction::number;
use crate::outcome::ReadOutcome;
use crate::ranges::between;
use model::{
    DEFAULT_PRICE_RTT, DEFAULT_RTTS, Finding, FindingKind, OperationGroup, OperationKind, PredictedOperation,
    Prediction, counted, format_duration,
};
use std::time::Duration;

/// `None` if no prediction was requested.
///
/// All figures belong to a typical operation, or to the longest if too many operations of the name
/// differ from it. The remedied duration is the predicted one, shortened by the findings' share of
/// the predicted mean.
pub(crate) fn answer(outcome: &ReadOutcome) -> Option<String> {
    if outcome.predictions.is_empty() {
        return nothing_predicted(outcome);
    }
    let by_time = |group: &&OperationGroup| (is_waited_for(group), group.attribution.total());
    let longest = outcome.operations.iter().max_by_key(by_time)?;
    if let Some(refusal) = not_joined(outcome, longest).or_else(|| not_its_own(longest)) {
        return Some(refusal);
    }
    let (group, there) = most_time_there(outcome)?;
    let examples = there.examples?;
    let name = cut(&group.name, MAX_NAME_LEN);
    let (who, one) = match (group.count, examples.alike.as_fraction() >= ALIKE) {
        (1, _) => (name.into_owned(), examples.longest),
        (count, true) => (format!("{name} (typical of {count})"), examples.typical),
        // The longest got others' statements, most likely.
        (count, false) if !group.evidence.shows_owners() => {
            (format!("{name} (median of {count})"), examples.typical)
        }
        (count, false) => (format!("{name} (the longest of {count})"), examples.longest),
    };
    Some(format!(
        "At {}, {who} takes {} instead of {}{}.",
        format_duration(there.rtt),
        predicted(there, one.predicted),
        format_duration(one.measured),
        found(outcome, group, there, &one),
    ))
}

/// The interval where it is too wide for a median.
fn predicted(there: &Prediction, one: Duration) -> String {
    match (there.bounded(), there.bounds()) {
        (None, Some(bounds)) => between(bounds.map(format_duration)),
        _ => format_duration(one),
    }
}

/// Operations with most time at the longest distance that has findings with a price; without
/// findings, at the longest of all.
fn most_time_there(outcome: &ReadOutcome) -> Option<(&OperationGroup, &Prediction)> {
    let priced = outcome.findings.first().and_then(|first| first.savings.last());
    let rtt = match priced {
        Some(saving) => saving.rtt,
        None => unpriced_rtt(&outcome.predictions)?,
    };
    let there = |group: &OperationGroup| {
        let mut of_group = outcome.predictions.iter();
        of_group.find(|there| there.rtt == rtt && there.operation_name == group.name)
    };
    let by_time_there = |group: &&OperationGroup| {
        let each = there(group).map(|there| there.spread.mean.unwrap_or(there.duration));
        let all = each.unwrap_or_default().as_secs_f64() * group.count as f64;
        (
            is_waited_for(group),
            Duration::from_secs_f64(all.min(MAX_SECONDS)),
        )
    };
    let is_predicted = |group: &&OperationGroup| !outcome.unmoved.contains(&group.name);
    let predicted = outcome.operations.iter().filter(is_predicted);
    let group = predicted.max_by_key(by_time_there)?;
    Some((group, there(group)?))
}

/// The longest predicted distance; of the default ones, the one at which findings are priced.
fn unpriced_rtt(predictions: &[Prediction]) -> Option<Duration> {
    let mut rtts: Vec<Duration> = predictions.iter().map(|there| there.rtt).collect();
    // A page's grid begins without distance.
    rtts.retain(|rtt| !rtt.is_zero());
    rtts.sort_unstable();
    rtts.dedup();
    match rtts == DEFAULT_RTTS {
        true => Some(DEFAULT_PRICE_RTT),
        false => rtts.pop(),
    }
}

/// Users do not wait for a connection as a whole; it is used if no other operation was recognised.
fn is_waited_for(group: &OperationGroup) -> bool {
    group.kind != OperationKind::Connection
}

/// One year, above any compared sum of durations.
const MAX_SECONDS: f64 = 3.2e7;
/// Minimum share of operations that resemble the typical one, for it to represent the name.
const ALIKE: f64 = 0.9;

/// The possible saving, and the limits of the search.
fn found(
    outcome: &ReadOutcome,
    group: &OperationGroup,
    there: &Prediction,
    one: &PredictedOperation,
) -> String {
    let turns = counted(one.turns, "round trip", "round trips");
    let unseen = match group.evidence.shows_statements() {
        true => None,
        false => Some(
            group
                .evidence
                .nameless_words()
                .unwrap_or_else(|| NO_STATEMENT.to_owned()),
        ),
    };
    let of_remedies = of_remedies(outcome, group, there, one, unseen.as_deref());
    let unseen = unseen.map_or_else(String::new, |words| format!("; {words}"));
    let guessed = match group.evidence.shows_owners() {
        true => String::new(),
        false => format!(
            "; {} of {} round trips are assigned to it by a guess{}",
            group.evidence.guessed,
            group.evidence.round_trips,
            group
                .evidence
                .likely_right()
                .map_or_else(String::new, |right| format!(", about {right} of them right")),
        ),
    };
    format!(", for {turns}{of_remedies}{unseen}{guessed}")
}

fn of_remedies(
    outcome: &ReadOutcome,
    group: &OperationGroup,
    there: &Prediction,
    one: &PredictedOperation,
    unseen: Option<&str>,
) -> String {
    let remedies = Remedies::new(group, there.rtt, outcome.sure_findings());
    let each = |sum: f64| sum / group.count.max(1) as f64;
    let given_back = remedies.saves.div_f64(group.count.max(1) as f64);
    let changes = counted(remedies.count, "change", "changes");
    let verb = if remedies.count == 1 { "s" } else { "" };
    match (remedies.count, remedies.turns) {
        (0, _) if remedies.row > 0 => {
            format!(
                "; {} different statements of it run one after another",
                remedies.row
            )
        }
        (0, _) if unseen.is_none() => {
            let of_it = if outcome.findings.is_empty() { "" } else { " in it" };
            format!("; no wasteful pattern was found{of_it}")
        }
        (0, _) => String::new(),
        (_, 0) => format!(". {changes} save{verb} {}", format_duration(given_back)),
        // A loop across operations leaves most of them out, and shortens none.
        (_, removed) if one.turns <= 1 => {
            format!(
                ". {changes} remove{verb} {removed} of {} such round trips",
                group.turns
            )
        }
        (_, removed) => format!(
            ". {changes} remove{verb} about {} of them, and it takes {}",
            number(each(removed as f64).min(one.turns as f64)),
            format_duration(remedied(group, there, one, &remedies)),
        ),
    }
}

fn remedied(
    group: &OperationGroup,
    there: &Prediction,
    one: &PredictedOperation,
    remedies: &Remedies,
) -> Duration {
    let given_back = remedies.saves.div_f64(group.count.max(1) as f64);
    one.without
        .unwrap_or_else(|| without(there, one.predicted, given_back))
}

/// The typical operation of a name at the longest distance with a price.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saved {
    pub(crate) rtt: Duration,
    pub(crate) predicted: Duration,
    /// By all its findings together.
    pub(crate) saves: Duration,
}

/// `None` if nothing is found in it, or it was not predicted.
pub(crate) fn saved(outcome: &ReadOutcome, group: &OperationGroup) -> Option<Saved> {
    let rtt = outcome.findings.first()?.savings.last()?.rtt;
    let mut predictions = outcome.predictions.iter();
    let there = predictions.find(|there| there.rtt == rtt && there.operation_name == group.name)?;
    let one = there.examples?.typical;
    let remedies = Remedies::new(group, rtt, outcome.sure_findings());
    // A loop across operations leaves most of them out, and shortens none.
    (remedies.count > 0 && one.turns > 1).then(|| Saved {
        rtt,
        predicted: one.predicted,
        saves: one
            .predicted
            .saturating_sub(remedied(group, there, &one, &remedies)),
    })
}

const NO_STATEMENT: &str = "no statement was seen";

/// Says that no connection moves, or that there was none. `None` if no prediction was requested.
fn nothing_predicted(outcome: &ReadOutcome) -> Option<String> {
    if outcome.unmoved.is_empty() {
        return None;
    }
    Some(match outcome.summary.evidence.round_trips {
        0 => NO_DATABASE.to_owned(),
        _ => NOTHING_MOVES.to_owned(),
    })
}

const NO_DATABASE: &str = "No round trip to a database or a called service was seen, so the cost of distance is unknown. Capture on the application's host \
                           with its database's port (tcpdump -w FILE 'port 5432'), or name the connections that move with --on.";
const NOTHING_MOVES: &str =
    "No connection moves, so the cost of distance is unknown: name the connections that move with --on.";

/// Statements were seen but belong to no operation. `None` if the operation's statements are known.
fn not_joined(outcome: &ReadOutcome, group: &OperationGroup) -> Option<String> {
    let nobodys: u64 = outcome
        .operations
        .iter()
        .filter(|other| !other.kind.is_request())
        .map(|other| other.evidence.round_trips)
        .sum();
    let is_open = group.kind == OperationKind::Http && outcome.unmoved.contains(&group.name) && nobodys > 0;
    is_open.then(|| {
        format!(
            "The cost of distance for {} is unknown: {} to databases {} seen, and none belongs to a request of that name. --host joins \
             the addresses of one machine, --operations transaction shows the statements by themselves.",
            cut(&printable(&group.name), MAX_NAME_LEN),
            counted(nobodys, "round trip", "round trips"),
            if nobodys == 1 { "was" } else { "were" },
        )
    })
}

/// Too many statements may belong to other operations. `None` if they are certain.
fn not_its_own(group: &OperationGroup) -> Option<String> {
    let own = group.evidence.enough_own().err()?;
    let name = cut(&printable(&group.name), MAX_NAME_LEN).into_owned();
    Some(format!(
        "The cost of distance for {name} is unknown: about {own} of its {} are its own, most likely. \
         Pass a traceparent on in SQL comments (docs/requests.md), capture one request at a time, or take --operations transaction.",
        counted(group.evidence.round_trips, "round trip", "round trips"),
    ))
}

/// An operation's duration at the longest distance with a price, with and without the finding, in a
/// sentence. `None` if it was not predicted there, or the finding saves no time of the operation.
pub(crate) fn before_and_after(outcome: &ReadOutcome, finding: &Finding) -> Option<String> {
    let saving = finding.savings.last().filter(|saving| !saving.saves.is_zero())?;
    if finding.kind == FindingKind::HeldTransaction {
        return None;
    }
    // A loop across operations of one round trip leaves them out, and shortens none.
    let group = outcome
        .operations
        .iter()
        .find(|group| group.name == finding.operation_name && group.most_turns > 1)?;
    let there = outcome
        .predictions
        .iter()
        .find(|there| there.operation_name == group.name && there.rtt == saving.rtt)
        .filter(|there| there.bounded().is_some())?;
    let saves = saving
        .saves
        .checked_div(u32::try_from(group.count).unwrap_or(u32::MAX))?;
    // Operations without the finding were not replayed.
    let remedied = saving.remedied.filter(|_| finding.operations == group.count);
    let after = remedied.map_or_else(
        || format_duration(without(there, there.duration, saves)),
        |after| {
            let [duration, low, high] = [after.duration, after.low, after.high].map(format_duration);
            match finding.saves_turns_most > finding.saves_turns {
                // The bounds are of how many round trips are saved: no median is between them.
                true => format!("{low} to {high}"),
                false => format!("{duration} ({low} to {high})"),
            }
        },
    );
    Some(format!(
        "{} at {}: {} -> {after}.",
        cut(&group.name, MAX_NAME_LEN),
        format_duration(saving.rtt),
        format_duration(there.duration),
    ))
}

/// Subtracts the mean saving in proportion, since operations of one name may be long and short.
fn without(there: &Prediction, predicted: Duration, saves: Duration) -> Duration {
    let mean = there.spread.mean.unwrap_or(there.duration).as_secs_f64();
    let stays = match mean > 0.0 {
        true => (1.0 - saves.as_secs_f64() / mean).clamp(0.0, 1.0),
        false => 1.0,
    };
    predicted.mul_f64(stays)
}

#[derive(Debug, Default)]
struct Remedies {
    count: u64,
    turns: u64,
    saves: Duration,
    /// Distinct statements in a row, with an unknown joint saving.
    row: u64,
}

impl Remedies {
    fn new<'a>(group: &OperationGroup, rtt: Duration, findings: impl Iterator<Item = &'a Finding>) -> Self {
        let mut remedies = Self::default();
        // The time that rows are held is not part of the operation's time. Similar requests of an
        // undecoded protocol only may be a loop.
        let not_added = [FindingKind::HeldTransaction, FindingKind::SimilarRequests];
        let adds_up = |finding: &&'a Finding| {
            finding.operation_name == group.name && !not_added.contains(&finding.kind)
        };
        for finding in findings.filter(adds_up) {
            let Some(saving) = finding.savings.iter().find(|saving| saving.rtt == rtt) else {
                continue;
            };
            if finding.kind == FindingKind::Sequential && finding.saves_turns == 0 {
                remedies.row = remedies.row.max(finding.count / finding.operations.max(1));
            }
            if !saving.saves.is_zero() {
                remedies.count += 1;
                remedies.turns = remedies.turns.saturating_add(finding.saves_turns);
                remedies.saves = remedies.saves.saturating_add(saving.saves);
            }
        }
        remedies
    }
}

/// Counted in columns, so that the sentence takes about two lines.
const MAX_NAME_LEN: usize = 50;
