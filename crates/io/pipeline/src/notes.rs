//! Observations of a connection besides its payload, kept while its messages wait for their
//! protocol.

use analysis::pairing::Pairing;
use model::{Direction, Lost, RttSource, Side, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Note {
    RoundTrip {
        at: Timestamp,
        side: Side,
        rtt: Duration,
    },
    /// A round trip derived from other data.
    AssumedRoundTrip {
        at: Timestamp,
        side: Side,
        rtt: Duration,
        source: RttSource,
    },
    /// Bytes waited for a retransmission.
    Recovery { from: Timestamp, to: Timestamp },
    Segment {
        direction: Direction,
        at: Timestamp,
        idle: Option<Duration>,
    },
    /// Packets with payload were not captured.
    Lost { at: Timestamp, lost: Lost },
}

/// In order of time, at most [`MAX_NOTES`].
#[derive(Debug, Default)]
pub(crate) struct Notes(VecDeque<Note>);

impl Note {
    fn at(&self) -> Timestamp {
        match self {
            Self::AssumedRoundTrip { at, .. }
            | Self::RoundTrip { at, .. }
            | Self::Segment { at, .. }
            | Self::Lost { at, .. }
            | Self::Recovery { to: at, .. } => *at,
        }
    }

    pub(crate) fn emit_note(self, pairing: &mut Pairing) {
        match self {
            Self::RoundTrip { at, side, rtt } => pairing.round_trip(at, side, rtt),
            Self::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => pairing.assumed_round_trip(at, side, rtt, source),
            Self::Recovery { from, to } => pairing.recovery(from, to),
            Self::Segment { direction, at, idle } => pairing.segment(direction, at, idle),
            Self::Lost { lost, .. } => pairing.lost(lost),
        }
    }
}

impl Notes {
    /// When full, drops the oldest round trips and segments: newer ones carry the same information.
    pub(crate) fn add(&mut self, note: Note) {
        if self.0.len() >= MAX_NOTES {
            self.0.pop_front();
        }
        self.0.push_back(note);
    }

    pub(crate) fn emit_until(&mut self, at: Timestamp, pairing: &mut Pairing) {
        while let Some(note) = self.0.front().copied().filter(|note| note.at() <= at) {
            self.0.pop_front();
            note.emit_note(pairing);
        }
    }

    pub(crate) fn emit_all(&mut self, pairing: &mut Pairing) {
        for note in self.0.drain(..) {
            note.emit_note(pairing);
        }
    }

    pub(crate) fn reverse(&mut self) {
        for note in &mut self.0 {
            match note {
                Note::RoundTrip { side, .. } | Note::AssumedRoundTrip { side, .. } => {
                    *side = side.reverse();
                }
                Note::Segment { direction, .. } => *direction = direction.reverse(),
                Note::Lost { lost, .. } => {
                    *lost = match lost {
                        Lost::Replies => Lost::Requests,
                        Lost::Requests | Lost::Statement => Lost::Replies,
                    };
                }
                Note::Recovery { .. } => {}
            }
        }
    }
}

const MAX_NOTES: usize = 1024;
