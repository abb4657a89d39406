//! Why reading could not begin. Whatever goes wrong after that is a warning next to the results.

use std::io;
use thiserror::Error;

/// Why a source gives nothing at all.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("longwire could not open '{name}': {cause}; check the path and that you may read it")]
    Open {
        /// The file.
        name: String,
        /// What the operating system said.
        #[source]
        cause: io::Error,
    },
    /// Not even the first bytes could be read.
    #[error(
        "longwire could not read '{name}': {cause}; check the device, or the command that writes to the pipe"
    )]
    Read {
        /// The file or stream.
        name: String,
        /// What the operating system or the decompressor said.
        #[source]
        cause: io::Error,
    },
    /// There are no bytes.
    #[error("'{name}' is empty, so it is not a capture; give a file written by `tcpdump -w` or by Wireshark")]
    Empty {
        /// The file or stream.
        name: String,
    },
    /// A format of captures that other programs convert.
    #[error("'{name}' is {what}, which longwire does not read: convert it with {}", command.replace("NAME", name))]
    OtherFormat {
        /// The file or stream.
        name: String,
        /// What it is.
        what: &'static str,
        /// The command that makes a pcapng file of it, with `NAME` for the file.
        command: &'static str,
    },
    /// The bytes are no capture format that longwire knows.
    #[error(
        "'{name}' is not a capture: it begins with {}; give a pcap or pcapng file (plain, gzip or zstd), \
         as `tcpdump -w` writes",
        hexadecimal(found)
    )]
    NotCapture {
        /// The file or stream.
        name: String,
        /// Its first bytes (decompressed where it is compressed), at most four.
        found: Vec<u8>,
    },
}

fn hexadecimal(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("the bytes {}", pairs.join(" "))
}
