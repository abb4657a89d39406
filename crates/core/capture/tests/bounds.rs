//! Memory stays bounded for any capture.

mod support;

use capture::Source;
use model::{ConnectionEvent, ConnectionId, Observer};
use support::build::{self, Frame, NANO, Tcp, tcp};

#[derive(Default)]
struct Open {
    now: u64,
    most: u64,
    closed: u64,
}

impl Observer for Open {
    fn event(&mut self, _: ConnectionId, event: ConnectionEvent<'_>) {
        match event {
            ConnectionEvent::Opened { .. } => self.now += 1,
            ConnectionEvent::Closed { .. } => {
                self.now -= 1;
                self.closed += 1;
            }
            _ => {}
        }
        self.most = self.most.max(self.now);
    }
}

fn open_of(frames: &[Frame]) -> Open {
    let bytes = build::pcap(NANO, frames);
    let mut open = Open::default();
    let source = Source::Stream {
        name: "test",
        reader: Box::new(bytes.as_slice()),
    };
    capture::read_sources(vec![source], &mut open).expect("a capture");
    assert_eq!(open.now, 0, "every connection is closed in the end");
    open
}

fn moved(frame: &Frame, number: u32) -> Frame {
    let mut frame = frame.clone();
    frame.at += u64::from(number) * 1000;
    let [_, high, middle, low] = number.to_be_bytes();
    for place in [26, 30] {
        frame.bytes[place] = high;
        frame.bytes[place + 1] = middle;
        frame.bytes[place + 2] = low;
    }
    frame
}

#[test]
fn a_scan_does_not_fill_memory() {
    let syn = tcp(0, true, "S", 1, 0).frame();
    let frames: Vec<Frame> = (0..80_000).map(|number| moved(&syn, number)).collect();
    let open = open_of(&frames);
    assert_eq!(open.closed, 80_000);
    assert!(open.most <= 65_536, "{}", open.most);
}

#[test]
fn ended_connections_make_room_before_open_ones() {
    let long = tcp(0, true, "PA", 1, 1)
        .with(b"long")
        .frame_between("192.0.2.1:40000", "192.0.2.2:5432");
    let reset = tcp(0, true, "R", 1, 0).frame();
    let mut frames = vec![long.clone()];
    frames.extend((0..70_000).map(|number| moved(&reset, number)));
    let later = Tcp {
        at_us: 80_000,
        ..tcp(0, true, "PA", 5, 1).with(b"lived")
    };
    frames.push(later.frame_between("192.0.2.1:40000", "192.0.2.2:5432"));
    assert_eq!(
        open_of(&frames).closed,
        70_001,
        "the long connection is still one"
    );
}

#[test]
fn ended_connections_are_told_a_minute_later() {
    let reset = tcp(0, true, "R", 1, 0).frame();
    let late = Frame {
        at: build::EPOCH + 61_000_000_000,
        ..moved(&reset, 9)
    };
    let after = Frame {
        at: build::EPOCH + 61_000_001_000,
        ..moved(&reset, 10)
    };
    let open = open_of(&[reset, late, after]);
    assert_eq!((open.most, open.closed), (2, 3));
}
