//! One source of packets: opening, decompression, format detection.

use crate::Error;
use crate::clock::Clock;
use crate::compression::{self, Compression};
use crate::format::{Format, Notes, Record};
use crate::formats::{self, FormatRow};
use crate::input::Input;
use crate::ip::Protocol;
use crate::links::Carrier;
use crate::secrets::KeyLineSink;
use model::Timestamp;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::time::Duration;

pub enum Source<'a> {
    /// A capture file, or a named pipe or device.
    File(&'a Path),
    Stream {
        name: &'a str,
        reader: Box<dyn Read + Send + 'a>,
    },
}

pub(crate) struct Reader<'a> {
    pub name: String,
    pub compression: Option<&'static str>,
    pub format: &'static str,
    pub notes: Notes<'a>,
    pub faults: FrameTally,
    pub current: Option<Record>,
    input: Input<'a>,
    packets: Box<dyn Format>,
    /// Recorded time of the current packet and of the previous one.
    recorded: Option<Timestamp>,
    previous: Option<Timestamp>,
    pub clock: Clock,
    /// Bytes of the current packet and the record after it, if that was read ahead.
    ahead: Option<(Vec<u8>, Option<Record>)>,
}

#[derive(Debug, Default)]
pub(crate) struct FrameTally {
    pub packets: u64,
    pub wire_bytes: u64,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    pub tcp: u64,
    pub unknown_link: u64,
    pub encapsulated: Vec<(Carrier, u64)>,
    /// IP packets other than TCP, by protocol. Counted only while there is no TCP.
    pub others: Vec<(Protocol, u64)>,
    /// Packets with a time that fits neither the previous nor the next one.
    pub wild_times: u64,
    pub headless: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Frame {
    Tcp,
    UnknownLink,
    Unopened(Carrier),
    /// Truncated before the end of the TCP header, or an invalid one.
    Headless,
    NotTcp(Protocol),
    /// Not an IP packet, or a fragment of an incomplete one.
    Other,
}

impl FrameTally {
    #[inline]
    pub fn count(&mut self, frame: Frame) {
        match frame {
            Frame::Tcp => self.tcp += 1,
            Frame::UnknownLink => self.unknown_link += 1,
            Frame::Unopened(carrier) => count_one(&mut self.encapsulated, carrier),
            Frame::Headless => self.headless += 1,
            Frame::NotTcp(protocol) if self.tcp == 0 => count_one(&mut self.others, protocol),
            Frame::NotTcp(_) => {}
            Frame::Other => {}
        }
    }

    #[inline]
    pub fn packet(&mut self, at: Timestamp, wire: u32) {
        self.first_at.get_or_insert(at);
        self.last_at = self.last_at.max(Some(at));
        self.packets += 1;
        self.wire_bytes += u64::from(wire);
    }
}

/// Beyond [`MAX_KINDS`] kinds no more are distinguished.
fn count_one<T: PartialEq>(counts: &mut Vec<(T, u64)>, what: T) {
    if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == what) {
        *count += 1;
    } else if counts.len() < MAX_KINDS {
        counts.push((what, 1));
    }
}

impl<'a> Reader<'a> {
    /// Opens a source and advances to its first packet. Lines of embedded key logs go to
    /// `key_lines`.
    pub fn open(source: Source<'a>, key_lines: &'a KeyLineSink<'a>) -> Result<Self, Error> {
        let Begun {
            name,
            compression,
            input,
            row,
            packets,
        } = begin(source)?;
        let mut reader = Self {
            name,
            compression: compression.map(|compression| compression.name),
            format: row.name,
            notes: Notes::new(key_lines),
            faults: FrameTally::default(),
            current: None,
            input,
            packets,
            recorded: None,
            previous: None,
            clock: Clock::default(),
            ahead: None,
        };
        reader.advance();
        Ok(reader)
    }

    #[inline]
    pub fn advance(&mut self) {
        self.previous = self.recorded;
        self.current = match self.ahead.take() {
            Some((_, following)) => following,
            None => {
                self.input.consume(self.current.map_or(0, |record| record.taken));
                self.packets.next(&mut self.input, &mut self.notes)
            }
        };
        let Some(mut record) = self.current else { return };
        let near = self
            .previous
            .is_some_and(|previous| distance(previous, record.at) <= SILENCE);
        if !near {
            record = self.check_time(record);
        }
        self.recorded = Some(record.at);
        record.at = self.clock.pass(record.at, record.interface, record.wire);
        self.current = Some(record);
        self.faults.packet(record.at, record.wire);
    }

    /// If a packet comes after a long silence or before its predecessor, and its time does not fit
    /// the next one either, the time is damaged: the packet takes the next one's. Otherwise it
    /// would shift all later times.
    #[cold]
    fn check_time(&mut self, mut record: Record) -> Record {
        let bytes = self.frame(&record).to_vec();
        self.input.consume(record.taken);
        let following = self.packets.next(&mut self.input, &mut self.notes);
        if let Some(after) = following.map(|following| following.at) {
            let ahead = record.at > self.previous.unwrap_or(after).max(after).after(SILENCE);
            let behind = self
                .previous
                .is_some_and(|before| record.at.after(SILENCE) < before.min(after));
            if ahead || behind {
                self.faults.wild_times += 1;
                record.at = after;
            }
        }
        self.ahead = Some((bytes, following));
        record
    }

    #[inline]
    pub fn frame(&self, record: &Record) -> &[u8] {
        match &self.ahead {
            Some((bytes, _)) => bytes,
            None => self
                .input
                .bytes()
                .get(record.offset..record.offset + record.captured)
                .unwrap_or_default(),
        }
    }

    /// Returns the fault that ended the source early, once.
    pub fn take_fault(&mut self) -> Option<std::io::Error> {
        self.input.take_fault()
    }

    pub fn position(&self) -> u64 {
        self.input.position()
    }
}

fn distance(first: Timestamp, second: Timestamp) -> Duration {
    first.since(second).max(second.since(first))
}

const MAX_KINDS: usize = 32;
const SILENCE: Duration = Duration::from_secs(10);

pub(crate) struct Begun<'a> {
    name: String,
    compression: Option<&'static Compression>,
    pub input: Input<'a>,
    row: &'static FormatRow,
    pub packets: Box<dyn Format>,
}

pub(crate) fn begin(source: Source<'_>) -> Result<Begun<'_>, Error> {
    let (name, compression, mut input) = match source {
        Source::File(path) => open_file(path)?,
        Source::Stream { name, reader } => open_stream(name.to_owned(), reader)?,
    };
    let magic = input.peek(4).to_vec();
    let Some((magic, row)) =
        (magic.first_chunk::<4>().copied()).and_then(|magic| formats::find(magic).map(|row| (magic, row)))
    else {
        let other = formats::other_format(&name, input.peek(formats::OTHER_FORMAT_BYTES));
        return Err(match (magic.is_empty(), input.take_fault(), other) {
            (_, Some(cause), _) => Error::Read { name, cause },
            (true, None, _) => Error::Empty { name },
            (false, None, Some((what, command))) => Error::OtherFormat { name, what, command },
            (false, None, None) => Error::NotCapture { name, found: magic },
        });
    };
    Ok(Begun {
        name,
        compression,
        input,
        row,
        packets: (row.open)(magic),
    })
}

/// Emits the lines of all key logs of a source to `key_lines`, for a later read of its packets.
/// Formats without key logs are not read beyond their first bytes.
///
/// Damage is skipped here and reported when the packets are read.
///
/// # Errors
/// If the source cannot be opened or is not a capture.
pub fn find_keys(source: Source<'_>, key_lines: &KeyLineSink<'_>) -> Result<(), Error> {
    let Begun {
        mut input,
        row,
        mut packets,
        ..
    } = begin(source)?;
    if row.holds_keys {
        let mut notes = Notes::new(key_lines);
        while let Some(record) = packets.next(&mut input, &mut notes) {
            input.consume(record.taken);
        }
    }
    Ok(())
}

type Opened<'a> = (String, Option<&'static Compression>, Input<'a>);

/// Regular files are read in windows; compressed ones, pipes and devices as a stream.
fn open_file<'a>(path: &Path) -> Result<Opened<'a>, Error> {
    let name = path.display().to_string();
    let opened = File::open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
    let (file, metadata) = match opened {
        Ok(opened) => opened,
        Err(cause) => return Err(Error::Open { name, cause }),
    };
    if !metadata.is_file() {
        return open_stream(name, Box::new(file));
    }
    let mut input = match file.try_clone() {
        Ok(copy) => Input::of_file(copy),
        Err(cause) => return Err(Error::Open { name, cause }),
    };
    let magic = input.peek(4).first_chunk::<4>().copied();
    // Without seeking, it can still be read in order.
    if input.take_fault().is_some() {
        return open_stream(name, Box::new(file));
    }
    match magic.and_then(compression::find) {
        Some(_) => open_stream(name, Box::new(file)),
        None => Ok((name, None, input)),
    }
}

fn open_stream<'a>(name: String, mut reader: Box<dyn Read + Send + 'a>) -> Result<Opened<'a>, Error> {
    let mut magic = Vec::with_capacity(4);
    if let Err(cause) = reader.by_ref().take(4).read_to_end(&mut magic) {
        return Err(Error::Read { name, cause });
    }
    let compression = magic.first_chunk::<4>().copied().and_then(compression::find);
    let whole: Box<dyn Read + Send + 'a> = Box::new(Cursor::new(magic).chain(reader));
    let Some(compression) = compression else {
        return Ok((name, None, Input::buffered(whole)));
    };
    match (compression.expand)(whole) {
        Ok(expanded) => Ok((name, Some(compression), Input::buffered(expanded))),
        Err(cause) => Err(Error::Read { name, cause }),
    }
}

/// Bytes that [`is_capture`] needs for certainty: a first zstd block and its headers.
pub const PROBE_BYTES: usize = 160 << 10;

/// Whether a source that begins with `first_bytes` is a capture, plain or compressed.
///
/// Pass the first [`PROBE_BYTES`] bytes or the whole source: decompressing four bytes of it must be
/// possible.
pub fn is_capture(first_bytes: &[u8]) -> bool {
    let Some(magic) = first_bytes.first_chunk::<4>().copied() else {
        return false;
    };
    let Some(compression) = compression::find(magic) else {
        return formats::find(magic).is_some();
    };
    let mut inner = [0; 4];
    (compression.expand)(Box::new(first_bytes)).is_ok_and(|mut reader| reader.read_exact(&mut inner).is_ok())
        && formats::find(inner).is_some()
}
