//! Captures as pcapng, with keys inside: an input is a file without the section header in front.

use capture::{KeyLineSink, Source, find_keys, machines, read_with_keys};
use model::{ConnectionEvent, ConnectionId, Observer};
use std::cell::RefCell;
use tls_keys::KeyLog;

/// The property of a file: reading its packets and searching it for keys hand on the same lines, and none is longer than one of a key log.
pub fn check_pcapng(input: &[u8]) {
    let bytes = [SECTION, input].concat();
    let read = lines(|sink| {
        read_with_keys(vec![source(&bytes)], &mut Nobody, sink).expect("a capture");
    });
    let found = lines(|sink| find_keys(source(&bytes), sink).expect("a capture"));
    assert_eq!(read, found);
    assert!(read.iter().all(|line| line.len() <= 4096));
    let described = machines(source(&bytes)).expect("a capture").interfaces;
    assert!(described.iter().all(|interface| interface.addresses.len() > 1));
}

fn lines(run: impl FnOnce(&KeyLineSink<'_>)) -> Vec<Vec<u8>> {
    let (log, lines) = (RefCell::new(KeyLog::default()), RefCell::new(Vec::new()));
    run(&|line| {
        lines.borrow_mut().push(line.to_vec());
        log.borrow_mut().line_within(line, 100).is_ok()
    });
    lines.into_inner()
}

fn source(bytes: &[u8]) -> Source<'_> {
    Source::Stream { name: "fuzz", reader: Box::new(bytes) }
}

struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}

/// A section in little-endian byte order, of unknown length.
const SECTION: &[u8] = &[
    0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0,
];
