//! Errors of opening a source. Later faults are warnings next to the results.

use std::io;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("longwire could not open '{name}': {cause}; check the path and that you may read it")]
    Open {
        name: String,
        #[source]
        cause: io::Error,
    },
    #[error(
        "longwire could not read '{name}': {cause}; check the device, or the command that writes to the pipe"
    )]
    Read {
        name: String,
        #[source]
        cause: io::Error,
    },
    #[error("'{name}' is empty, so it is not a capture; give a file written by `tcpdump -w` or by Wireshark")]
    Empty {
        /// Path of the file, or name of the stream.
        name: String,
    },
    /// A capture format that other programs can convert.
    #[error("'{name}' is {what}, which longwire does not read: convert it with {}", command.replace("NAME", name))]
    OtherFormat {
        name: String,
        what: &'static str,
        /// The command that converts to pcapng, with `NAME` for the file.
        command: &'static str,
    },
    #[error(
        "'{name}' is not a capture: it begins with {}; give a pcap or pcapng file (plain, gzip or zstd), \
         as `tcpdump -w` writes",
        hexadecimal(found)
    )]
    NotCapture {
        name: String,
        /// The first bytes (decompressed), at most four.
        found: Vec<u8>,
    },
}

fn hexadecimal(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("the bytes {}", pairs.join(" "))
}
