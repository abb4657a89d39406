//! Finds the row size that fills a packet.
//!
//! - A large reply comes in packets as full as the path allows; the kernel keeps the size of the largest
//!   (`tcpi_rcv_mss`).
//! - A short train of rows of that size is counted (`tcpi_data_segs_in`). As many packets as rows is a match.
//! - With more packets than rows, the server splits a row, since its buffer is smaller than the packet. The
//!   usual buffer sizes are tried.
//! - With fewer packets than rows, a packet holds more than a row. If a larger one has been seen, its size is
//!   tried.

use super::wire_line::WireLine;
use super::{Language, RowsError, request_rows};

#[derive(Debug, Clone, Copy)]
pub(super) struct Calibrated {
    pub segment: usize,
    /// Payload of the largest packet of the large reply.
    pub largest_seen: usize,
    /// Headers of IP and TCP.
    pub headers: usize,
    /// Number of rejected sizes.
    pub corrections: u64,
}

pub(super) fn calibrate(line: &mut WireLine<'_>, language: Language) -> Result<Calibrated, RowsError> {
    language.ask_for_much(line)?;
    let largest_seen = line
        .received_segment()
        .unwrap_or(MIN_VALUE_BYTES)
        .max(MIN_VALUE_BYTES);
    let mut calibrated = Calibrated {
        segment: largest_seen.min(MAX_VALUE_BYTES),
        largest_seen,
        headers: line.header_bytes(),
        corrections: 0,
    };
    let mut too_large = usize::MAX;
    for _ in 0..TRIES {
        let packets = request_rows(line, language, TRIAL, calibrated.segment)?.packets;
        let Some(packets) = packets else { break };
        let next = if packets > TRIAL {
            too_large = too_large.min(calibrated.segment);
            smaller(calibrated.segment, line.own_segment())
        } else {
            // If the rows of a trial share packets, a larger packet has been seen.
            line.received_segment()
                .filter(|seen| packets < TRIAL && *seen > calibrated.segment && *seen < too_large)
        };
        let Some(next) = next else { break };
        calibrated.segment = next.min(MAX_VALUE_BYTES);
        calibrated.corrections += 1;
    }
    Ok(calibrated)
}

fn smaller(segment: usize, own: Option<usize>) -> Option<usize> {
    own.into_iter()
        .chain(BUFFERS)
        .filter(|size| *size < segment)
        .max()
}

/// Of MySQL (`net_buffer_length`), PostgreSQL, and poolers with smaller ones.
const BUFFERS: [usize; 5] = [16_384, 8_192, 4_096, 2_048, 1_024];
/// Rows of a counted train: fewer than TCP sends without an acknowledgement.
const TRIAL: u64 = 8;
const TRIES: usize = 8;
/// Every path supports this (RFC 879).
const MIN_VALUE_BYTES: usize = 536;
/// A longer value would need a longer length field in the row.
const MAX_VALUE_BYTES: usize = 65_000;

#[cfg(test)]
mod tests {
    use super::smaller;

    #[test]
    fn a_row_that_is_sent_in_pieces_is_made_smaller() {
        assert_eq!(smaller(49_217, Some(32_768)), Some(32_768));
        assert_eq!(smaller(32_768, Some(32_768)), Some(16_384));
        assert_eq!(smaller(1_448, Some(1_448)), Some(1_024));
        assert_eq!(smaller(1_000, Some(1_448)), None);
    }
}
