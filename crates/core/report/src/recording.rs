//! A recording is the record stream, compressed with Zstandard.
//!
//! It is JSON Lines in Zstandard frames; `zstdcat run.lwr` prints it. It holds `conditions`, then
//! `opened`, `started`, `begun`, `exchange`, `connection` and `warning` records in order of time,
//! then `summary`.

use crate::records::writer::JsonWriter;
use model::{Conditions, Summary};
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Write};
use zstd::stream::raw::{Decoder as RawDecoder, Operation};
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

/// Whether a file that begins with `first_bytes` holds records, plain or compressed with Zstandard.
/// Decompresses a little to distinguish a compressed capture. Pass 64 KiB or the whole file: the
/// first compressed block has to be complete.
pub fn is_recording(first_bytes: &[u8]) -> bool {
    if !first_bytes.starts_with(&ZSTANDARD_MAGIC) {
        return first_bytes.first() == Some(&b'{');
    }
    let mut shown = [0; 1];
    let decoded = RawDecoder::new().and_then(|mut decoder| {
        decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(WINDOW_LOG_MAX))?;
        decoder.run_on_buffers(first_bytes, &mut shown)
    });
    decoded.is_ok_and(|status| status.bytes_written == 1) && shown == [b'{']
}

/// Writes a recording, of which everything before the last [`RecordingWriter::checkpoint`] is
/// readable even if the process is killed. Methods return only errors of the underlying writer.
pub struct RecordingWriter<W: Write> {
    records: JsonWriter<Encoder<'static, W>>,
}

impl<W: Write> RecordingWriter<W> {
    pub fn new(out: W, conditions: &Conditions) -> io::Result<Self> {
        let mut encoder = Encoder::new(out, LEVEL)?;
        encoder.include_checksum(true)?;
        let mut recording = Self {
            records: JsonWriter::new(encoder),
        };
        recording.records.conditions(conditions)?;
        recording.checkpoint()?;
        Ok(recording)
    }

    pub const fn records(&mut self) -> &mut JsonWriter<Encoder<'static, W>> {
        &mut self.records
    }

    /// Makes everything written readable. Call it about once a second.
    pub fn checkpoint(&mut self) -> io::Result<()> {
        self.records.flush()
    }

    /// Writes the totals and completes the recording.
    pub fn finish(mut self, summary: &Summary) -> io::Result<W> {
        self.records.summary(summary)?;
        let mut out = self.records.into_inner()?.finish()?;
        out.flush()?;
        Ok(out)
    }
}

pub(crate) enum Source<R: BufRead> {
    Plain(Whole<R>),
    Compressed(BufReader<Decoder<'static, Whole<R>>>),
}

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

impl<R: BufRead> Source<R> {
    pub(crate) fn new(mut input: R) -> io::Result<Self> {
        let mut first = Vec::with_capacity(ZSTANDARD_MAGIC.len());
        input
            .by_ref()
            .take(ZSTANDARD_MAGIC.len() as u64)
            .read_to_end(&mut first)?;
        let is_compressed = first == ZSTANDARD_MAGIC;
        let whole = Cursor::new(first).chain(input);
        if !is_compressed {
            return Ok(Self::Plain(whole));
        }
        let mut decoder = Decoder::with_buffer(whole)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        Ok(Self::Compressed(BufReader::with_capacity(BUFFER_BYTES, decoder)))
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(plain) => plain.read(buffer),
            Self::Compressed(compressed) => compressed.read(buffer),
        }
    }
}

impl<R: BufRead> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Plain(plain) => plain.fill_buf(),
            Self::Compressed(compressed) => compressed.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Plain(plain) => plain.consume(amount),
            Self::Compressed(compressed) => compressed.consume(amount),
        }
    }
}

/// RFC 8878, section 3.1.1.
const ZSTANDARD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// A good ratio, and faster than any recording.
const LEVEL: i32 = 3;
/// The 8 MiB window of zstd's level 19. It bounds the memory that a frame header can request.
const WINDOW_LOG_MAX: u32 = 23;
const BUFFER_BYTES: usize = 128 * 1024;
