//! Writes packets of a link to a file, on a thread that never delays the forwarder.

use model::Timestamp;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use sys::files::{Contents, create_for_owner};
use sys::{LiveError, OsError};

#[derive(Debug)]
pub(super) struct CaptureTap {
    to_writer: SyncSender<(Timestamp, Vec<u8>)>,
    writer: JoinHandle<io::Result<()>>,
    path: String,
    missing: u64,
}

impl CaptureTap {
    pub(super) fn start(path: &Path) -> Result<Self, LiveError> {
        let shown = path.display().to_string();
        let failed = |error: &io::Error| LiveError::CaptureFailed {
            path: shown.clone(),
            reason: OsError::from_io_error(error),
        };
        let mut file = BufWriter::new(create_for_owner(path, Contents::Emptied).map_err(|error| {
            LiveError::CaptureFileRefused {
                path: shown.clone(),
                reason: error.to_string(),
            }
        })?);
        file.write_all(&file_header()).map_err(|error| failed(&error))?;
        let (to_writer, packets) = sync_channel(WAITING);
        let writer = std::thread::Builder::new()
            .name("longwire pcap".to_owned())
            .spawn(move || {
                sys::signals::block_all_signals();
                write(file, &packets)
            })
            .map_err(|error| failed(&error))?;
        Ok(Self {
            to_writer,
            writer,
            path: shown,
            missing: 0,
        })
    }

    /// Passes a packet to the writer. Without room it is dropped and counted.
    pub(super) fn packet(&mut self, at: Timestamp, bytes: &[u8]) {
        match self.to_writer.try_send((at, bytes.to_vec())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.missing += 1,
        }
    }

    pub(super) fn finish(self) -> Result<(), LiveError> {
        drop(self.to_writer);
        let written = self
            .writer
            .join()
            .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
        match written {
            Err(error) => Err(LiveError::CaptureFailed {
                path: self.path,
                reason: OsError::from_io_error(&error),
            }),
            Ok(()) if self.missing > 0 => Err(LiveError::CaptureIncomplete {
                path: self.path,
                missing: self.missing,
            }),
            Ok(()) => Ok(()),
        }
    }
}

fn write(mut file: BufWriter<File>, packets: &Receiver<(Timestamp, Vec<u8>)>) -> io::Result<()> {
    for (at, bytes) in packets {
        let (seconds, nanoseconds) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        for field in [seconds as u32, nanoseconds as u32, length, length] {
            file.write_all(&field.to_le_bytes())?;
        }
        file.write_all(&bytes)?;
    }
    file.flush()
}

/// The header of pcap 2.4 with nanoseconds (magic 0xa1b23c4d), link type 101 for raw IP.
fn file_header() -> [u8; 24] {
    let mut header = [0; 24];
    header[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
    header[4..6].copy_from_slice(&2_u16.to_le_bytes());
    header[6..8].copy_from_slice(&4_u16.to_le_bytes());
    header[16..20].copy_from_slice(&65_535_u32.to_le_bytes());
    header[20..].copy_from_slice(&101_u32.to_le_bytes());
    header
}

/// Packets waiting for the writer: 24 MiB of full ones.
const WAITING: usize = 16_384;
