//! How large a row must be to fill a packet.
//!
//! 1. A large reply comes in packets as full as the path allows; the kernel keeps the size of the largest
//!    (`tcpi_rcv_mss`).
//! 2. A short train of rows of that size is counted (`tcpi_data_segs_in`). As many packets as rows: found.
//! 3. More packets than rows: the server sends a row in several pieces, because its own buffer is smaller
//!    than the packet. The sizes of the usual buffers are tried.
//! 4. Fewer packets than rows: packets can hold more than a row. When a larger one has been seen by now, that
//!    size is tried.

use super::wire_line::WireLine;
use super::{Language, RowsError, request_rows};

/// What was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calibrated {
    /// Payload of a packet that is a row.
    pub segment: usize,
    /// Payload of the largest packet of the large reply.
    pub largest_seen: usize,
    /// Headers of IP and TCP.
    pub headers: usize,
    /// Sizes that were tried and given up.
    pub corrections: u64,
}

/// Finds the size.
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
            // Where the rows of a trial that fits share packets, a larger one has been seen.
            line.received_segment()
                .filter(|seen| packets < TRIAL && *seen > calibrated.segment && *seen < too_large)
        };
        let Some(next) = next else { break };
        calibrated.segment = next.min(MAX_VALUE_BYTES);
        calibrated.corrections += 1;
    }
    Ok(calibrated)
}

/// The next size to try below `segment`.
fn smaller(segment: usize, own: Option<usize>) -> Option<usize> {
    own.into_iter()
        .chain(BUFFERS)
        .filter(|size| *size < segment)
        .max()
}

/// Sizes of servers' buffers: MySQL's `net_buffer_length`, PostgreSQL's, and smaller ones of pools in
/// between.
const BUFFERS: [usize; 5] = [16_384, 8_192, 4_096, 2_048, 1_024];
/// Rows of a train that is only counted: fewer than TCP sends without an acknowledgement.
const TRIAL: u64 = 8;
const TRIES: usize = 8;
/// Every path carries this (RFC 879).
const MIN_VALUE_BYTES: usize = 536;
/// What a row's framing allows: a longer value would need a longer length.
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
