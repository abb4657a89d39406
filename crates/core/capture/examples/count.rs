//! Reads captures and counts the reported events: an example of the interface, and a benchmark of
//! this crate.

#![allow(
    clippy::disallowed_macros,
    reason = "an example is a program of its own and owns its output"
)]
use model::{ConnectionEvent, ConnectionId, Observer};
use std::path::PathBuf;

#[derive(Default)]
struct Count {
    segments: u64,
    payload_bytes: u64,
    unseen_bytes: u64,
    round_trips: u64,
    recoveries: u64,
    events: bool,
}

impl Observer for Count {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        if self.events {
            println!("{connection} {event:?}");
        }
        match event {
            ConnectionEvent::Segment(segment) => {
                self.segments += 1;
                self.payload_bytes += segment.payload.len() as u64;
                self.unseen_bytes += segment.unseen;
            }
            ConnectionEvent::RoundTrip { .. } => self.round_trips += 1,
            ConnectionEvent::Recovery { .. } => self.recoveries += 1,
            ConnectionEvent::Opened { .. }
            | ConnectionEvent::AssumedRoundTrip { .. }
            | ConnectionEvent::Handshake(_)
            | ConnectionEvent::RelayHandshake(_)
            | ConnectionEvent::Ended { .. }
            | ConnectionEvent::Drained
            | ConnectionEvent::Closed { .. } => {}
        }
    }
}

fn main() -> Result<(), capture::Error> {
    let (options, paths): (Vec<_>, Vec<_>) = std::env::args_os()
        .skip(1)
        .partition(|argument| argument == "--events");
    let paths: Vec<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let mut count = Count {
        events: !options.is_empty(),
        ..Count::default()
    };
    let sources = paths.iter().map(|path| capture::Source::File(path)).collect();
    let report = capture::read_sources(sources, &mut count)?;
    for warning in &report.warnings {
        eprintln!("warning: {}", warning.text);
    }
    println!(
        "{} connections, {} packets, {} wire bytes, {} segments, {} payload bytes, {} unseen bytes, {} round trips, \
         {} recoveries",
        report.connections,
        report.packets,
        report.wire_bytes,
        count.segments,
        count.payload_bytes,
        count.unseen_bytes,
        count.round_trips,
        count.recoveries
    );
    Ok(())
}
