//! Packets in, from capture files, streams or an interface, and what an observation point saw of each TCP
//! connection out.
//!
//! [`read_sources`] takes sources (pcap, pcapng, plain or compressed, files or streams), merges them on one
//! clock, finds the TCP packets in their link layers and IP packets, puts each direction's bytes in order,
//! and reports to a [`model::Observer`] payload, round trips and recovery as [`model::ConnectionEvent`]s.
//! [`LiveCapture`] does the same with packets that are handed to it as they pass; [`filter`] says which ones
//! the kernel is to hand over.
//!
//! A capture is taken as it is: cut, damaged, reordered, duplicated, one-sided, begun in the middle. What is
//! present is reported; what is missing is counted and causes a warning. Only a source that is no capture at
//! all is an error.
//!
//! The path of a packet: `source` (`input`, `compression`, `formats`) -> `links` -> `ip` (`encapsulations`,
//! `fragments`) -> `tcp` -> `flows` -> `flow` -> `half`. Start reading at [`read_sources`], then `flow`.

mod addresses;
mod clock;
mod compression;
mod copies;
mod duplicate;
mod edges;
mod encapsulations;
mod error;
pub mod filter;
mod flights;
mod flow;
mod flows;
mod formats;
mod fragments;
mod gap;
mod half;
mod hold;
mod hosts;
mod idle;
mod input;
mod ip;
mod keep_alive;
mod key;
mod links;
mod live;
mod opening;
pub mod packet_blocks;
mod pcap;
mod pcapng;
mod pending;
mod read_ahead;
mod report;
mod round_trip;
mod secrets;
mod settle;
mod sides;
mod source;
mod tcp;

pub use addresses::addresses;
pub use error::Error;
pub use live::{LiveCapture, LivePacket};
pub use report::{FileFacts, Report};
pub use secrets::KeyLineSink;
pub use source::{PROBE_BYTES, Source, find_keys, interfaces, is_capture};

use flows::Flows;
use formats::Record;
use fragments::Fragments;
use links::{Carrier, NoPacket};
use model::Observer;
use source::{Frame, Reader};

/// Reads all sources to their ends and reports to `observer` what they show.
///
/// Several sources are merged by packet time. A connection that several of them show is reported from the
/// first one that shows it, unless the others go on where that one ends (a rotated capture).
///
/// # Errors
/// When a source cannot be opened or is no capture. All sources are opened before the first event is
/// reported.
pub fn read_sources(sources: Vec<Source<'_>>, observer: &mut dyn Observer) -> Result<Report, Error> {
    read_with_keys(sources, observer, &|_| true)
}

/// As [`read_sources`]; the lines of key logs that sources hold (pcapng's Decryption Secrets Blocks) go to
/// `key_lines` when they are passed: before the packets that come after them. [`find_keys`] has those of the
/// packets before them too.
///
/// # Errors
/// As [`read_sources`].
pub fn read_with_keys<'a>(
    sources: Vec<Source<'a>>,
    observer: &mut dyn Observer,
    key_lines: &'a KeyLineSink<'a>,
) -> Result<Report, Error> {
    let mut readers = sources
        .into_iter()
        .map(|source| Reader::open(source, key_lines))
        .collect::<Result<Vec<_>, _>>()?;
    let mut flows = Flows::new(readers.len(), observer);
    let mut fragments = Fragments::default();
    while let Some((index, record)) = earliest(&readers) {
        let reader = &mut readers[index];
        let frame = dispatch(index, reader.frame(&record), &record, &mut fragments, &mut flows);
        reader.faults.count(frame);
        reader.advance();
        if reader.current.is_none() {
            flows.source_ended(index);
        }
    }
    flows.finish();
    Ok(report::conclude(&mut readers, &flows, fragments.lost))
}

/// The TCP packet inside a packet that carries others, one level deep; or the name of what was not opened.
fn opened<'a>(datagram: &ip::Datagram<'a>) -> Result<(ip::Datagram<'a>, u32), Option<&'static str>> {
    let inside = encapsulations::inside(datagram).ok_or(None)?;
    let inner = inside.packet.and_then(|found| {
        let before = datagram.payload.len() - found.packet.len();
        let datagram = ip::parse_datagram(found.packet, datagram.length.saturating_sub(before))?;
        Some((datagram, found.network))
    });
    match inner {
        Some((inner, network)) if inner.protocol == ip::TCP => Ok((inner, network)),
        // Another protocol inside, such as UDP: nothing is missing.
        Some((inner, _)) => Err(encapsulations::inside(&inner).map(|deeper| deeper.name)),
        None => Err(Some(inside.name)),
    }
}

/// The source whose next packet passed first, and that packet.
#[inline]
fn earliest(readers: &[Reader<'_>]) -> Option<(usize, Record)> {
    if let [reader] = readers {
        return reader.current.map(|record| (0, record));
    }
    let heads = readers
        .iter()
        .enumerate()
        .filter_map(|(index, reader)| Some((index, reader.current?)));
    heads.min_by_key(|(_, record)| record.at)
}

/// Takes one frame apart, hands its TCP packet on, and says what it was.
#[inline]
fn dispatch(
    index: usize,
    frame: &[u8],
    record: &Record,
    fragments: &mut Fragments,
    flows: &mut Flows<'_>,
) -> Frame {
    let Some(link) = record.link else {
        return Frame::UnknownLink;
    };
    let found = match (link.network)(frame) {
        Ok(found) => found,
        Err(NoPacket::Unopened(carrier)) => return Frame::Unopened(carrier),
        Err(NoPacket::Other) => return Frame::Other,
    };
    let before = frame.len() - found.packet.len();
    let Some(datagram) = ip::parse_datagram(found.packet, (record.wire as usize).saturating_sub(before))
    else {
        return match record.captured < record.wire as usize {
            true => Frame::Headless,
            false => Frame::Other,
        };
    };
    let (datagram, network) = match datagram.protocol {
        ip::TCP => (datagram, found.network),
        _ => match opened(&datagram) {
            Ok(opened) => opened,
            Err(Some(name)) => return Frame::Unopened(Carrier::Named(name)),
            Err(None) => return Frame::NotTcp(ip::Protocol::from_datagram(&datagram)),
        },
    };
    let envelope = tcp::Envelope {
        network,
        ..tcp::Envelope::new(record, found.interface, &datagram)
    };
    let seen = if datagram.fragment.is_some() {
        let Some(whole) = fragments.add(record.at, &datagram, record.wire) else {
            return Frame::Other;
        };
        let envelope = tcp::Envelope {
            packets: whole.packets,
            wire_bytes: whole.wire_bytes,
            ..envelope
        };
        tcp::parse_segment(&whole.payload, whole.payload.len(), &envelope)
            .map(|(packet, options)| flows.accept(index, &packet, &options))
    } else {
        tcp::parse_segment(datagram.payload, datagram.length, &envelope)
            .map(|(packet, options)| flows.accept(index, &packet, &options))
    };
    match seen {
        Some(()) => Frame::Tcp,
        None => Frame::Headless,
    }
}
