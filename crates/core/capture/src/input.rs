//! The bytes of one source: a file, read in windows, or any reader behind a buffer.
//!
//! Formats see no difference: [`Input::peek`] shows the next bytes without copying,
//! [`Input::consume`] advances. Memory is limited to three windows or one buffer, for files of any
//! size. Files are read rather than mapped: if another process truncates one, that is a fault and
//! does not kill this process.

use crate::read_ahead::{ROOM, ReadAhead, WINDOW};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileExt;

pub(crate) struct Input<'a> {
    backing: Backing<'a>,
    start: usize,
    end: usize,
    position: u64,
    fault: Option<io::Error>,
}

enum Backing<'a> {
    File {
        file: File,
        window: Vec<u8>,
        length: u64,
        ahead: Ahead,
    },
    Buffered {
        reader: Box<dyn Read + 'a>,
        buffer: Vec<u8>,
        ended: bool,
    },
}

enum Ahead {
    /// The source is not known to be worth a thread.
    NotYet,
    Running(ReadAhead),
    Over,
}

impl<'a> Input<'a> {
    pub fn of_file(file: File) -> Self {
        Self::new(Backing::File {
            file,
            window: Vec::new(),
            length: 0,
            ahead: Ahead::NotYet,
        })
    }

    pub fn buffered(reader: Box<dyn Read + 'a>) -> Self {
        Self::new(Backing::Buffered {
            reader,
            buffer: Vec::new(),
            ended: false,
        })
    }

    fn new(backing: Backing<'a>) -> Self {
        Self {
            backing,
            start: 0,
            end: 0,
            position: 0,
            fault: None,
        }
    }

    /// The next `count` bytes; fewer only at the end of the source or at a fault
    /// ([`Input::take_fault`]).
    #[inline]
    pub fn peek(&mut self, count: usize) -> &[u8] {
        if self.end - self.start < count {
            self.refill(count);
        }
        let available = (self.end - self.start).min(count);
        &self.bytes()[..available]
    }

    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let whole: &[u8] = match &self.backing {
            Backing::File { window, .. } => window,
            Backing::Buffered { buffer, .. } => buffer,
        };
        whole.get(self.start..self.end).unwrap_or_default()
    }

    #[inline]
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }

    /// Advances past `count` bytes without buffering. Returns the number skipped.
    pub fn skip(&mut self, count: u64) -> u64 {
        let mut left = count;
        while left > 0 {
            let step = usize::try_from(left).unwrap_or(usize::MAX).min(SKIP_STEP);
            let there = self.peek(step).len();
            if there == 0 {
                break;
            }
            self.consume(there);
            left -= there as u64;
        }
        count - left
    }

    /// Offset of the cursor in the (decompressed) source.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the fault that ended the source early, once.
    pub fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    #[cold]
    fn refill(&mut self, count: usize) {
        let outcome = match &mut self.backing {
            Backing::File {
                file,
                window,
                length,
                ahead,
            } => match ahead.next_packet(window, (self.start, self.end), self.position, count) {
                Some(there) => Ok(there),
                None => {
                    let place = (self.start, self.end);
                    let outcome = read_window(file, window, length, place, self.position, count);
                    if let Ok((start, end)) = outcome {
                        ahead.start(file, self.position + (end - start) as u64, *length);
                    }
                    outcome
                }
            },
            Backing::Buffered {
                reader,
                buffer,
                ended,
            } => fill_buffer(reader, buffer, ended, (self.start, self.end), count),
        };
        match outcome {
            Ok((start, end)) => (self.start, self.end) = (start, end),
            Err(Refill { start, end, cause }) => {
                (self.start, self.end) = (start, end);
                self.fault.get_or_insert(cause);
            }
        }
    }
}

impl Ahead {
    /// Appends the next window to the rest of this one. `None` if more is needed: the rest is read
    /// at once.
    fn next_packet(
        &mut self,
        window: &mut Vec<u8>,
        (start, end): (usize, usize),
        position: u64,
        count: usize,
    ) -> Option<(usize, usize)> {
        let Self::Running(ahead) = self else {
            return None;
        };
        let left = window.get(start..end)?;
        let from = ROOM
            .checked_sub(left.len())
            .filter(|_| count <= left.len() + WINDOW);
        let next = from.and_then(|from| {
            let mut next = ahead.next(position + left.len() as u64)?;
            next.get_mut(from..ROOM)?.copy_from_slice(left);
            Some((from, next))
        });
        let Some((from, next)) = next else {
            *self = Self::Over;
            return None;
        };
        ahead.go_on(std::mem::replace(window, next));
        Some((from, ROOM + WINDOW))
    }

    fn start(&mut self, file: &File, position: u64, length: u64) {
        if matches!(self, Self::NotYet) && position.saturating_add(WINDOW as u64) < length {
            *self = ReadAhead::start(file, position).map_or(Self::Over, Self::Running);
        }
    }
}

struct Refill {
    start: usize,
    end: usize,
    cause: io::Error,
}

/// Moves the rest to the front of the window and reads on. Re-reads the file's length for each
/// window, so that a growing capture is read to its end.
fn read_window(
    file: &File,
    window: &mut Vec<u8>,
    length: &mut u64,
    (start, end): (usize, usize),
    position: u64,
    count: usize,
) -> Result<(usize, usize), Refill> {
    window.copy_within(start..end, 0);
    let end = end - start;
    let failed = |end, cause| Refill { start: 0, end, cause };
    let now = file.metadata().map_err(|cause| failed(end, cause))?.len();
    let before = std::mem::replace(length, now);
    if now < before {
        return Err(failed(end, shortened(before, now)));
    }
    let wanted = (WINDOW.max(count) as u64).min(now.saturating_sub(position)) as usize;
    if window.len() < wanted {
        window.resize(wanted, 0);
    }
    let mut end = end;
    while let Some(room) = window.get_mut(end..wanted).filter(|room| !room.is_empty()) {
        match file.read_at(room, position + end as u64) {
            Ok(0) => return Err(failed(end, shortened(now, position + end as u64))),
            Ok(read) => end += read,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(failed(end, cause)),
        }
    }
    Ok((0, end))
}

fn shortened(before: u64, now: u64) -> io::Error {
    let text = format!("the file became shorter while it was read: {before} bytes, then {now}");
    io::Error::new(ErrorKind::UnexpectedEof, text)
}

/// Moves the rest to the front of the buffer and reads until `count` bytes are available. The
/// buffer grows only with bytes that have arrived. It never waits for more than requested, so live
/// pipes show at once.
fn fill_buffer(
    reader: &mut dyn Read,
    buffer: &mut Vec<u8>,
    ended: &mut bool,
    (start, end): (usize, usize),
    count: usize,
) -> Result<(usize, usize), Refill> {
    buffer.copy_within(start..end, 0);
    let mut end = end - start;
    while end < count && !*ended {
        let step = buffer.len().clamp(MIN_READ_BYTES, READ_STEP);
        if buffer.len() < end + step {
            buffer.resize(end + step, 0);
        }
        match reader.read(&mut buffer[end..]) {
            Ok(0) => *ended = true,
            Ok(read) => end += read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => {
                *ended = true;
                return Err(Refill { start: 0, end, cause });
            }
        }
    }
    Ok((0, end))
}

const MIN_READ_BYTES: usize = 16 << 10;
const READ_STEP: usize = 256 << 10;
const SKIP_STEP: usize = 64 << 10;
