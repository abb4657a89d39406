//! Totals of a run, and warnings about missing data.

use crate::clock::ClockSteps;
use crate::flows::Flows;
use crate::half::Faults;
use crate::links;
use crate::secrets::{SecretsFault, SecretsTally};
use crate::source::{FrameTally, Reader};
use model::{Timestamp, Warning, WarningKind, counted};
use std::io;

#[derive(Debug, Clone, Default)]
pub struct Report {
    pub packets: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
    /// On the clock of its source.
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    pub connections: u32,
    pub files: Vec<FileFacts>,
    /// Warnings of missing or doubtful data, empty for a flawless capture.
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone)]
pub struct FileFacts {
    pub name: String,
    pub format: &'static str,
    /// Either `gzip` or `zstd`; `None` if it is not compressed.
    pub compression: Option<&'static str>,
    /// Maximum captured bytes of a packet; `None` if not stated.
    pub snap_length: Option<u32>,
    /// Link layers by name, or by number if longwire does not support them.
    pub link_layers: Vec<String>,
    pub packets: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
    /// Fragments of one TCP packet count as one.
    pub tcp_packets: u64,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    /// Truncation and damage of the file, empty if it is intact. Also among the warnings.
    pub faults: Vec<String>,
}

pub(crate) fn conclude(readers: &mut [Reader<'_>], flows: &Flows<'_>, lost_fragments: u64) -> Report {
    let mut report = Report {
        connections: flows.opened(),
        ..Report::default()
    };
    for (reader, foreign) in readers.iter_mut().zip(flows.foreign()) {
        let mut facts = facts(reader);
        let fault = reader.take_fault();
        let bytes = byte_warnings(reader, fault);
        facts.faults = bytes.iter().map(|warning| warning.text.clone()).collect();
        let found = bytes
            .into_iter()
            .chain(reader.clock.steps().warning(&reader.name))
            .chain(secrets_warnings(&reader.name, &reader.notes.secrets))
            .chain(frame_warnings(
                &reader.name,
                &reader.faults,
                *foreign,
                &reader.notes.links,
            ));
        report.warnings.extend(found);
        report.packets += facts.packets;
        report.wire_bytes += facts.wire_bytes;
        report.first_at = [report.first_at, facts.first_at].into_iter().flatten().min();
        report.last_at = report.last_at.max(facts.last_at);
        report.files.push(facts);
    }
    report
        .warnings
        .extend(connection_warnings(flows, lost_fragments, LARGER_SNAP));
    report
}

pub(crate) fn conclude_live(
    name: &str,
    tally: &FrameTally,
    steps: ClockSteps,
    flows: &Flows<'_>,
    lost_fragments: u64,
) -> Report {
    let frames = steps
        .warning(name)
        .into_iter()
        .chain(frame_warnings(name, tally, 0, &[]));
    let mut warnings: Vec<Warning> = frames.collect();
    warnings.extend(connection_warnings(flows, lost_fragments, FEWER_PACKETS));
    Report {
        packets: tally.packets,
        wire_bytes: tally.wire_bytes,
        first_at: tally.first_at,
        last_at: tally.last_at,
        connections: flows.opened(),
        files: Vec::new(),
        warnings,
    }
}

const LARGER_SNAP: &str = "capture with a larger snap length (tcpdump -s 0) and buffer (tcpdump -B 65536)";
const FEWER_PACKETS: &str = "narrow the capture with --port or --filter, or enlarge its buffer with --ring";

fn facts(reader: &Reader<'_>) -> FileFacts {
    let name = |number: &u16| {
        links::find(*number).map_or_else(|| format!("link type {number}"), |l| l.name.to_owned())
    };
    FileFacts {
        name: reader.name.clone(),
        format: reader.format,
        compression: reader.compression,
        snap_length: reader.notes.snap_length,
        link_layers: reader.notes.links.iter().map(name).collect(),
        packets: reader.faults.packets,
        wire_bytes: reader.faults.wire_bytes,
        tcp_packets: reader.faults.tcp,
        first_at: reader.faults.first_at,
        last_at: reader.faults.last_at,
        faults: Vec::new(),
    }
}

fn byte_warnings(reader: &Reader<'_>, fault: Option<io::Error>) -> Vec<Warning> {
    let Reader { name, notes, .. } = reader;
    let position = reader.position();
    let mut warnings = Vec::new();
    let mut warn = |kind, text: String| warnings.push(Warning::new(kind, text));
    if let Some(cause) = fault {
        warn(
            WarningKind::CaptureDamaged,
            format!(
                "'{name}' could not be read beyond byte {position}: {cause}; everything before it is reported"
            ),
        );
    } else if let Some(place) = notes.secrets.cut {
        warn(
            WarningKind::KeysMissing,
            format!(
                "'{name}' ends inside a block of keys that begins at byte {place}: keys in it are missing; let the capture end before reading it"
            ),
        );
    } else if notes.cut_bytes > 0 {
        warn(
            WarningKind::CaptureCut,
            format!(
                "'{name}' ends inside a packet: its last {} bytes are ignored; let the capture end before reading it",
                notes.cut_bytes
            ),
        );
    }
    if notes.damaged > 0 {
        warn(
            WarningKind::CaptureDamaged,
            format!(
                "'{name}' is damaged in {}: {} skipped; copy the file again if you can",
                counted(notes.damaged, "place", "places"),
                counted(notes.damaged_bytes, "byte was", "bytes were")
            ),
        );
    }
    if notes.given_up {
        warn(
            WarningKind::CaptureDamaged,
            format!(
                "'{name}' is unreadable from byte {position} on: everything before it is reported; copy the file again if you can"
            ),
        );
    }
    warnings
}

fn secrets_warnings(name: &str, secrets: &SecretsTally) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, text: String| warnings.push(Warning::new(kind, text));
    if let Some((place, fault)) = secrets.first_fault {
        let what = match fault {
            SecretsFault::Empty => "it is empty".to_owned(),
            SecretsFault::Length => "its lengths contradict each other".to_owned(),
            SecretsFault::Lines(count) => counted(
                count,
                "of its lines is not one of a key log",
                "of its lines are not those of a key log",
            ),
        };
        warn(
            WarningKind::KeysMissing,
            format!(
                "'{name}' has {} of TLS keys of which something is missing, the first at byte {place}: {what}",
                counted(secrets.faulty, "block", "blocks")
            ),
        );
    }
    if secrets.foreign > 0 {
        warn(
            WarningKind::KeysMissing,
            format!(
                "'{name}' has {} of secrets that are not of TLS (WireGuard, SSH or others): they open nothing",
                counted(secrets.foreign, "block", "blocks")
            ),
        );
    }
    warnings
}

fn frame_warnings(name: &str, faults: &FrameTally, foreign: u64, links: &[u16]) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |kind, text: String| warnings.push(Warning::new(kind, text));
    if faults.wild_times > 0 {
        warn(
            WarningKind::ClockStep,
            format!(
                "'{name}' has {} with an impossible time: the time of the next packet is used instead",
                counted(faults.wild_times, "packet", "packets")
            ),
        );
    }
    if faults.unknown_link > 0 {
        let numbers = unknown_links(links);
        warn(
            WarningKind::PacketsNotOpened,
            format!(
                "'{name}' has {} of a link layer that longwire does not know{numbers}; capture on an Ethernet, loopback or \
             'any' interface",
                counted(faults.unknown_link, "packet", "packets")
            ),
        );
    }
    for (what, count) in &faults.encapsulated {
        warn(
            WarningKind::PacketsNotOpened,
            format!(
                "'{name}' has {} in {what} that could not be opened: connections in them are missing; capture where they are \
             not carried in other packets",
                counted(*count, "packet", "packets")
            ),
        );
    }
    if faults.headless > 0 {
        warn(
            WarningKind::PayloadMissing,
            format!(
                "'{name}' has {} without a whole TCP header; capture with a larger snap length (tcpdump -s 0)",
                counted(faults.headless, "TCP packet", "TCP packets")
            ),
        );
    }
    if foreign > 0 {
        warn(
            WarningKind::CapturedTwice,
            format!(
                "'{name}' shows connections that another file showed first: {foreign} of its packets are ignored, since two \
             observation points have two clocks"
            ),
        );
    }
    if faults.tcp == 0 && faults.packets > 0 && faults.encapsulated.is_empty() {
        warnings.push(nothing_seen(name, faults));
    }
    warnings
}

/// Their numbers in parentheses, or nothing.
fn unknown_links(links: &[u16]) -> String {
    let unknown = links.iter().filter(|number| links::find(**number).is_none());
    let numbers: Vec<String> = unknown.map(|number| format!("link type {number}")).collect();
    match numbers.is_empty() {
        true => String::new(),
        false => format!(" ({})", numbers.join(", ")),
    }
}

fn nothing_seen(name: &str, faults: &FrameTally) -> Warning {
    let most = faults.others.iter().max_by_key(|(_, count)| *count);
    let most = most.map(|(what, count)| format!(" ({count} of {} packets are {what})", faults.packets));
    let text = format!(
        "'{name}' has no TCP packet{}; check the interface and the filter of the capture",
        most.unwrap_or_default()
    );
    Warning::new(WarningKind::NothingSeen, text)
}

fn connection_warnings(flows: &Flows<'_>, lost_fragments: u64, advice: &str) -> Vec<Warning> {
    use WarningKind::{OneDirection, OpenBefore, PayloadMissing};
    let faults = flows.tally();
    let missing = format!(": statements in them are missing; {advice}");
    let opened_before =
        ": handshakes, logins and earlier statements are missing; begin the capture before the connections";
    let opposite =
        ": the other one's messages and all round trips are missing; capture where both directions pass";
    let found = [
        of_several(
            PayloadMissing,
            faults.unseen,
            [
                "payload byte passed but is not in the capture",
                "payload bytes passed but are not in the capture",
            ],
            &missing,
        ),
        of_several(
            OpenBefore,
            faults.midway,
            [
                "connection was open before the capture began",
                "connections were open before the capture began",
            ],
            opened_before,
        ),
        of_several(
            OneDirection,
            faults.one_sided,
            [
                "connection shows one direction only",
                "connections show one direction only",
            ],
            opposite,
        ),
    ];
    copy_warnings(faults)
        .into_iter()
        .chain(found.into_iter().flatten())
        .chain(packet_warnings(faults, lost_fragments))
        .collect()
}

fn packet_warnings(faults: Faults, lost_fragments: u64) -> impl Iterator<Item = Warning> {
    use WarningKind::{CaptureDamaged, PayloadMissing};
    let found = [
        of_several(
            CaptureDamaged,
            faults.misplaced,
            [
                "packet has impossible sequence numbers",
                "packets have impossible sequence numbers",
            ],
            ": ignored",
        ),
        of_several(
            PayloadMissing,
            faults.overflows,
            ["gap was given up", "gaps were given up"],
            " because too much followed",
        ),
        of_several(
            PayloadMissing,
            lost_fragments,
            [
                "fragment of an IP packet is ignored",
                "fragments of IP packets are ignored",
            ],
            " because their packets are not whole",
        ),
    ];
    found.into_iter().flatten()
}

/// "COUNT ONEREST" or "COUNT MANYREST", if the count is not zero.
fn of_several(kind: WarningKind, count: u64, [one, many]: [&str; 2], rest: &str) -> Option<Warning> {
    (count > 0).then(|| Warning::new(kind, format!("{}{rest}", counted(count, one, many))))
}

/// Packets captured several times, or larger than on the wire.
fn copy_warnings(faults: Faults) -> Vec<Warning> {
    use WarningKind::{CapturedTwice, SegmentationOffload};
    let offload = format!(
        ": segmentation offload, about {} on the wire; packet and wire byte counts are those of the capturing host",
        faults.cut
    );
    let found = [
        of_several(
            CapturedTwice,
            faults.duplicates,
            [
                "packet was captured more than once",
                "packets were captured more than once",
            ],
            ": packet and wire byte counts include the copies; capture on one interface instead of 'any'",
        ),
        of_several(
            CapturedTwice,
            faults.translated,
            [
                "connection was captured under more than one pair of addresses (NAT, DNAT, masquerading)",
                "connections were captured under more than one pair of addresses (NAT, DNAT, masquerading)",
            ],
            ": counted once, from the address nearest to the client to the one nearest to the server",
        ),
        of_several(
            SegmentationOffload,
            faults.offloaded,
            [
                "packet is larger than packets of that connection can be",
                "packets are larger than packets of that connection can be",
            ],
            &offload,
        ),
    ];
    found.into_iter().flatten().collect()
}
