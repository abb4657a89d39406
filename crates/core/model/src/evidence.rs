//! Evidence for the round trips of operations.

use crate::serde_units::is_zero;
use crate::{Assigned, Exchange, OperationGroup, OperationStep, Phase, Protocol, Share};
use serde::{Deserialize, Serialize};

/// Why the statement of a round trip was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotSeen {
    /// It was encrypted, and no key was available.
    Encrypted,
    /// It was prepared before the observation began.
    PreparedBefore,
    /// Payload is missing from the capture.
    Cut,
    /// The protocol is not, or no longer, decoded.
    NotDecoded,
}

impl NotSeen {
    /// All reasons in this order.
    pub const ALL: [Self; 4] = [Self::Encrypted, Self::PreparedBefore, Self::Cut, Self::NotDecoded];

    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::PreparedBefore => "prepared_before",
            Self::Cut => "cut",
            Self::NotDecoded => "not_decoded",
        }
    }

    /// The words used in sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::PreparedBefore => "prepared before the capture",
            Self::Cut => "cut",
            Self::NotDecoded => "protocol not decoded",
        }
    }
}

/// Possible content of bytes that no captured packet holds, the gravest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lost {
    /// Whole replies, or their ends.
    Replies,
    /// A part of one request, which may have named another statement.
    Statement,
    /// Any number of whole requests.
    Requests,
}

impl Lost {
    /// All contents in this order.
    pub const ALL: [Self; 3] = [Self::Replies, Self::Statement, Self::Requests];

    /// Name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Replies => "replies",
            Self::Statement => "statement",
            Self::Requests => "requests",
        }
    }
}

/// Round trips of work, by how well they are known. Excludes connecting, TLS, login and requests to
/// web servers that are no calls ([`OperationStep::is_call`]). Counts of operations can be summed;
/// unrecognised round trips are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "EvidenceKeys", into = "EvidenceKeys")]
pub struct Evidence {
    /// Round trips of work with databases, including possible ones, and called services.
    pub round_trips: u64,
    /// Guessed round trips ([`Assigned::is_proof`]).
    pub guessed: u64,
    /// Round trips outside HTTP requests ([`OperationStep::outside_requests`]).
    pub outside_requests: u64,
    /// Guesses without a probability, as of traffic that is not decoded.
    pub unrated: u64,
    /// Expected number of wrong guesses, in thousandths. Misleads where many are unrated, which
    /// count as right.
    pub doubted: u64,
    /// Round trips of connections without a known round-trip time.
    pub untimed: u64,
    /// Unseen statements' round trips, by [`NotSeen::ALL`].
    pub not_seen: [u64; NotSeen::ALL.len()],
    /// Operations that lost bytes, by the gravest loss of each, by [`Lost::ALL`].
    pub lost: [u64; Lost::ALL.len()],
}

/// In records: counts of round trips. Reasons that apply to none are omitted.
#[derive(Serialize, Deserialize)]
struct EvidenceKeys {
    round_trips: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    guessed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    likely_right: Option<f64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    outside_requests: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    untimed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    encrypted: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    prepared_before: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    cut: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    not_decoded: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_replies: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_statement: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    lost_requests: u64,
}

impl From<Evidence> for EvidenceKeys {
    fn from(evidence: Evidence) -> Self {
        let [encrypted, prepared_before, cut, not_decoded] = evidence.not_seen;
        let [lost_replies, lost_statement, lost_requests] = evidence.lost;
        Self {
            round_trips: evidence.round_trips,
            guessed: evidence.guessed,
            likely_right: evidence.likely_right().map(Share::as_fraction),
            outside_requests: evidence.outside_requests,
            untimed: evidence.untimed,
            encrypted,
            prepared_before,
            cut,
            not_decoded,
            lost_replies,
            lost_statement,
            lost_requests,
        }
    }
}

impl From<EvidenceKeys> for Evidence {
    fn from(keys: EvidenceKeys) -> Self {
        let guessed = keys.guessed;
        let wrong = |right: f64| ((1.0 - right) * guessed as f64 * 1e3).round() as u64;
        Self {
            round_trips: keys.round_trips,
            guessed,
            outside_requests: keys.outside_requests,
            unrated: keys.likely_right.map_or(guessed, |_| 0),
            doubted: keys.likely_right.map_or(0, wrong),
            untimed: keys.untimed,
            not_seen: [keys.encrypted, keys.prepared_before, keys.cut, keys.not_decoded],
            lost: [keys.lost_replies, keys.lost_statement, keys.lost_requests],
        }
    }
}

impl Evidence {
    /// Share of round trips that must be known for a claim about all.
    pub const ENOUGH: f64 = 0.95;

    /// Share of own round trips required for predictions.
    pub const LIKELY_ENOUGH: f64 = 0.8;

    /// Adds the steps of one operation.
    pub fn operation(&mut self, steps: &[OperationStep]) {
        steps.iter().for_each(|step| self.step(step));
        if let Some(gravest) = steps.iter().filter_map(|step| step.exchange.lost).max() {
            self.lost[gravest as usize] += 1;
        }
    }

    /// Adds a step of an operation, without its losses.
    pub fn step(&mut self, step: &OperationStep) {
        if !is_step_of_work(step) {
            return;
        }
        self.work(&step.exchange);
        let is_guessed = step
            .assigned
            .is_some_and(|assigned| !Assigned::is_proof(assigned));
        let turns = u64::from(step.exchange.turns);
        self.outside_requests += if step.outside_requests { turns } else { 0 };
        if is_guessed {
            self.guessed += turns;
            let wrong = step.probability.map_or(0.0, |right| 1.0 - right.as_fraction());
            self.unrated += if step.probability.is_none() { turns } else { 0 };
            self.doubted += (wrong * 1e3).round() as u64 * turns;
        }
    }

    /// Adds the round trips of an exchange that may belong to no operation. A call is known by its
    /// operation only ([`Evidence::call`]).
    pub fn exchange(&mut self, exchange: &Exchange, protocol: Protocol) {
        if is_work(exchange, protocol) {
            self.work(exchange);
        }
    }

    /// Adds a call that [`Evidence::exchange`] left out.
    pub fn call(&mut self, step: &OperationStep) {
        if is_step_of_work(step) && !is_work(&step.exchange, step.protocol) {
            self.work(&step.exchange);
        }
    }

    fn work(&mut self, exchange: &Exchange) {
        let turns = u64::from(exchange.turns);
        self.round_trips += turns;
        if let Some(reason) = exchange.not_seen.or_else(|| missing_in_old_recordings(exchange)) {
            self.not_seen[reason as usize] += turns;
        }
        if exchange.first.server_side_rtt.is_none() {
            self.untimed += turns;
        }
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.round_trips += other.round_trips;
        self.guessed += other.guessed;
        self.outside_requests += other.outside_requests;
        self.unrated += other.unrated;
        self.doubted = self.doubted.saturating_add(other.doubted);
        self.untimed += other.untimed;
        for (sum, count) in self.not_seen.iter_mut().zip(other.not_seen) {
            *sum += count;
        }
        for (sum, count) in self.lost.iter_mut().zip(other.lost) {
            *sum += count;
        }
    }

    /// Operations with this as their gravest loss.
    pub const fn lost_for(&self, lost: Lost) -> u64 {
        self.lost[lost as usize]
    }

    /// Round trips with a statement unseen for this reason.
    pub const fn not_seen_for(&self, reason: NotSeen) -> u64 {
        self.not_seen[reason as usize]
    }

    /// Round trips with an unseen statement.
    pub fn nameless(&self) -> u64 {
        self.not_seen.iter().sum()
    }

    /// Reasons for unseen statements, most round trips first.
    pub fn reasons(&self) -> Vec<NotSeen> {
        let mut reasons: Vec<NotSeen> = NotSeen::ALL
            .into_iter()
            .filter(|reason| self.not_seen_for(*reason) > 0)
            .collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(self.not_seen_for(*reason)));
        reasons
    }

    /// Whether enough statements were seen to exclude others.
    pub fn shows_statements(&self) -> bool {
        self.is_enough(self.round_trips - self.nameless().min(self.round_trips))
    }

    /// Whether enough round trips certainly belong to their operation, also if there are none.
    pub fn shows_owners(&self) -> bool {
        self.round_trips == 0 || self.is_enough(self.round_trips - self.guessed.min(self.round_trips))
    }

    /// Expected share of right guesses, if enough have a probability.
    pub fn likely_right(&self) -> Option<Share> {
        let rated = self.guessed - self.unrated.min(self.guessed);
        let is_known =
            Share::of_counts(rated, self.guessed).is_some_and(|share| share.as_fraction() >= Self::ENOUGH);
        let all = rated.saturating_mul(1_000);
        Share::of_counts(all - self.doubted.min(all), all).filter(|_| is_known)
    }

    /// Expected share of another operation's round trips, which then has as many of this one's.
    pub fn others(&self) -> Option<Share> {
        Share::of_counts(self.doubted, self.round_trips.saturating_mul(1_000))
    }

    /// Expected share of the operation's own round trips.
    pub fn own(&self) -> Option<Share> {
        let all = self.round_trips.saturating_mul(1_000);
        Share::of_counts(all - self.doubted.min(all), all)
    }

    /// Whether enough round trips are known or guessed with a probability.
    pub fn is_rated(&self) -> bool {
        self.is_enough(self.round_trips - self.unrated.min(self.round_trips))
    }

    /// Checks that the expected share of own round trips suffices for a prediction.
    ///
    /// # Errors
    /// That share, if not.
    pub fn enough_own(&self) -> Result<(), Share> {
        match self.own() {
            Some(own) if own.as_fraction() < Self::LIKELY_ENOUGH => Err(own),
            _ => Ok(()),
        }
    }

    fn is_enough(&self, known: u64) -> bool {
        Share::of_counts(known, self.round_trips).is_some_and(|share| share.as_fraction() >= Self::ENOUGH)
    }

    /// Words about all unseen statements, if there are any.
    pub fn nameless_words(&self) -> Option<String> {
        let reasons = self.reasons();
        (!reasons.is_empty()).then(|| self.words_for(&reasons))
    }

    /// Words such as `statements of 12 of 16 round trips were not seen (encrypted)`.
    pub fn words_for(&self, reasons: &[NotSeen]) -> String {
        let count: u64 = reasons.iter().map(|reason| self.not_seen_for(*reason)).sum();
        let words: Vec<&str> = reasons.iter().map(|reason| reason.words()).collect();
        format!(
            "statements of {count} of {} round trips were not seen ({})",
            self.round_trips,
            words.join(", ")
        )
    }
}

/// Round trips outside HTTP requests that might belong to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strays {
    /// Number of such round trips.
    pub round_trips: u64,
    /// All round trips to databases.
    pub of: u64,
}

impl Strays {
    /// Strays beyond [`Evidence::ENOUGH`] in a run with requests.
    pub fn that_matter(groups: &[OperationGroup]) -> Option<Self> {
        let mut strays = Self {
            round_trips: 0,
            of: 0,
        };
        let mut has_requests = false;
        for group in groups.iter().filter(|group| group.count > 0) {
            let evidence = group.evidence;
            strays.of += evidence.round_trips;
            if group.kind.is_request() {
                has_requests = true;
            } else {
                strays.round_trips +=
                    evidence.round_trips - evidence.outside_requests.min(evidence.round_trips);
            }
        }
        let share = Share::of_counts(strays.round_trips, strays.of)?.as_fraction();
        (has_requests && share > 1.0 - Evidence::ENOUGH).then_some(strays)
    }
}

fn is_step_of_work(step: &OperationStep) -> bool {
    is_work(&step.exchange, step.protocol) || (step.is_call && step.exchange.phase == Phase::Work)
}

/// Whether it waits for a statement's work.
fn is_work(exchange: &Exchange, protocol: Protocol) -> bool {
    exchange.phase == Phase::Work && !protocol.carries_requests()
}

/// For recordings of older versions.
fn missing_in_old_recordings(exchange: &Exchange) -> Option<NotSeen> {
    let asked = &exchange.asked;
    match &exchange.fingerprint {
        Some(_) => None,
        None if exchange.request_messages == 0 && exchange.request_bytes > 0 => Some(NotSeen::NotDecoded),
        None => (asked.prepared_executions + asked.fetches > 0).then_some(NotSeen::PreparedBefore),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_round_trips_of_others_are_no_operation_s() {
        let guessed = |doubted| Evidence {
            round_trips: 100,
            guessed: 50,
            doubted,
            ..Evidence::default()
        };
        assert_eq!(guessed(19_000).enough_own(), Ok(()));
        let own = guessed(30_000).enough_own().expect_err("thirty are others'");
        assert!((own.as_fraction() - 0.7).abs() < 1e-9);
        let right = guessed(30_000).likely_right().expect("some are guessed");
        assert!((right.as_fraction() - 0.4).abs() < 1e-9);
        assert_eq!(Evidence::default().enough_own(), Ok(()));
        assert_eq!(Evidence::default().likely_right(), None);
        let unrated = Evidence {
            unrated: 40,
            ..guessed(0)
        };
        assert_eq!(unrated.likely_right(), None, "it is not known of most");
    }
}
