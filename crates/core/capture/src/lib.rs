//! Reads packets from capture files, streams or an interface, and reports TCP connections.
//!
//! [`read_sources`] reads sources (pcap, pcapng, plain or compressed, files or streams), merges
//! them on one clock, finds the TCP packets in their link layers and IP packets, and puts each
//! direction's bytes in order. It reports payload, round trips and recovery to a
//! [`model::Observer`] as [`model::ConnectionEvent`]s. [`LiveCapture`] does the same with live
//! packets, and [`filter`] selects them in the kernel.
//!
//! A capture may be truncated, damaged, reordered, duplicated, one-sided, or begin in the middle of
//! a connection. Missing data is counted and causes a warning. Only a source that is not a capture
//! is an error.
//!
//! The path of a packet: `source` (`input`, `compression`, `formats`) -> `links` -> `ip`
//! (`encapsulations`, `fragments`) -> `tcp` -> `flows` -> `flow` -> `half`. Start reading at
//! [`read_sources`], then `flow`.

#![deny(clippy::wildcard_enum_match_arm)]

mod addresses;
mod byte_order;
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
mod format;
mod formats;
mod fragments;
mod gap;
mod half;
mod hosts;
mod idle;
mod input;
mod ip;
mod key;
mod links;
mod live;
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

pub use addresses::{Machines, machines};
pub use error::Error;
pub use live::{LiveCapture, LivePacket};
pub use report::{FileFacts, Report};
pub use secrets::KeyLineSink;
pub use source::{PROBE_BYTES, Source, find_keys, is_capture};

use flows::Flows;
use format::Record;
use fragments::Fragments;
use links::{Carrier, NoPacket};
use model::Observer;
use source::{Frame, Reader};

/// Reads all sources to their ends and reports their events to `observer`.
///
/// Several sources are merged by packet time. A connection in several of them is reported from the
/// first, unless the others continue where that one ends (a rotated capture). Its number modulo the
/// number of sources is the source that it begins in.
///
/// # Errors
/// If a source cannot be opened or is not a capture. All sources are opened before the first event
/// is reported.
pub fn read_sources(sources: Vec<Source<'_>>, observer: &mut dyn Observer) -> Result<Report, Error> {
    read_with_keys(sources, observer, &|_| true)
}

/// Like [`read_sources`], and also emits the lines of embedded key logs (pcapng's Decryption
/// Secrets Blocks) to `key_lines`, in order with the packets. [`find_keys`] emits all of them in
/// advance.
///
/// # Errors
/// Those of [`read_sources`].
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

/// The TCP packet inside an encapsulation, one level deep, or the name of an unsupported
/// encapsulation.
fn opened<'a>(datagram: &ip::Datagram<'a>) -> Result<(ip::Datagram<'a>, u32), Option<&'static str>> {
    let inside = encapsulations::inside(datagram).ok_or(None)?;
    let inner = inside.packet.and_then(|found| {
        let before = datagram.payload.len() - found.packet.len();
        let datagram = ip::parse_datagram(found.packet, datagram.length.saturating_sub(before))?;
        Some((datagram, found.network))
    });
    match inner {
        Some((inner, network)) if inner.protocol == ip::TCP => Ok((inner, network)),
        // Another inner protocol, such as UDP, is not missing data.
        Some((inner, _)) => Err(encapsulations::inside(&inner).map(|deeper| deeper.name)),
        None => Err(Some(inside.name)),
    }
}

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
