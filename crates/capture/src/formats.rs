//! The capture formats. A new format is a new file and one row in [`FORMATS`].

use crate::input::Input;
use crate::links::Link;
use crate::secrets::{KeyLineSink, SecretsTally};
use crate::{pcap, pcapng};
use model::{InterfaceAddresses, Timestamp};

/// One capture format.
pub(crate) struct FormatRow {
    /// The word for it in reports.
    pub name: &'static str,
    /// Bytes the source must begin with, in each variant.
    pub magics: &'static [[u8; 4]],
    /// Whether files of it may hold keys of sessions.
    pub holds_keys: bool,
    /// A reader for a source that begins this way.
    pub open: fn([u8; 4]) -> Box<dyn Format>,
}

/// All formats longwire reads.
pub(crate) static FORMATS: &[FormatRow] = &[
    FormatRow {
        name: "pcap",
        magics: pcap::MAGICS,
        holds_keys: false,
        open: pcap::open,
    },
    FormatRow {
        name: "pcapng",
        magics: pcapng::MAGICS,
        holds_keys: true,
        open: pcapng::open,
    },
];

/// The format of a source that begins with `magic`.
pub(crate) fn find(magic: [u8; 4]) -> Option<&'static FormatRow> {
    FORMATS.iter().find(|row| row.magics.contains(&magic))
}

/// What a source is that is of no format longwire reads, and the command that makes one of it; `None` for one
/// that is not known.
pub(crate) fn other_format(name: &str, begin: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = OTHER_FORMATS.iter().find(|(magic, ..)| begin.starts_with(magic));
    if let Some((_, what, command)) = found {
        return Some((what, command));
    }
    // The first event behind a buffer's header describes the log: version, type 1 or 2, marker.
    let is_log = matches!(begin.get(ETL_BUFFER_HEADER..), Some([_, 0, 1 | 2, 0xc0, ..]));
    let is_named = name.len() > 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".etl");
    (is_log || is_named).then_some(("an event log of Windows (ETL)", ETL2PCAPNG))
}

/// Bytes of a source that [`other_format`] looks at.
pub(crate) const OTHER_FORMAT_BYTES: usize = ETL_BUFFER_HEADER + 4;
const ETL_BUFFER_HEADER: usize = 72;
const ETL2PCAPNG: &str = "`etl2pcapng NAME NAME.pcapng` on Windows (https://github.com/microsoft/etl2pcapng)";
const EDITCAP: &str = "`editcap -F pcapng NAME NAME.pcapng` (editcap comes with Wireshark)";

/// How files of other formats begin, what they are, and how they are converted.
static OTHER_FORMATS: &[(&[u8], &str, &str)] = &[
    (
        b"GMBU",
        "a capture of Microsoft Network Monitor 2 or Message Analyzer",
        EDITCAP,
    ),
    (b"RTSS", "a capture of Microsoft Network Monitor 1", EDITCAP),
    (b"snoop\0\0\0", "a capture of snoop", EDITCAP),
    (b"TRSNIFF data", "a capture of Sniffer", EDITCAP),
    (b"XCP\0", "a capture of NetXray or Sniffer for Windows", EDITCAP),
];

/// Reads the packets of one format, one after the other, and never fails: damage is noted, skipped and
/// survived.
pub(crate) trait Format {
    /// The next packet; its bytes stay available in `input` until `input` is moved past them. Absent at the
    /// end.
    fn next(&mut self, input: &mut Input<'_>, notes: &mut Notes<'_>) -> Option<Record>;
}

/// Where the next packet lies, and what the format says about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    /// When it was captured.
    pub at: Timestamp,
    /// Its link layer; `None` for one longwire does not know.
    pub link: Option<&'static Link>,
    /// The interface it was captured on, where the format records it; 0 elsewhere.
    pub interface: u32,
    /// Offset of its first byte from the cursor.
    pub offset: usize,
    /// Bytes captured.
    pub captured: usize,
    /// Bytes it had on the wire, never below `captured`.
    pub wire: u32,
    /// Bytes from the cursor to the next record.
    pub taken: usize,
}

/// What a format found while reading.
pub(crate) struct Notes<'k> {
    /// Where the lines of key logs go that the source holds.
    pub key_lines: &'k KeyLineSink<'k>,
    /// What was found of such key logs.
    pub secrets: SecretsTally,
    /// Largest snap length stated; `None` if none is.
    pub snap_length: Option<u32>,
    /// Numbers of the link layers stated, in order of appearance.
    pub links: Vec<u16>,
    /// Interfaces of which several addresses are stated, in order of appearance.
    pub interfaces: Vec<InterfaceAddresses>,
    /// Bytes of a last record that ends early.
    pub cut_bytes: u64,
    /// Times the reader lost its place and found it again.
    pub damaged: u64,
    /// Bytes skipped thereby.
    pub damaged_bytes: u64,
    /// Whether it gave up: what follows is not readable.
    pub given_up: bool,
}

impl<'k> Notes<'k> {
    /// Nothing yet; lines of key logs go to `key_lines`.
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

    /// Adds a link layer and its snap length.
    pub fn interface(&mut self, link: u16, snap_length: u32) {
        if !self.links.contains(&link) && self.links.len() < MAX_LINKS {
            self.links.push(link);
        }
        if snap_length > 0 {
            self.snap_length = Some(self.snap_length.unwrap_or(0).max(snap_length));
        }
    }

    /// Adds the addresses of an interface: one alone says nothing about which addresses are one host.
    pub fn addresses(&mut self, interface: InterfaceAddresses) {
        let is_new = !self.interfaces.contains(&interface);
        if interface.addresses.len() > 1 && is_new && self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(interface);
        }
    }

    /// Adds one place where `bytes` bytes make no sense.
    pub fn skipped(&mut self, bytes: u64) {
        self.damaged += 1;
        self.damaged_bytes += bytes;
    }
}

/// Largest packet accepted, in bytes. tcpdump's largest snap length is 256 KiB; a length above this one is
/// damage.
pub(crate) const MAX_PACKET: usize = 1 << 20;
/// Bytes searched for the next record after damage.
pub(crate) const SEARCH: usize = 256 << 10;
/// Interfaces whose addresses are noted.
const MAX_INTERFACES: usize = 1000;
/// Link layers noted; more than exist.
const MAX_LINKS: usize = 64;

/// Four bytes at `offset` as a number; `big` gives the byte order.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], offset: usize, big: bool) -> Option<u32> {
    let four = *bytes.get(offset..)?.first_chunk::<4>()?;
    Some(if big {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    })
}

/// Two bytes at `offset` as a number; `big` gives the byte order.
#[inline]
pub(crate) fn u16_at(bytes: &[u8], offset: usize, big: bool) -> Option<u16> {
    let two = *bytes.get(offset..)?.first_chunk::<2>()?;
    Some(if big {
        u16::from_be_bytes(two)
    } else {
        u16::from_le_bytes(two)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::LINKS;

    #[test]
    fn rows_are_told_apart() {
        let magics: Vec<[u8; 4]> = FORMATS.iter().flat_map(|row| row.magics).copied().collect();
        assert!(
            magics
                .iter()
                .all(|magic| magics.iter().filter(|other| *other == magic).count() == 1)
        );
        let names: Vec<&str> = FORMATS
            .iter()
            .map(|row| row.name)
            .chain(LINKS.iter().map(|link| link.name))
            .collect();
        assert!(
            names
                .iter()
                .all(|name| names.iter().filter(|other| *other == name).count() == 1)
        );
        let numbers: Vec<u16> = LINKS.iter().flat_map(|link| link.numbers).copied().collect();
        assert!(
            numbers
                .iter()
                .all(|number| numbers.iter().filter(|other| *other == number).count() == 1)
        );
    }
}
