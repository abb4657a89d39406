//! One source of packets: opened, decompressed, its format recognised.

use crate::Error;
use crate::clock::Clock;
use crate::compression::{self, Compression};
use crate::formats::{self, Format, FormatRow, Notes, Record};
use crate::input::Input;
use crate::ip::Protocol;
use crate::links::Carrier;
use crate::secrets::KeyLineSink;
use model::{InterfaceAddresses, Timestamp};
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::time::Duration;

/// Where packets come from.
pub enum Source<'a> {
    /// A capture file, or a named pipe or device that gives one.
    File(&'a Path),
    /// A stream of capture bytes, such as standard input.
    Stream {
        /// What to call it in reports.
        name: &'a str,
        /// The bytes.
        reader: Box<dyn Read + Send + 'a>,
    },
}

/// A source that is being read.
pub(crate) struct Reader<'a> {
    pub name: String,
    pub compression: Option<&'static str>,
    pub format: &'static str,
    pub notes: Notes<'a>,
    pub faults: FrameTally,
    pub current: Option<Record>,
    input: Input<'a>,
    packets: Box<dyn Format>,
    /// Time of the current packet as recorded, and of the one before it.
    recorded: Option<Timestamp>,
    previous: Option<Timestamp>,
    pub clock: Clock,
    /// Bytes of the current packet and the one that follows, while the latter was read ahead.
    ahead: Option<(Vec<u8>, Option<Record>)>,
}

/// What the frames of a source were.
#[derive(Debug, Default)]
pub(crate) struct FrameTally {
    pub packets: u64,
    pub wire_bytes: u64,
    pub first_at: Option<Timestamp>,
    pub last_at: Option<Timestamp>,
    /// TCP packets.
    pub tcp: u64,
    /// Frames of a link layer that longwire does not know.
    pub unknown_link: u64,
    /// Packets that carry others and were not opened, by what carries them.
    pub encapsulated: Vec<(Carrier, u64)>,
    /// IP packets of other protocols than TCP, by protocol, as long as there is no TCP.
    pub others: Vec<(Protocol, u64)>,
    /// Packets whose time fits neither the one before nor the one after.
    pub wild_times: u64,
    /// Frames cut before the end of their TCP header, or with an impossible one.
    pub headless: u64,
}

/// What a frame was.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Frame {
    /// A TCP packet, or the last fragment of one.
    Tcp,
    /// Of a link layer that longwire does not know.
    UnknownLink,
    /// A packet that carries another and was not opened, by what carries it.
    Unopened(Carrier),
    /// Cut before the end of its TCP header, or with an impossible one.
    Headless,
    /// An IP packet of another protocol.
    NotTcp(Protocol),
    /// No IP packet, or a fragment of one that is not whole yet.
    Other,
}

impl FrameTally {
    /// Counts a frame that was taken apart.
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

    /// Counts a packet that has just been read.
    #[inline]
    pub fn packet(&mut self, at: Timestamp, wire: u32) {
        self.first_at.get_or_insert(at);
        self.last_at = self.last_at.max(Some(at));
        self.packets += 1;
        self.wire_bytes += u64::from(wire);
    }
}

/// Counts by what; beyond [`MAX_KINDS`] kinds no more are distinguished.
fn count_one<T: PartialEq>(counts: &mut Vec<(T, u64)>, what: T) {
    if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == what) {
        *count += 1;
    } else if counts.len() < MAX_KINDS {
        counts.push((what, 1));
    }
}

impl<'a> Reader<'a> {
    /// Opens a source and moves to its first packet. Lines of key logs that it holds go to `key_lines`.
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

    /// Moves to the next packet.
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

    /// A packet after a long silence, or before its predecessor, is held against the one that follows: when
    /// its time lies outside both of theirs, it is damaged, and the packet gets the time of the one that
    /// follows. Taken as it is, it would move the time of everything after it.
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

    /// The captured bytes of the current packet.
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

    /// What ended the source early, once.
    pub fn take_fault(&mut self) -> Option<std::io::Error> {
        self.input.take_fault()
    }

    /// How far the source was read, in decompressed bytes.
    pub fn position(&self) -> u64 {
        self.input.position()
    }
}

fn distance(first: Timestamp, second: Timestamp) -> Duration {
    first.since(second).max(second.since(first))
}

/// Kinds of packets that are distinguished in warnings.
const MAX_KINDS: usize = 32;
/// A time step that is inspected twice.
const SILENCE: Duration = Duration::from_secs(10);

/// A source whose format is known, and nothing of it read.
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

/// Hands the lines of all key logs that a source holds to `key_lines`, wherever in it they are: for who reads
/// its packets later. Of a format that holds none nothing is read but its first bytes.
///
/// What is damaged is passed over: reading the packets reports it.
///
/// # Errors
/// When the source cannot be opened or is no capture.
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

/// The interfaces of which a source states several addresses, as far as it describes them before its first
/// packet.
///
/// # Errors
/// When the source cannot be opened or is no capture.
pub fn interfaces(source: Source<'_>) -> Result<Vec<InterfaceAddresses>, Error> {
    let Begun {
        mut input,
        mut packets,
        ..
    } = begin(source)?;
    let mut notes = Notes::new(&|_| true);
    packets.next(&mut input, &mut notes);
    Ok(notes.interfaces)
}

type Opened<'a> = (String, Option<&'static Compression>, Input<'a>);

/// A regular file is read window by window; a compressed one is read through, and so is a pipe or a device.
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
    // What can be read only in order still is.
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

/// Bytes of a source that [`is_capture`] needs to be sure: a first zstd block and its headers.
pub const PROBE_BYTES: usize = 160 << 10;

/// Whether a source that begins with `first_bytes` is a capture, plain or compressed.
///
/// Give the first [`PROBE_BYTES`] bytes, or all there are: of a compressed source as much must be there as it
/// takes to decompress four bytes.
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
