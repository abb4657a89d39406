//! What a run could not see, for the warnings beside its figures.

use analysis::pairing::NO_REPLY;
use model::{ConnectionOutcome, Exchange, Protocol, Warning};

/// What could not be seen.
#[derive(Debug, Default)]
pub(super) struct Missing {
    encrypted: u64,
    damaged: u64,
    reason: Option<String>,
    unanswered: u64,
}

impl Missing {
    /// Takes an exchange.
    pub(super) fn exchange(&mut self, exchange: &Exchange) {
        self.unanswered += u64::from(exchange.error.as_deref() == Some(NO_REPLY));
    }

    /// Takes a connection that has ended.
    pub(super) fn connection(&mut self, outcome: &ConnectionOutcome) {
        let decoding = &outcome.decoding;
        if decoding.encrypted {
            self.encrypted += 1;
        } else if decoding.protocol != Protocol::Unknown
            && let Some(reason) = &decoding.opaque
        {
            self.damaged += 1;
            self.reason.get_or_insert_with(|| reason.clone());
        }
    }

    /// One warning for each kind of thing that is missing.
    pub(super) fn warnings(self) -> impl Iterator<Item = Warning> {
        let when = |count: u64, text: String| (count > 0).then_some(Warning { text });
        let connections = |count: u64| {
            if count == 1 {
                "1 connection".to_owned()
            } else {
                format!("{count} connections")
            }
        };
        let encrypted = format!(
            "{} encrypted: turns, bytes and times are counted, statements are not seen; `longwire watch` with \
             sslmode=require in its TARGET encrypts by itself and sees them",
            connections(self.encrypted)
        );
        let damaged = format!(
            "{} could not be decoded to the end, from there on only turns, bytes and times are counted; the first: {}",
            connections(self.damaged),
            self.reason.unwrap_or_default()
        );
        let unanswered = format!(
            "requests without a reply when their connection, or the observation, ended: {}; how long they waited is in no \
             figure",
            self.unanswered
        );
        [
            when(self.encrypted, encrypted),
            when(self.damaged, damaged),
            when(self.unanswered, unanswered),
        ]
        .into_iter()
        .flatten()
    }
}
