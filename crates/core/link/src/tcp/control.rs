//! The congestion control of a sender.

use super::StreamOffset;
use super::Unacknowledged;
use super::bbr::{Ack, Bbr};
use super::congestion::{Acknowledged, Congestion};
use model::{Nanos, Timestamp};

#[derive(Debug, Clone)]
pub enum Control {
    Cubic(Congestion),
    Bbr(Box<Bbr>),
}

/// Packets that an acknowledgement reports, and those in flight.
#[derive(Debug, Clone, Copy)]
pub struct Delivered {
    pub acked: Acknowledged,
    /// Packets known to have arrived beyond a gap.
    pub beyond_gap: u32,
    pub in_flight: u32,
    pub in_flight_before: u32,
    pub shows_loss: bool,
    pub recovery: Option<Recovering>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovering {
    AfterLoss,
    AfterTimeout,
}

impl Control {
    pub fn window(&self) -> u32 {
        match self {
            Self::Cubic(cubic) => cubic.window,
            Self::Bbr(bbr) => bbr.window,
        }
    }

    /// A lower bound while nothing is lost.
    pub fn min_window(&self) -> u32 {
        match self {
            Self::Cubic(cubic) => cubic.window_after_idle(),
            Self::Bbr(bbr) => bbr.min_window(),
        }
    }

    /// Of at most `bytes` each, the first sent at `at`, the others at least `apart`.
    pub fn paces_no_message(&self, bytes: u64, at: Timestamp, apart: Nanos) -> bool {
        match self {
            Self::Cubic(_) => true,
            Self::Bbr(bbr) => bbr.paces_no_message(bytes, at, apart),
        }
    }

    pub fn end_handshake(&mut self) {
        if let Self::Bbr(bbr) = self {
            bbr.end_handshake();
        }
    }

    pub fn begin_with(&mut self, packets: u32) {
        match self {
            Self::Cubic(cubic) => cubic.begin_with(packets),
            Self::Bbr(bbr) => bbr.begin_with(packets),
        }
    }

    pub fn shift(&mut self, by: i64) {
        match self {
            Self::Cubic(cubic) => cubic.shift(by),
            Self::Bbr(bbr) => bbr.shift(by),
        }
    }

    /// Only cubic forgets its window in a pause.
    pub fn after_idle(&mut self, at: Timestamp, idle: Nanos, timeout: Nanos) {
        if let Self::Cubic(cubic) = self {
            cubic.after_idle(at, idle, timeout);
        }
    }

    pub fn record_write(&mut self, unsent: u64, in_flight: u32) {
        if let Self::Bbr(bbr) = self {
            bbr.record_write(unsent, in_flight);
        }
    }

    pub fn may_send(&self, at: Timestamp) -> bool {
        match self {
            Self::Cubic(_) => true,
            Self::Bbr(bbr) => bbr.may_send(at),
        }
    }

    /// Until when it sends nothing, `None` if it does not pace.
    pub fn paced_until(&self) -> Option<Timestamp> {
        match self {
            Self::Cubic(_) => None,
            Self::Bbr(bbr) => Some(bbr.paced_until()),
        }
    }

    pub fn sent_packet(&mut self, at: Timestamp, bytes: u32, end: StreamOffset, in_flight_before: u32) {
        match self {
            Self::Cubic(cubic) => cubic.sent_packet(),
            Self::Bbr(bbr) => bbr.sent_packet(at, bytes, end, in_flight_before),
        }
    }

    pub fn after_sending(&mut self, out: u32, unacknowledged: Unacknowledged) {
        match self {
            Self::Cubic(cubic) => cubic.after_sending(out, unacknowledged),
            Self::Bbr(bbr) => bbr.sent_all_it_can(),
        }
    }

    pub fn delivered(&mut self, end: StreamOffset) {
        if let Self::Bbr(bbr) = self {
            bbr.delivered(end);
        }
    }

    pub fn lost_packet(&mut self) {
        if let Self::Bbr(bbr) = self {
            bbr.lost_packet();
        }
    }

    pub fn lost(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.lost(),
            Self::Bbr(bbr) => bbr.save_window(),
        }
    }

    pub fn timed_out(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.timed_out(),
            Self::Bbr(bbr) => bbr.timed_out(),
        }
    }

    pub fn recovered(&mut self) {
        if let Self::Cubic(cubic) = self {
            cubic.recovered();
        }
    }

    /// A timer showed a loss.
    pub fn lost_by_timer(&mut self, in_flight: u32) {
        if let Self::Cubic(cubic) = self {
            cubic.reduce(in_flight, 1, false);
        }
    }

    #[inline]
    pub fn acknowledged(&mut self, report: &Delivered) {
        let acked = &report.acked;
        let delivered = acked.packets + report.beyond_gap;
        match self {
            Self::Cubic(cubic) => {
                let advanced = acked.packets > 0 && !report.shows_loss;
                cubic.reduce(report.in_flight, delivered, advanced);
                if acked.packets > 0 && report.recovery != Some(Recovering::AfterLoss) {
                    cubic.acknowledged(acked);
                }
            }
            Self::Bbr(bbr) => bbr.acknowledged(Ack {
                at: acked.at,
                delivered,
                rtt: acked.rtt,
                in_flight: report.in_flight,
                in_flight_before: report.in_flight_before,
                is_recovering: report.recovery.is_some(),
            }),
        }
    }
}
