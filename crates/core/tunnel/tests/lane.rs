//! Two ends of a lane with a pipe each way: in any order of events, streams arrive unchanged, and
//! neither end holds more than stated.

use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use tunnel::frame::{ResetReason, VERSION};
use tunnel::lane::{BASE_WINDOW, FIRST_WINDOW, LaneEvent, MAX_STREAMS, MAX_WINDOW, POOL};
use tunnel::{CompressionLevel, End, Isolation, Lane, LaneError, LanePreferences, LevelChoice, StreamId};

struct Side {
    lane: Lane,
    level: CompressionLevel,
    sockets: BTreeMap<StreamId, Socket>,
}

#[derive(Default)]
struct Socket {
    to_send: VecDeque<u8>,
    ends: bool,
    finished: bool,
    held: VecDeque<u8>,
    taken: Vec<u8>,
    was_finished: bool,
    was_reset: bool,
}

impl Side {
    fn new(end: End, level: CompressionLevel, isolation: Isolation) -> Self {
        let preferences = LanePreferences {
            level: LevelChoice::Fixed(level),
            isolation,
            compress_login: false,
        };
        Self {
            lane: Lane::new(end, preferences),
            level,
            sockets: BTreeMap::new(),
        }
    }

    /// Does one pick, if any, with at most `most` readable bytes.
    fn turn(&mut self, most: usize) -> bool {
        let Some(pick) = self.lane.pick() else {
            return false;
        };
        let socket = self
            .sockets
            .get_mut(&pick.stream)
            .expect("only open streams are picked");
        let count = pick.most.min(most).min(socket.to_send.len());
        if count > 0 {
            let chunk: Vec<u8> = socket.to_send.drain(..count).collect();
            let drained = socket.to_send.is_empty() && !socket.ends;
            self.lane
                .send(pick.stream, &chunk, drained, self.level)
                .expect("compressed");
        } else if socket.ends {
            socket.finished = true;
            self.lane.finish(pick.stream);
        } else {
            self.lane.drained(pick.stream);
        }
        true
    }

    fn pipe(&mut self, other: &mut Side, most: usize) -> Result<bool, LaneError> {
        let space = other.lane.space();
        let unsent = self.lane.unsent();
        let count = most.min(unsent.len()).min(space.len());
        space[..count].copy_from_slice(&unsent[..count]);
        other.lane.filled(count);
        self.lane.sent(count);
        other.events()?;
        Ok(count > 0)
    }

    fn events(&mut self) -> Result<(), LaneError> {
        while let Some(event) = self.lane.next()? {
            match event {
                LaneEvent::Hello(_) => {}
                LaneEvent::Opened(id) => {
                    self.sockets.insert(id, Socket::default());
                }
                LaneEvent::Bytes { stream, bytes, .. } => {
                    let socket = self
                        .sockets
                        .get_mut(&stream)
                        .expect("only open streams have bytes");
                    socket.held.extend(bytes);
                    assert!(socket.held.len() <= MAX_WINDOW);
                }
                LaneEvent::Finished(id) => self.socket(id).was_finished = true,
                LaneEvent::Reset(id, _) => self.socket(id).was_reset = true,
            }
        }
        let held: usize = self.sockets.values().map(|socket| socket.held.len()).sum();
        assert!(held <= MAX_STREAMS * BASE_WINDOW + POOL);
        assert!(self.lane.unsent().len() < 1024 * 1024);
        Ok(())
    }

    fn socket(&mut self, id: StreamId) -> &mut Socket {
        self.sockets.get_mut(&id).expect("an open stream")
    }

    fn take_bytes(&mut self, id: StreamId, most: usize) -> bool {
        let Some(socket) = self.sockets.get_mut(&id) else {
            return false;
        };
        let count = socket.held.len().min(most);
        socket.taken.extend(socket.held.drain(..count));
        self.lane.consumed(id, count);
        count > 0
    }
}

#[derive(Debug, Clone)]
enum Step {
    Open,
    Write {
        far: bool,
        stream: usize,
        seed: u64,
        count: usize,
    },
    End {
        far: bool,
        stream: usize,
    },
    Turn {
        far: bool,
        most: usize,
    },
    Pipe {
        far: bool,
        most: usize,
    },
    Take {
        far: bool,
        stream: usize,
        most: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let sizes = prop_oneof![3 => 1..200_usize, 2 => 200..40_000_usize, 1 => 40_000..400_000_usize];
    let (far, stream) = (any::<bool>(), 0..6_usize);
    prop_oneof![
        1 => Just(Step::Open),
        4 => (far, stream.clone(), any::<u64>(), sizes.clone())
            .prop_map(|(far, stream, seed, count)| Step::Write { far, stream, seed, count }),
        1 => (far, stream.clone()).prop_map(|(far, stream)| Step::End { far, stream }),
        6 => (far, sizes.clone()).prop_map(|(far, most)| Step::Turn { far, most }),
        6 => (far, sizes.clone()).prop_map(|(far, most)| Step::Pipe { far, most }),
        4 => (far, stream, sizes).prop_map(|(far, stream, most)| Step::Take { far, stream, most }),
    ]
}

struct Pair {
    sides: [Side; 2],
    ids: Vec<StreamId>,
    given: BTreeMap<(bool, StreamId), Vec<u8>>,
}

impl Pair {
    fn new(level: CompressionLevel, isolation: Isolation) -> Self {
        let sides = [End::Near, End::Far].map(|end| Side::new(end, level, isolation));
        let mut pair = Self {
            sides,
            ids: Vec::new(),
            given: BTreeMap::new(),
        };
        pair.pipe(false, usize::MAX);
        pair.pipe(true, usize::MAX);
        assert!(pair.sides.iter().all(|side| side.lane.is_greeted()));
        pair
    }

    fn open(&mut self) -> StreamId {
        let id = self.sides[0].lane.open().expect("room");
        self.sides[0].sockets.insert(id, Socket::default());
        self.ids.push(id);
        id
    }

    fn write(&mut self, far: bool, id: StreamId, bytes: &[u8]) {
        let side = &mut self.sides[usize::from(far)];
        let Some(socket) = side.sockets.get_mut(&id).filter(|socket| !socket.ends) else {
            return;
        };
        socket.to_send.extend(bytes);
        side.lane.readable(id);
        self.given.entry((far, id)).or_default().extend(bytes);
    }

    fn end(&mut self, far: bool, id: StreamId) {
        let side = &mut self.sides[usize::from(far)];
        if let Some(socket) = side.sockets.get_mut(&id) {
            socket.ends = true;
            side.lane.readable(id);
        }
    }

    fn pipe(&mut self, far: bool, most: usize) -> bool {
        let [near_side, far_side] = &mut self.sides;
        let moved = if far {
            far_side.pipe(near_side, most)
        } else {
            near_side.pipe(far_side, most)
        };
        moved.expect("the ends understand each other")
    }

    fn play(&mut self, step: Step) {
        let id = |pair: &Self, stream: usize| pair.ids.get(stream % pair.ids.len().max(1)).copied();
        match step {
            Step::Open => {
                self.open();
            }
            Step::Write {
                far,
                stream,
                seed,
                count,
            } => {
                if let Some(id) = id(self, stream) {
                    self.write(far, id, &words(seed, count));
                }
            }
            Step::End { far, stream } => {
                if let Some(id) = id(self, stream) {
                    self.end(far, id);
                }
            }
            Step::Turn { far, most } => {
                self.sides[usize::from(far)].turn(most);
            }
            Step::Pipe { far, most } => {
                self.pipe(far, most);
            }
            Step::Take { far, stream, most } => {
                if let Some(id) = id(self, stream) {
                    self.sides[usize::from(far)].take_bytes(id, most);
                }
            }
        }
    }

    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for far in [false, true] {
                moved |= self.sides[usize::from(far)].turn(usize::MAX);
                moved |= self.pipe(far, usize::MAX);
                for id in self.ids.clone() {
                    moved |= self.sides[usize::from(far)].take_bytes(id, usize::MAX);
                }
            }
            if !moved {
                return;
            }
        }
    }
}

fn words(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::new();
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if seed.is_multiple_of(3) {
            bytes.extend_from_slice(&state.to_le_bytes());
        } else {
            bytes.extend_from_slice(format!("row {} ", state % 50).as_bytes());
        }
    }
    bytes.truncate(count);
    bytes
}

fn level(number: u8) -> CompressionLevel {
    CompressionLevel::from_number(number).expect("a level")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn whatever_the_order_every_stream_comes_out_as_it_went_in(
        steps in prop::collection::vec(step(), 1..120),
        number in 0..4_u8,
        isolate in any::<bool>(),
    ) {
        let isolation = if isolate { Isolation::Statements } else { Isolation::None };
        let mut pair = Pair::new(level(number), isolation);
        pair.open();
        for step in steps {
            pair.play(step);
        }
        pair.settle();
        for id in pair.ids.clone() {
            for far in [false, true] {
                let given = pair.given.get(&(far, id)).cloned().unwrap_or_default();
                let came = &pair.sides[usize::from(!far)].sockets[&id];
                prop_assert!(came.taken == given, "stream {id:?}: {} of {} bytes", came.taken.len(), given.len());
                let ends = pair.sides[usize::from(far)].sockets[&id].ends;
                prop_assert_eq!(came.was_finished, ends);
            }
        }
        let open = pair.ids.iter().filter(|id| {
            !pair.sides.iter().all(|side| side.sockets[id].ends)
        });
        prop_assert_eq!(pair.sides[0].lane.open_streams(), open.count());
    }

    #[test]
    fn no_bytes_from_the_other_end_make_a_lane_panic_or_hold_much(
        hello in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
        kinds in prop::collection::vec((1..10_u8, any::<u8>(), 0..6_u16, 0..4_u32), 0..50),
        piece in 1..4000_usize,
        far in any::<bool>(),
    ) {
        let end = if far { End::Far } else { End::Near };
        let mut side = Side::new(end, level(1), Isolation::None);
        let mut other = Side::new(end.other(), level(1), Isolation::None);
        if hello {
            other.pipe(&mut side, usize::MAX).expect("a hello");
        }
        let mut wire = Vec::new();
        for (kind, flags, length, stream) in kinds {
            wire.extend_from_slice(&[kind, flags]);
            wire.extend_from_slice(&length.to_be_bytes());
            wire.extend_from_slice(&stream.to_be_bytes());
            wire.extend(std::iter::repeat_n(flags, usize::from(length)));
        }
        wire.extend(bytes);
        for part in wire.chunks(piece) {
            let space = side.lane.space();
            space[..part.len()].copy_from_slice(part);
            side.lane.filled(part.len());
            if loop {
                match side.lane.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => break false,
                    Err(_) => break true,
                }
            } {
                break;
            }
        }
        prop_assert!(side.lane.unsent().len() < 10_000);
    }
}

#[test]
fn a_small_question_goes_ahead_of_large_answers() {
    let mut pair = Pair::new(CompressionLevel::OFF, Isolation::None);
    let (large, small) = (pair.open(), pair.open());
    pair.settle();
    pair.write(true, large, &words(1, 200_000));
    let far = &mut pair.sides[1];
    assert!(far.turn(usize::MAX), "the large one begins");
    assert!(far.lane.pick().is_none(), "its chunk is enough for now");
    let sent = far.lane.unsent().len();
    far.lane.sent(sent);
    pair.write(true, small, b"one row");
    let far = &mut pair.sides[1];
    assert_eq!(far.lane.pick().map(|pick| pick.stream), Some(small));
}

#[test]
fn streams_that_ask_often_do_not_keep_a_large_answer_from_its_turn() {
    let mut pair = Pair::new(CompressionLevel::OFF, Isolation::None);
    let ids: Vec<_> = (0..3).map(|_| pair.open()).collect();
    pair.settle();
    pair.write(true, ids[0], &words(1, 100_000));
    let mut turns = [0; 3];
    for _ in 0..9 {
        pair.write(true, ids[1], b"one row");
        pair.write(true, ids[2], b"one row");
        let far = &mut pair.sides[1];
        let pick = far.lane.pick().expect("a stream");
        turns[ids.iter().position(|id| *id == pick.stream).expect("one of them")] += 1;
        let socket = far.socket(pick.stream);
        let count = socket.to_send.len().min(10_000);
        let chunk: Vec<u8> = socket.to_send.drain(..count).collect();
        let drained = socket.to_send.is_empty();
        far.lane
            .send(pick.stream, &chunk, drained, CompressionLevel::OFF)
            .expect("stored");
        let sent = far.lane.unsent().len();
        far.lane.sent(sent);
    }
    assert_eq!(turns, [3, 3, 3]);
}

#[test]
fn a_window_grows_while_its_reader_keeps_pace_and_not_otherwise() {
    let most_on_the_way = |keeps_pace: bool| {
        let mut pair = Pair::new(CompressionLevel::OFF, Isolation::None);
        let id = pair.open();
        pair.settle();
        pair.write(true, id, &words(1, 40_000_000));
        let mut most = 0;
        for _ in 0..20 {
            // All credit is used before any bytes are consumed.
            while pair.sides[1].turn(usize::MAX) | pair.pipe(true, usize::MAX) {}
            let held = pair.sides[0].sockets[&id].held.len();
            most = most.max(held);
            let takes = if keeps_pace { held } else { held / 2 };
            pair.sides[0].take_bytes(id, takes);
            pair.pipe(false, usize::MAX);
        }
        most
    };
    assert_eq!(most_on_the_way(true), MAX_WINDOW);
    assert_eq!(most_on_the_way(false), FIRST_WINDOW);
}

#[test]
fn windows_grow_no_further_than_the_pool_and_give_back_what_they_had() {
    let mut pair = Pair::new(CompressionLevel::OFF, Isolation::None);
    let ids: Vec<_> = (0..MAX_STREAMS).map(|_| pair.open()).collect();
    assert_eq!(pair.sides[0].lane.open(), None, "no more streams than that");
    pair.settle();
    let credit = |pair: &mut Pair, id: StreamId| {
        pair.write(true, id, &words(3, FIRST_WINDOW + 1));
        while pair.sides[1].turn(usize::MAX) | pair.pipe(true, usize::MAX) {}
        pair.sides[0].sockets[&id].held.len()
    };
    let grown = POOL / (FIRST_WINDOW - BASE_WINDOW);
    assert_eq!(credit(&mut pair, ids[0]), FIRST_WINDOW);
    assert_eq!(credit(&mut pair, ids[grown - 1]), FIRST_WINDOW);
    assert_eq!(credit(&mut pair, ids[grown + 1]), BASE_WINDOW);
    pair.sides[0].lane.reset(ids[0], ResetReason::Broken);
    pair.sides[0].sockets.remove(&ids[0]);
    let new = pair.open();
    pair.settle();
    assert_eq!(credit(&mut pair, new), FIRST_WINDOW);
}

#[test]
fn a_stream_that_is_over_here_may_still_be_spoken_of_there() {
    let mut pair = Pair::new(level(2), Isolation::None);
    let (first, second) = (pair.open(), pair.open());
    pair.settle();
    pair.write(true, first, &words(1, 20_000));
    while pair.sides[1].turn(usize::MAX) {}
    pair.sides[0].lane.reset(first, ResetReason::Broken);
    pair.sides[0].sockets.remove(&first);
    pair.settle();
    assert!(pair.sides[1].sockets[&first].was_reset);
    // Its chunks were part of the context.
    pair.write(true, second, &words(1, 20_000));
    pair.settle();
    assert!(pair.sides[0].sockets[&second].taken == words(1, 20_000));
}

#[test]
fn who_breaks_the_protocol_is_told_of() {
    let breach = |end: End, wire: &[u8]| {
        let mut pair = Pair::new(CompressionLevel::OFF, Isolation::None);
        pair.open();
        pair.settle();
        let lane = &mut pair.sides[usize::from(end == End::Far)].lane;
        lane.space()[..wire.len()].copy_from_slice(wire);
        lane.filled(wire.len());
        lane.next()
            .map(|event| format!("{event:?}"))
            .expect_err("a breach")
            .to_string()
    };
    let cases: [(End, &[u8], &str); 8] = [
        (End::Far, &[0; 8], "sent a frame of the unknown kind 0"),
        (
            End::Far,
            &[3, 0, 0xff, 0xff, 0, 0, 0, 1],
            "sent a DATA frame with 65535 payload bytes",
        ),
        (
            End::Far,
            &[3, 0, 0, 1, 0, 0, 0, 9, 0],
            "spoke of the stream 9, which was never opened",
        ),
        (
            End::Far,
            &[2, 0, 0, 0, 0, 0, 0, 1],
            "sent an OPEN where there may be none",
        ),
        (
            End::Near,
            &[2, 0, 0, 0, 0, 0, 0, 2],
            "sent an OPEN where there may be none",
        ),
        (
            End::Far,
            &[3, 1, 0, 1, 0, 0, 0, 1, 0],
            "sent bytes that cannot be decompressed: a compressed chunk does not continue the previous one",
        ),
        (
            End::Near,
            &[6, 0, 0, 4, 0, 0, 0, 1, 255, 0, 0, 0],
            "sent a CREDIT where there may be none",
        ),
        (End::Far, &[9, 0, 0, 1, 0, 0, 0, 0, 0], "was stopped"),
    ];
    for (end, wire, says) in cases {
        assert_eq!(breach(end, wire), says);
    }
}

/// Sends a far end the same frame repeatedly.
fn flooded(frame: &[u8], ended: bool) -> (usize, String) {
    let mut pair = Pair::new(CompressionLevel::OFF, Isolation::None);
    let id = pair.open();
    pair.settle();
    if ended {
        pair.sides[0].lane.reset(id, ResetReason::Broken);
        pair.sides[0].sockets.remove(&id);
        pair.settle();
    }
    let lane = &mut pair.sides[1].lane;
    for count in 0..10_000 {
        lane.space()[..frame.len()].copy_from_slice(frame);
        lane.filled(frame.len());
        loop {
            match lane.next() {
                Ok(None) => break,
                Ok(Some(_)) => {}
                Err(error) => return (count, error.to_string()),
            }
        }
        // It reads the answers.
        let answered = lane.unsent().len();
        lane.sent(answered);
    }
    panic!("it goes on for ever: {frame:?}");
}

#[test]
fn who_floods_a_lane_with_frames_that_serve_no_stream_is_turned_out() {
    let credit = [6, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1];
    let cases: [(&[u8], bool, &str); 6] = [
        (&credit, false, "floods the lane with CREDIT"),
        (
            &[6, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0],
            false,
            "floods the lane with CREDIT",
        ),
        (
            &credit,
            true,
            "floods the lane with frames of streams that are over",
        ),
        (
            &[4, 0, 0, 0, 0, 0, 0, 1],
            true,
            "floods the lane with frames of streams that are over",
        ),
        (&[7, 0, 0, 0, 0, 0, 0, 0], false, "floods the lane with PING"),
        (&[8, 0, 0, 0, 0, 0, 0, 0], false, "floods the lane with PONG"),
    ];
    for (frame, ended, says) in cases {
        let (count, said) = flooded(frame, ended);
        assert_eq!(said, says);
        assert!(count <= 1024, "{says}: after {count}");
    }
    let data = [[3, 0, 0x80, 0, 0, 0, 0, 1].as_slice(), &[0; 0x8000]].concat();
    let (count, said) = flooded(&data, true);
    assert_eq!(said, "floods the lane with bytes of streams that are over");
    assert!(count <= 256, "after {count}");
}

#[test]
fn strangers_and_other_versions_are_told_apart_at_once() {
    let first = |bytes: &[u8]| {
        let mut lane = Lane::new(End::Far, LanePreferences::default());
        lane.space()[..bytes.len()].copy_from_slice(bytes);
        lane.filled(bytes.len());
        match lane.next() {
            Ok(event) => format!("{event:?}"),
            Err(error) => error.to_string(),
        }
    };
    let hello = Lane::new(End::Near, LanePreferences::default()).unsent().to_vec();
    assert_eq!(
        first(b"GET / HTTP/1.1\r\n"),
        "does not speak the tunnel's protocol"
    );
    assert_eq!(first(b"l"), "None");
    assert_eq!(first(&[b'l'; 12]), "does not speak the tunnel's protocol");
    assert_eq!(first(&[b'l'; 8]), "None", "as long as the magic may follow");
    assert_eq!(first(&hello[..hello.len() - 1]), "None");
    assert!(first(&hello).contains("Hello"), "{}", first(&hello));
    let mut other = hello.clone();
    other[17] = 9;
    // Independent of the rest of the hello.
    other[3] = 40;
    assert_eq!(
        first(&other[..18]),
        format!("speaks version 9 of the tunnel's protocol, this longwire version {VERSION}")
    );
}
