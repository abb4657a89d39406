//! Tracks the TCP handshake.

use super::Flow;
use crate::half::Output;
use crate::tcp::{ACK, Head, SynOptions};
use model::{ConnectionEvent, Direction, Side, TcpHandshake, Timestamp};

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HandshakeSeen {
    first_syn: Option<Timestamp>,
    last_syn: Option<Timestamp>,
    first_syn_ack: Option<Timestamp>,
    last_syn_ack: Option<Timestamp>,
    done: bool,
}

pub(crate) struct Opened {
    pub handshake: TcpHandshake,
    /// First and last SYN, if there were several.
    pub syn_repeated: Option<(Timestamp, Timestamp)>,
    /// First and last SYN-ACK, if there were several.
    pub syn_ack_repeated: Option<(Timestamp, Timestamp)>,
}

impl HandshakeSeen {
    /// A SYN after the SYN-ACK means that the SYN-ACK was lost, and changes no time.
    pub fn syn(&mut self, at: Timestamp) {
        if self.first_syn_ack.is_none() {
            self.first_syn.get_or_insert(at);
            self.last_syn = Some(at);
        }
    }

    pub fn syn_ack(&mut self, at: Timestamp) {
        self.first_syn_ack.get_or_insert(at);
        self.last_syn_ack = Some(at);
    }

    pub fn of_past(done: bool) -> Self {
        Self {
            done,
            ..Self::default()
        }
    }

    #[inline]
    pub fn awaits_client(&self) -> bool {
        !self.done && self.first_syn_ack.is_some() && self.first_syn.is_some()
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    pub fn complete(&mut self, at: Timestamp) -> Option<Opened> {
        let (first_syn, syn) = (self.first_syn?, self.last_syn?);
        let (syn_ack, last_syn_ack) = (self.first_syn_ack?, self.last_syn_ack?);
        self.done = true;
        let handshake = TcpHandshake {
            syn,
            syn_ack: syn_ack.max(syn),
            ack: at.max(syn_ack).max(syn),
        };
        Some(Opened {
            handshake,
            syn_repeated: (first_syn < syn).then_some((first_syn, syn)),
            syn_ack_repeated: (syn_ack < last_syn_ack).then_some((syn_ack, last_syn_ack)),
        })
    }
}

impl Flow {
    #[cold]
    pub fn synchronise(
        &mut self,
        direction: Direction,
        head: &Head,
        options: &SynOptions,
        out: &mut Output<'_>,
    ) {
        let half = &mut self.halves[direction];
        if half.isn == Some(head.sequence) {
            if half.recent.has(head) {
                out.faults.duplicates += 1;
                return;
            }
            half.retransmitted += 1;
        } else {
            let is_again = half.isn.replace(head.sequence).is_some();
            half.options = *options;
            half.retransmitted += u64::from(is_again);
            if !half.started || is_again {
                half.start(head.sequence.wrapping_add(1));
            }
        }
        half.recent.add(head);
        if head.has(ACK) {
            self.opening.syn_ack(head.at);
        } else {
            self.opening.syn(head.at);
        }
        self.agree();
    }

    /// Two SYNs determine the payload of a full packet and the scale of the windows.
    pub(super) fn agree(&mut self) {
        let [client, server] = self.halves.each_mut().into_array();
        if client.isn.is_none() || server.isn.is_none() {
            return;
        }
        let timestamps = client.options.timestamps && server.options.timestamps;
        let smaller = [client.options.mss, server.options.mss]
            .into_iter()
            .flatten()
            .min();
        let segment_size = smaller
            .map(|mss| u32::from(mss).saturating_sub(if timestamps { TIMESTAMP_OPTION } else { 0 }))
            .filter(|size| *size > 0);
        let shifts = client
            .options
            .window_shift
            .zip(server.options.window_shift)
            .unwrap_or((0, 0));
        (client.segment_size, server.segment_size) = (segment_size, segment_size);
        (client.window_shift, server.window_shift) = (Some(shifts.0), Some(shifts.1));
    }

    #[cold]
    pub fn complete_handshake(&mut self, at: Timestamp, out: &mut Output<'_>) {
        let Some(opened) = self.opening.complete(at) else {
            return;
        };
        let handshake = opened.handshake;
        let [client, server] = self.halves.each_mut().into_array();
        if let Some((from, to)) = opened.syn_repeated {
            client.recover(self.id, from, to, out);
        }
        if let Some((from, to)) = opened.syn_ack_repeated {
            server.recover(self.id, from, to, out);
        }
        out.observer.event(self.id, ConnectionEvent::Handshake(handshake));
        if opened.syn_repeated.is_none() {
            self.sample(
                Side::Server,
                handshake.syn_ack,
                handshake.syn_ack.since(handshake.syn),
                out,
            );
        }
        if opened.syn_ack_repeated.is_none() {
            self.sample(
                Side::Client,
                handshake.ack,
                handshake.ack.since(handshake.syn_ack),
                out,
            );
        }
    }
}

/// The timestamp option with its padding (RFC 7323 appendix A).
const TIMESTAMP_OPTION: u32 = 12;
