//! A decrypted record.

use crate::closed::Closed;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedRecord<'a> {
    Clear,
    /// Messages of the handshake, or after it (tickets, new keys).
    Handshake,
    /// An alert, including the closing one.
    Alert,
    Data(&'a [u8]),
    Closed(Closed),
}

pub(crate) fn content(kind: u8, plain: &[u8]) -> OpenedRecord<'_> {
    match kind {
        DATA => OpenedRecord::Data(plain),
        ALERT => OpenedRecord::Alert,
        _ => OpenedRecord::Handshake,
    }
}

pub(crate) const ALERT: u8 = 21;
pub(crate) const HANDSHAKE: u8 = 22;
pub(crate) const DATA: u8 = 23;
