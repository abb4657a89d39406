//! Builds a capture of one TCP connection and reads it with `longwire read`.

use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;
use testbed::binary::{done, records, run};

#[derive(Clone)]
pub struct Conversation {
    port: u16,
    next: [u32; 2],
    packets: Vec<(u64, Vec<u8>)>,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;
const FIN: u8 = 0x11;
const PUSH: u8 = 0x18;

impl Conversation {
    pub fn with(port: u16) -> Self {
        let mut conversation = Self {
            port,
            next: [1000, 5000],
            packets: Vec::new(),
        };
        for (at, side, flags) in [(0, CLIENT, 0x02), (200, SERVER, 0x12), (205, CLIENT, 0x10)] {
            conversation.packet(at, side, flags, &[]);
        }
        conversation
    }

    pub fn client(mut self, at_us: u64, payload: &[u8]) -> Self {
        self.packet(at_us, CLIENT, PUSH, payload);
        self
    }

    pub fn server(mut self, at_us: u64, payload: &[u8]) -> Self {
        self.packet(at_us, SERVER, PUSH, payload);
        self
    }

    pub fn close(mut self, at_us: u64) -> Self {
        for (later, side, flags) in [(0, CLIENT, FIN), (50, SERVER, FIN), (60, CLIENT, 0x10)] {
            self.packet(at_us + later, side, flags, &[]);
        }
        self
    }

    pub fn reset(mut self, at_us: u64) -> Self {
        self.packet(at_us, SERVER, 0x14, &[]);
        self
    }

    fn packet(&mut self, at_us: u64, side: usize, flags: u8, payload: &[u8]) {
        let ports = [40_000, self.port];
        let mut tcp = [ports[side], ports[1 - side]].map(u16::to_be_bytes).concat();
        let acknowledged = if flags == 0x02 { 0 } else { self.next[1 - side] };
        tcp.extend([self.next[side], acknowledged].map(u32::to_be_bytes).concat());
        tcp.extend([0x50, flags, 0xfa, 0, 0, 0, 0, 0]);
        tcp.extend(payload);
        let host = |side: usize| [10, 0, 0, side as u8 + 1];
        let length = (20 + tcp.len() as u16).to_be_bytes();
        let number = (self.packets.len() as u16 + 1).to_be_bytes();
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
        frame.extend([
            0x45, 0, length[0], length[1], number[0], number[1], 0x40, 0, 64, 6, 0, 0,
        ]);
        frame.extend([host(side), host(1 - side)].concat());
        frame.extend(tcp);
        self.next[side] += payload.len() as u32 + u32::from(flags & 3 != 0);
        self.packets.push((at_us, frame));
    }

    /// The file lives as long as the returned folder.
    pub fn file(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("conversation.pcap");
        let mut file = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1]
            .map(u32::to_le_bytes)
            .concat();
        for (at_us, frame) in &self.packets {
            let (seconds, rest) = (1_700_000_000 + at_us / 1_000_000, at_us % 1_000_000);
            let length = frame.len() as u32;
            file.extend(
                [seconds as u32, rest as u32, length, length]
                    .map(u32::to_le_bytes)
                    .concat(),
            );
            file.extend(frame);
        }
        std::fs::write(&path, file).expect("written");
        (folder, path)
    }

    pub fn read_records(&self) -> Vec<Value> {
        let (_folder, path) = self.file();
        let output = run(&["read", "--json", "--exchanges", &path.display().to_string()]);
        done(&output);
        records(&output)
    }
}
