//! The list of capture formats. A new format needs a file and one row in [`FORMATS`].

use crate::input::Input;
use crate::links::Link;
use crate::secrets::{KeyLineSink, SecretsTally};
use crate::{pcap, pcapng};
use model::{InterfaceAddresses, Timestamp};

pub(crate) struct FormatRow {
    pub name: &'static str,
    pub magics: &'static [[u8; 4]],
    /// Whether its files may contain session keys.
    pub holds_keys: bool,
    pub open: fn([u8; 4]) -> Box<dyn Format>,
}

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

pub(crate) fn find(magic: [u8; 4]) -> Option<&'static FormatRow> {
    FORMATS.iter().find(|row| row.magics.contains(&magic))
}

/// Names an unsupported format and the command that converts it, if known.
pub(crate) fn other_format(name: &str, begin: &[u8]) -> Option<(&'static str, &'static str)> {
    let found = OTHER_FORMATS.iter().find(|(magic, ..)| begin.starts_with(magic));
    if let Some((_, what, command)) = found {
        return Some((what, command));
    }
    // The first event after a buffer's header describes the log: version, type 1 or 2, marker.
    let is_log = matches!(begin.get(ETL_BUFFER_HEADER..), Some([_, 0, 1 | 2, 0xc0, ..]));
    let is_named = name.len() > 4 && name.as_bytes()[name.len() - 4..].eq_ignore_ascii_case(b".etl");
    (is_log || is_named).then_some(("an event log of Windows (ETL)", ETL2PCAPNG))
}

pub(crate) const OTHER_FORMAT_BYTES: usize = ETL_BUFFER_HEADER + 4;
const ETL_BUFFER_HEADER: usize = 72;
const ETL2PCAPNG: &str = "`etl2pcapng NAME NAME.pcapng` on Windows (https://github.com/microsoft/etl2pcapng)";
const EDITCAP: &str = "`editcap -F pcapng NAME NAME.pcapng` (editcap comes with Wireshark)";

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

#[inline]
pub(crate) fn u32_at(bytes: &[u8], offset: usize, big: bool) -> Option<u32> {
    let four = *bytes.get(offset..)?.first_chunk::<4>()?;
    Some(if big {
        u32::from_be_bytes(four)
    } else {
        u32::from_le_bytes(four)
    })
}

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
