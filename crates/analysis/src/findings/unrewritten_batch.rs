//! A driver's batch that goes over the wire as one round trip a row.
//!
//! On the wire it is a loop that writes row by row, with hardly any pause; nothing distinguishes it from a
//! program's own loop but the driver: one whose batches are such loops unless it is configured otherwise is
//! taken to have been given a batch. The remedy says what to do in either case.

use super::software::Software;

/// Whether batches of this software are a round trip a row unless a setting says otherwise. Not so: pgjdbc
/// and MariaDB Connector/J send batches without waiting, Oracle's driver as an array, Derby's and Db2's as a
/// chain.
pub(super) const fn is_usual_of(software: Software) -> bool {
    matches!(software, Software::ConnectorJ | Software::Informix)
}
