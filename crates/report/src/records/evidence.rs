//! The `evidence` object of records: the share of waiting that rests on observation.

use model::{Evidence, NotSeen, Share};
use serde::{Deserialize, Serialize};

/// Counts of round trips. Reasons that apply to none are omitted.
#[derive(Serialize, Deserialize)]
pub(super) struct EvidenceRecord {
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
}

impl EvidenceRecord {
    /// `None` if no round trip of work was seen.
    pub(super) fn new(evidence: &Evidence) -> Option<Self> {
        (*evidence != Evidence::default()).then(|| Self {
            round_trips: evidence.round_trips,
            guessed: evidence.guessed,
            outside_requests: evidence.outside_requests,
            likely_right: evidence.likely_right().map(Share::as_fraction),
            untimed: evidence.untimed,
            encrypted: evidence.not_seen_for(NotSeen::Encrypted),
            prepared_before: evidence.not_seen_for(NotSeen::PreparedBefore),
            cut: evidence.not_seen_for(NotSeen::Cut),
            not_decoded: evidence.not_seen_for(NotSeen::NotDecoded),
        })
    }

    pub(super) fn evidence(&self) -> Evidence {
        let Self {
            round_trips,
            guessed,
            likely_right,
            outside_requests,
            untimed,
            encrypted,
            prepared_before,
            cut,
            not_decoded,
        } = *self;
        Evidence {
            round_trips,
            guessed,
            outside_requests,
            unrated: if likely_right.is_some() { 0 } else { guessed },
            doubted: likely_right.map_or(0, |right| ((1.0 - right) * guessed as f64 * 1e3).round() as u64),
            untimed,
            not_seen: [encrypted, prepared_before, cut, not_decoded],
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}
