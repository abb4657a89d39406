//! The bytes of one source: a file mapped window by window, or any reader behind a buffer.
//!
//! Both look the same to a format: [`Input::peek`] shows what lies ahead without copying it, [`Input::consume`]
//! moves on. Resident memory stays at one window or buffer, whatever the size of the file.

use memmap2::{Mmap, MmapOptions};
use std::fs::File;
use std::io::{self, Read};

/// A cursor over the bytes of one source.
pub(crate) struct Input<'a> {
    backing: Backing<'a>,
    start: usize,
    end: usize,
    position: u64,
    fault: Option<io::Error>,
}

enum Backing<'a> {
    Mapped {
        file: File,
        window: Option<Mmap>,
    },
    Buffered {
        reader: Box<dyn Read + 'a>,
        buffer: Vec<u8>,
        ended: bool,
    },
}

impl<'a> Input<'a> {
    /// A regular file, mapped.
    pub fn mapped(file: File) -> Self {
        Self::new(Backing::Mapped { file, window: None })
    }

    /// Anything that can be read once.
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

    /// The next `count` bytes; fewer only at the end of the source (or at a fault, see [`Input::fault`]).
    #[inline]
    pub fn peek(&mut self, count: usize) -> &[u8] {
        if self.end - self.start < count {
            self.refill(count);
        }
        let available = (self.end - self.start).min(count);
        &self.bytes()[..available]
    }

    /// All bytes that are at hand without reading further.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        let whole: &[u8] = match &self.backing {
            Backing::Mapped { window, .. } => window.as_deref().unwrap_or_default(),
            Backing::Buffered { buffer, .. } => buffer,
        };
        whole.get(self.start..self.end).unwrap_or_default()
    }

    /// Moves past `count` bytes that were peeked at.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.position += count as u64;
    }

    /// Moves past `count` bytes that need not be at hand; tells how many there were.
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

    /// Offset of the cursor from the beginning of the (decompressed) source.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// What ended the source before its end, once.
    pub fn take_fault(&mut self) -> Option<io::Error> {
        self.fault.take()
    }

    #[cold]
    fn refill(&mut self, count: usize) {
        let outcome = match &mut self.backing {
            Backing::Mapped { file, window } => {
                map_window(file, self.position, count).map(|(mapping, start, end)| {
                    *window = mapping;
                    (start, end)
                })
            }
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

/// A refill that failed, with the part of the buffer that is good nevertheless.
struct Refill {
    start: usize,
    end: usize,
    cause: io::Error,
}

/// Maps the part of the file that begins at the page of `position`. The length of the file is asked anew for each
/// window, so a capture that is still being written is read as far as it goes.
fn map_window(file: &File, position: u64, count: usize) -> Result<(Option<Mmap>, usize, usize), Refill> {
    let failed = |cause| Refill {
        start: 0,
        end: 0,
        cause,
    };
    let length = file.metadata().map_err(failed)?.len();
    let from = position - position % PAGE;
    let start = (position - from) as usize;
    let wanted = (WINDOW.max(start + count)) as u64;
    let mapped = length.saturating_sub(from).min(wanted) as usize;
    if mapped <= start {
        return Ok((None, 0, 0));
    }
    // SAFETY: the mapping is read-only and private, and lies within the file's length of a moment ago. Should
    // another process shorten the file while a window is mapped, the operating system ends this process with
    // SIGBUS; a mapping cannot prevent that, and no wrong byte can be read.
    let mapping = unsafe { MmapOptions::new().offset(from).len(mapped).populate().map(file) };
    mapping
        .map(|mapping| (Some(mapping), start, mapped))
        .map_err(failed)
}

/// Moves what is left to the front of the buffer and reads until `count` bytes are there. The buffer grows only
/// with bytes that have really arrived, and nobody waits for more than was asked for: a live pipe is shown at once.
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
        let step = buffer.len().clamp(LEAST_STEP, READ_STEP);
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

/// Bytes mapped at a time: small enough to stay in the cache of the processor and of no weight in resident memory,
/// large enough that mapping costs nothing.
const WINDOW: usize = 4 << 20;
/// Bytes asked of a reader at first.
const LEAST_STEP: usize = 16 << 10;
/// Bytes asked of a reader at a time, later.
const READ_STEP: usize = 256 << 10;
/// Bytes skipped at a time.
const SKIP_STEP: usize = 64 << 10;
/// A multiple of every page size in use (4, 16 and 64 KiB): offsets of mappings must be one.
const PAGE: u64 = 64 << 10;
