//! Writes packets to a file as they pass: pcapng with nanoseconds, readable only by its owner.

use super::reader::{ETHERNET, LINK_ETHERNET, LOOPBACK};
use crate::private_file;
use capture::packet_blocks;
use model::{ByteCount, Timestamp};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use sys::file_opener::FileOpener;
use sys::packets::SeenPacket;

#[derive(Debug, Clone)]
pub struct PacketFilePlan {
    pub path: PathBuf,
    /// Maximum size; `None` if there is no limit.
    pub most: Option<ByteCount>,
}

/// A file of packets. At its maximum size it is renamed and a new one starts, so the last packets
/// are always kept.
#[derive(Debug)]
pub(super) struct PacketFile {
    path: PathBuf,
    /// Maximum size; `None` if there is no limit.
    most: Option<ByteCount>,
    /// Creates the next file after this process has dropped its rights.
    opener: Option<FileOpener>,
    out: BufWriter<File>,
    written: u64,
    /// Interfaces in the current file: number, and whether packets are Ethernet frames.
    interfaces: Vec<(u32, bool)>,
}

impl PacketFile {
    /// Creates or truncates the file, readable only by its owner.
    ///
    /// # Errors
    /// Those of the system. Also if rotation is requested for a pipe or another non-file.
    pub(super) fn create(plan: PacketFilePlan) -> io::Result<Self> {
        let PacketFilePlan { path, most } = plan;
        let is_other = path.metadata().is_ok_and(|there| !there.is_file());
        if is_other && most.is_some() {
            return Err(io::Error::other(
                "it is no regular file, which alone can give way to the next one",
            ));
        }
        let out = BufWriter::new(private_file::create(&path)?);
        let opener = match most.is_some() && sys::rights::is_root() {
            true => {
                let path = path.clone();
                Some(FileOpener::start(move || next_file(&path))?)
            }
            false => None,
        };
        let mut file = Self {
            path,
            most,
            opener,
            out,
            written: 0,
            interfaces: Vec::new(),
        };
        file.write(&packet_blocks::section())?;
        Ok(file)
    }

    /// Adds a packet, with the VLAN tag that the kernel stripped.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn packet(&mut self, seen: &SeenPacket<'_>, at: Timestamp) -> io::Result<()> {
        if self.most.is_some_and(|most| self.written >= most.as_bytes()) {
            self.rotate()?;
        }
        let is_ethernet = matches!(seen.device, ETHERNET | LOOPBACK);
        let interface = self.interface(seen.interface, is_ethernet)?;
        let mut header = Vec::new();
        let frame = match (is_ethernet, seen.vlan, seen.frame.split_at_checked(ADDRESSES)) {
            (true, Some(tag), Some((addresses, rest))) => {
                header.extend_from_slice(addresses);
                header.extend(tag.kind.to_be_bytes());
                header.extend(tag.control.to_be_bytes());
                rest
            }
            (true, ..) => seen.frame,
            (false, ..) => {
                header = cooked(seen);
                seen.frame.get(seen.network..).unwrap_or_default()
            }
        };
        let captured = header.len() + frame.len();
        let missing = (seen.wire as usize).saturating_sub(seen.frame.len());
        let wire = u32::try_from(captured + missing).unwrap_or(u32::MAX);
        self.write(&packet_blocks::packet(interface, at, [&header, frame], wire))
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn interface(&mut self, number: u32, is_ethernet: bool) -> io::Result<u32> {
        let known = self
            .interfaces
            .iter()
            .position(|known| *known == (number, is_ethernet));
        let place = match known {
            Some(place) => place,
            None => {
                let link_type = if is_ethernet { LINK_ETHERNET } else { LINK_COOKED };
                self.write(&packet_blocks::interface(
                    &format!("interface {number}"),
                    link_type,
                ))?;
                self.interfaces.push((number, is_ethernet));
                self.interfaces.len() - 1
            }
        };
        Ok(u32::try_from(place).unwrap_or(u32::MAX))
    }

    /// Renames the file, replacing the previously renamed one, and starts a new one.
    fn rotate(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let next = match &self.opener {
            Some(opener) => opener.open()?,
            None => next_file(&self.path)?,
        };
        self.out = BufWriter::new(next);
        self.written = 0;
        self.interfaces.clear();
        self.write(&packet_blocks::section())
    }

    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.written += block.len() as u64;
        self.out.write_all(block)
    }
}

fn next_file(path: &Path) -> io::Result<File> {
    let mut name = path.to_owned().into_os_string();
    name.push(".1");
    std::fs::rename(path, name)?;
    private_file::create(path)
}

/// The header of Linux cooked v2 (<https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html>),
/// without address.
fn cooked(seen: &SeenPacket<'_>) -> Vec<u8> {
    let mut header = Vec::with_capacity(20);
    header.extend(seen.carries.to_be_bytes());
    header.extend([0; 2]);
    header.extend(seen.interface.to_be_bytes());
    header.extend(seen.device.to_be_bytes());
    header.resize(20, 0);
    header
}

const ADDRESSES: usize = 12;
const LINK_COOKED: u16 = 276;
