//! Takes heads from the input.

use super::lines::{self, Lines};
use super::{HttpDecoder, MAXIMUM_HEAD, head};
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::{HeaderFault, Input};
use model::Direction;

impl HttpDecoder {
    pub(super) fn take_head(
        &mut self,
        direction: Direction,
        input: &mut Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        if input.bytes().is_empty() {
            return Err(HeaderFault {
                expected: "a head",
                found: format!("{} bytes that were not captured", input.unseen_count()),
            });
        }
        let before = self.halves[direction].head.len();
        if before == 0 && self.whole_head(direction, input.bytes(), before, input, sink)? {
            return Ok(());
        }
        let half = &mut self.halves[direction];
        let looked_at = input.bytes().len().min(MAXIMUM_HEAD + 1 - before);
        half.head
            .extend_from_slice(input.bytes().get(..looked_at).unwrap_or_default());
        if lines::end(&half.head, before).is_some() {
            let bytes = std::mem::take(&mut half.head);
            return self
                .whole_head(direction, &bytes, before, input, sink)
                .map(|_| ());
        }
        if half.head.len() > MAXIMUM_HEAD {
            return Err(HeaderFault {
                expected: "a head of at most 64 KiB",
                found: "a longer one".to_owned(),
            });
        }
        half.taken += input.take_bytes(looked_at).len() as u64;
        Ok(())
    }

    /// Returns false if the head is not whole.
    fn whole_head(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        before: usize,
        input: &mut Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<bool, HeaderFault> {
        let mut lines = Lines::new(bytes);
        match direction {
            Direction::ClientToServer => {
                let request = head::request(&mut lines);
                let Some(length) = lines.length() else {
                    return Ok(false);
                };
                self.halves[direction].taken += input.take_bytes(length - before).len() as u64;
                match request {
                    Ok(ref request) => self.request(request, &bytes[..length], input, sink)?,
                    Err(fault) => return Err(fault),
                }
            }
            Direction::ServerToClient => {
                let method = self.waiting.front().map(|waiting| waiting.method);
                let response = head::response(&mut lines, method);
                let Some(length) = lines.length() else {
                    return Ok(false);
                };
                self.halves[direction].taken += input.take_bytes(length - before).len() as u64;
                match response {
                    Ok(ref response) => self.response(response, sink),
                    Err(fault) => return Err(fault),
                }
            }
        }
        Ok(true)
    }
}
