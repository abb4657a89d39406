//! The TCP handshake as it passes.

use model::{Handshake, Timestamp};

/// What was seen of a handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Opening {
    first_syn: Option<Timestamp>,
    last_syn: Option<Timestamp>,
    first_syn_ack: Option<Timestamp>,
    last_syn_ack: Option<Timestamp>,
    done: bool,
}

/// A handshake that is complete, and what went wrong on its way.
pub(crate) struct Opened {
    pub handshake: Handshake,
    /// First and last SYN when there were several.
    pub syn_repeated: Option<(Timestamp, Timestamp)>,
    /// First and last SYN-ACK when there were several.
    pub syn_ack_repeated: Option<(Timestamp, Timestamp)>,
}

impl Opening {
    /// A SYN. One after the SYN-ACK tells that the SYN-ACK was lost, and changes no time.
    pub fn syn(&mut self, at: Timestamp) {
        if self.first_syn_ack.is_none() {
            self.first_syn.get_or_insert(at);
            self.last_syn = Some(at);
        }
    }

    /// A SYN-ACK.
    pub fn syn_ack(&mut self, at: Timestamp) {
        self.first_syn_ack.get_or_insert(at);
        self.last_syn_ack = Some(at);
    }

    /// Whether the client's next packet completes the handshake.
    #[inline]
    pub fn awaits_client(&self) -> bool {
        !self.done && self.first_syn_ack.is_some() && self.first_syn.is_some()
    }

    /// The client's first packet after the SYN-ACK.
    pub fn complete(&mut self, at: Timestamp) -> Option<Opened> {
        let (first_syn, syn) = (self.first_syn?, self.last_syn?);
        let (syn_ack, last_syn_ack) = (self.first_syn_ack?, self.last_syn_ack?);
        self.done = true;
        let handshake = Handshake {
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
