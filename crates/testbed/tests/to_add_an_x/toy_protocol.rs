//! A protocol for this test: `toy`, a length, and that many bytes, in both directions, in round
//! trips.

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{FramePlan, Framer, HeaderFault, Input};
use crate::decoding::recognition::Recognition;
use crate::protocols::ProtocolRow;
use model::{Content, Direction, Message, Phase, Protocol, Role};

pub const ROW: ProtocolRow = ProtocolRow::new(
    Protocol::Toy,
    |openings, direction| opens(openings[direction]),
    |_| Box::new(ToyDecoder::new()),
);

#[derive(Debug)]
pub struct ToyDecoder([Framer; 2]);

impl ToyDecoder {
    pub fn new() -> Self {
        Self([Direction::ClientToServer, Direction::ServerToClient].map(|way| Framer::new("toy", way)))
    }
}

/// Checks the first bytes of a direction.
fn opens(bytes: &[u8]) -> Recognition {
    match bytes.get(..3) {
        Some(b"toy") => Recognition::Certain,
        Some(_) => Recognition::Never,
        None if b"toy".starts_with(bytes) => Recognition::More,
        None => Recognition::Never,
    }
}

impl Decoder for ToyDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        while let Some(frame) = self.0[direction.index()].next(&mut input, 4, plan)? {
            sink(&Message {
                stream: 0,
                protocol: Protocol::Toy,
                direction,
                started: frame.started,
                ended: frame.ended,
                bytes: frame.bytes,
                role: match direction {
                    Direction::ClientToServer => Role::Request,
                    Direction::ServerToClient => Role::Reply,
                },
                phase: Phase::Work,
                content: Content::Other,
            });
        }
        Ok(())
    }

    fn pending(&self, direction: Direction) -> u64 {
        self.0[direction.index()].pending()
    }
}

fn plan(header: &[u8]) -> Result<FramePlan, HeaderFault> {
    match header {
        [b't', b'o', b'y', length] => Ok(FramePlan {
            body: u64::from(*length),
            keep: 0,
        }),
        _ => Err(HeaderFault {
            expected: "toy and a length",
            found: String::new(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    #[test]
    fn a_toy_that_was_added_is_detected_and_decoded() {
        let mut stream = crate::Stream::new(49_152);
        let mut seen = Vec::new();
        for (direction, bytes) in [
            (Direction::ClientToServer, b"toy\x05hello".as_slice()),
            (Direction::ServerToClient, b"toy\x02yes".as_slice()),
        ] {
            let bytes = &bytes[..4 + usize::from(bytes[3])];
            stream.feed(Timestamp::from_nanos(1), direction, bytes, &mut |message| {
                seen.push((message.protocol, message.role, message.bytes));
            });
        }
        assert_eq!(stream.decoding().protocol, Protocol::Toy);
        assert_eq!(
            seen,
            [(Protocol::Toy, Role::Request, 9), (Protocol::Toy, Role::Reply, 6)]
        );
    }
}
