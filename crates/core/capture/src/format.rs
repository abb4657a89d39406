//! A capture format reads records; the list is in `formats`.

use crate::input::Input;
use crate::links::Link;
use crate::secrets::{KeyLineSink, SecretsTally};
use model::{InterfaceAddresses, Timestamp};

/// Reads the packets of one format in order. Damage is recorded and skipped; reading never fails.
pub(crate) trait Format {
    /// The packet's bytes stay in `input` until `input` is advanced past them. `None` at the end.
    fn next(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<Record>;
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub at: Timestamp,
    /// `None` if longwire does not support it.
    pub link: Option<&'static Link>,
    /// 0 if the format does not record it.
    pub interface: u32,
    /// Offset of the first byte from the cursor.
    pub offset: usize,
    pub captured: usize,
    /// Bytes on the wire, at least `captured`.
    pub wire: u32,
    /// Bytes from the cursor to the next record.
    pub taken: usize,
}

pub(crate) struct Notes<'k> {
    pub key_lines: &'k KeyLineSink<'k>,
    pub secrets: SecretsTally,
    /// Maximum stated snap length; `None` if there is none.
    pub snap_length: Option<u32>,
    pub links: Vec<u16>,
    /// Interfaces with several stated addresses, in order of appearance.
    pub interfaces: Vec<InterfaceAddresses>,
    /// Bytes of a truncated last record.
    pub cut_bytes: u64,
    pub damaged: u64,
    pub damaged_bytes: u64,
    pub given_up: bool,
}

impl<'k> Notes<'k> {
    pub fn new(key_lines: &'k KeyLineSink<'k>) -> Self {
        Self {
            key_lines,
            secrets: SecretsTally::default(),
            snap_length: None,
            links: Vec::new(),
            interfaces: Vec::new(),
            cut_bytes: 0,
            damaged: 0,
            damaged_bytes: 0,
            given_up: false,
        }
    }

    pub fn interface(&mut self, link: u16, snap_length: u32) {
        if !self.links.contains(&link) && self.links.len() < MAX_LINKS {
            self.links.push(link);
        }
        if snap_length > 0 {
            self.snap_length = Some(self.snap_length.unwrap_or(0).max(snap_length));
        }
    }

    /// Ignores an interface with one address, which does not tell which addresses are one host.
    pub fn addresses(&mut self, interface: InterfaceAddresses) {
        let is_new = !self.interfaces.contains(&interface);
        if interface.addresses.len() > 1 && is_new && self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(interface);
        }
    }

    pub fn skipped(&mut self, bytes: u64) {
        self.damaged += 1;
        self.damaged_bytes += bytes;
    }
}

/// Maximum packet size. tcpdump's maximum snap length is 256 KiB; a larger length is damage.
pub(crate) const MAX_PACKET: usize = 1 << 20;
pub(crate) const SEARCH: usize = 256 << 10;
const MAX_INTERFACES: usize = 1000;
const MAX_LINKS: usize = 64;
