//! The list of capture formats. A new format needs a file and one row in [`FORMATS`].

use crate::format::Format;
use crate::{pcap, pcapng};

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
