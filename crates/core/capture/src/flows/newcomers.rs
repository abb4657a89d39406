//! Packets without a connection of their endpoints: they open one, or belong to one with other
//! addresses.

use super::{Flows, Place};
use crate::copies::{Newcomer, Original, Owner, Verdict, Waiting};
use crate::key::Key;
use crate::tcp::{Packet, SYN};
use model::{Direction, Endpoint};

impl Flows<'_> {
    /// The connection of such a packet. `None` while it is undecided and the packet is kept.
    #[cold]
    pub(super) fn newcomer(&mut self, new: Newcomer<'_>) -> Option<Place> {
        if let Some((slot, flipped)) = self.in_another_network(&new) {
            return self.join(new.key, slot, flipped);
        }
        if let Some((slot, flipped)) = self.in_the_middle(&new) {
            self.out.faults.translated += 1;
            return self.join(new.key, slot, flipped);
        }
        let Self {
            slots, keys, copies, ..
        } = self;
        let key_of = |owner: Owner| {
            let flow = slots.get(owner.slot as usize)?.as_deref()?;
            (flow.id == owner.id).then(|| keys[owner.slot as usize])
        };
        match copies.decide(new, key_of) {
            Verdict::Waits => None,
            Verdict::Copy(original) => {
                self.correct(&original);
                self.out.faults.translated += 1;
                self.join(new.key, original.owner.slot, original.flipped)
            }
            Verdict::Own(before) => {
                let place = self.open_with(new.key, &before);
                Some(place.unwrap_or_else(|| self.open(new.key, new.source, &new.packet.head, new.from_low)))
            }
        }
    }

    pub(super) fn open_with(&mut self, key: Key, packets: &[Waiting]) -> Option<Place> {
        let first = packets.first()?;
        let place = self.open(key, first.source, &first.head, Key::from_head(&first.head).1);
        for waiting in packets {
            let packet = Packet {
                head: waiting.head,
                payload: &waiting.payload,
            };
            self.process_segment(place, Key::from_head(&waiting.head).1, &packet, &waiting.options);
        }
        Some(place)
    }

    /// The connection between the same endpoints in another virtual network: each direction may
    /// have its own tags.
    fn in_another_network(&self, new: &Newcomer<'_>) -> Option<(u32, bool)> {
        let untagged = new.key.untagged();
        let plain = self
            .by_key
            .get(&untagged)
            .map(|place| (place.slot, place.flipped));
        let tagged = self.tagged.get(&untagged).map(|slot| (*slot, false));
        plain.into_iter().chain(tagged).find(|&(slot, flipped)| {
            let flow = self.slots[slot as usize].as_deref();
            flow.is_some_and(|flow| {
                flow.is_answered_by(flow.direction(new.from_low != flipped), &new.packet.head)
            })
        })
    }

    fn in_the_middle(&mut self, new: &Newcomer<'_>) -> Option<(u32, bool)> {
        let head = &new.packet.head;
        if head.has(SYN) || self.comparisons < self.slots.len() as u32 {
            return None;
        }
        self.comparisons -= self.slots.len() as u32;
        (0u32..).zip(&self.slots).find_map(|(slot, flow)| {
            let flow = flow.as_deref()?;
            let direction = flow.expecting(head)?;
            let from_low = flow.direction(true) == direction;
            let may_be = self.keys[slot as usize].may_be_translated(&new.key);
            may_be.then_some((slot, from_low != new.from_low))
        })
    }

    fn join(&mut self, key: Key, slot: u32, flipped: bool) -> Option<Place> {
        let flow = self.slots[slot as usize].as_deref_mut()?;
        if flow.copies.len() >= MAX_COPIES {
            return None;
        }
        flow.copies.push(key);
        let copy = flow.copies.len() as u8;
        let place = Place { slot, flipped, copy };
        self.by_key.insert(key, place);
        Some(place)
    }

    /// Corrects the endpoint that receives the first copy's direction, because the copy was nearer
    /// to it.
    fn correct(&mut self, original: &Original) {
        let Some(flow) = self.slots[original.owner.slot as usize].as_deref() else {
            return;
        };
        let (address, port) = original.receiver;
        let endpoint = Endpoint {
            address: address.into(),
            port,
        };
        let to_server = flow.direction(original.from_low) == Direction::ClientToServer;
        self.out
            .observer
            .correct(original.owner.id, |opening| match to_server {
                true => opening.server = endpoint,
                false => opening.client = endpoint,
            });
    }
}

const MAX_COPIES: usize = 16;
