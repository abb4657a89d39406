//! TLS decoder that counts records, and tells the round trips of a handshake apart.
//!
//! Source: RFC 8446 (TLS 1.3) and RFC 5246 (TLS 1.2). Largest record: 2^14 bytes plus the overhead
//! of encryption.
//!
//! - The `ClientHello` is a request; the server's flight is its reply. A flight ends when the
//!   client speaks next, so its last record is emitted only then.
//! - Up to TLS 1.2 the client's `Finished` requests the server's, unless the server's came first
//!   (resumption).
//! - In TLS 1.3 the client's `Finished` has no answer, and records of the server before the
//!   client's first data (`NewSessionTicket`) are unrequested. A first greeting may have the form
//!   of SSL 2 (RFC 5246 appendix E.2).
//! - After the handshake a record is opaque: exchanges follow the changes of direction. An alert
//!   takes part in none. TLS 1.3 hides alerts in a data record of 2 bytes, so data of exactly 2
//!   bytes are mistaken for one.

mod hello;
mod meter;
mod opened;
mod opening;

pub(crate) use opened::OpenedTlsDecoder;

use crate::decoding::decoder::{DecodeError, Decoder, MessageSink};
use crate::decoding::framing::{Frame, FramePlan, Framer, HeaderFault, Input};
use crate::decoding::reader::Reader;
use crate::decoding::resume::{MessageShape, Resumption, find};
use crate::protocols::ProtocolRow;
use hello::{ServerHello, server_hello};
use model::{Content, Direction, Message, PerDirection, Phase, Protocol, Role, Timestamp};

pub const ROW: ProtocolRow = ProtocolRow::new(
    Protocol::Tls,
    |openings, direction| opening::opens(direction, openings[direction]),
    |_| Box::new(TlsDecoder::new()),
);

/// Decodes the records of one connection. Holds at most 4 KiB of an unfinished record per
/// direction.
#[derive(Debug)]
pub struct TlsDecoder {
    client: Framer,
    server: Framer,
    handshake: Handshake,
}

#[derive(Debug)]
struct Handshake {
    stage: HandshakePhase,
    hello_left: u64,
    client_changed_cipher: bool,
    server_changed_cipher: bool,
    /// Types of records are hidden once encrypted.
    version_13: bool,
    lost: PerDirection<bool>,
    /// Last record of the server's flight. The next speaker shows whether the flight has ended.
    held: Option<Record>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HandshakePhase {
    /// Before the first record.
    Start,
    /// The client has greeted; the server has not, or has requested another greeting.
    Greeted,
    /// The server chose TLS 1.2 or older.
    Old,
    /// The server chose TLS 1.3.
    New,
    /// TLS 1.3 after the client's last flight began, without data of the client.
    NewFinishing { finished: bool },
    /// Application data is flowing.
    Done,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    started: Timestamp,
    ended: Timestamp,
    bytes: u64,
}

impl TlsDecoder {
    pub fn new() -> Self {
        Self {
            client: Framer::new(NAME, Direction::ClientToServer),
            server: Framer::new(NAME, Direction::ServerToClient),
            handshake: Handshake {
                stage: HandshakePhase::Start,
                hello_left: 0,
                client_changed_cipher: false,
                server_changed_cipher: false,
                version_13: false,
                lost: PerDirection::splat(false),
                held: None,
            },
        }
    }
}

impl Default for TlsDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder for TlsDecoder {
    fn process_input(
        &mut self,
        direction: Direction,
        mut input: Input<'_>,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), DecodeError> {
        let framer = match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        };
        loop {
            let is_first = self.handshake.is_first(direction);
            let frame = match framer.next(&mut input, RECORD_HEADER, |header| plan_at(is_first, header)) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(()),
                Err(error) => {
                    if direction == Direction::ServerToClient {
                        // The position is lost, so the held record is the last one of its flight.
                        self.handshake.flush_role(Role::Reply, sink);
                    }
                    return Err(error);
                }
            };
            let kind = kind_of(&frame);
            match direction {
                Direction::ClientToServer => self.handshake.client(kind, &frame, sink),
                Direction::ServerToClient => self.handshake.server(kind, &frame, sink),
            }
        }
    }

    fn pending(&self, direction: Direction) -> u64 {
        match direction {
            Direction::ClientToServer => self.client.pending(),
            Direction::ServerToClient => {
                self.server.pending() + self.handshake.held.map_or(0, |held| held.bytes)
            }
        }
    }

    fn finish(&mut self, sink: &mut MessageSink<'_>) {
        self.handshake.flush_role(Role::Reply, sink);
    }

    fn find(&self, _: Direction, bytes: &[u8], whole: bool) -> Resumption {
        find_record(bytes, whole)
    }

    fn desync(&mut self, direction: Direction) {
        self.handshake.lose_flight(direction);
    }

    fn restart(&mut self, direction: Direction) -> bool {
        match direction {
            Direction::ClientToServer => self.client.restart(),
            Direction::ServerToClient => self.server.restart(),
        }
        true
    }
}

impl Handshake {
    fn is_first(&self, direction: Direction) -> bool {
        self.stage == HandshakePhase::Start && direction == Direction::ClientToServer
    }

    fn lose_flight(&mut self, direction: Direction) {
        self.lost[direction] = true;
        if direction == Direction::ClientToServer {
            self.lose_client_flight();
        }
    }

    /// Handshake bytes of the client were lost: assumes the client's flight is complete.
    const fn lose_client_flight(&mut self) {
        match self.stage {
            HandshakePhase::Old => self.client_changed_cipher = true,
            HandshakePhase::New | HandshakePhase::NewFinishing { .. } => {
                self.stage = HandshakePhase::NewFinishing { finished: true }
            }
            HandshakePhase::Start | HandshakePhase::Greeted | HandshakePhase::Done => {}
        }
    }

    /// Handshake bytes of the server were lost: the client's next record shows which.
    const fn infer_server_flight(&mut self, kind: u8) {
        self.stage = match (self.stage, kind) {
            (HandshakePhase::Greeted, HANDSHAKE) => HandshakePhase::Old,
            (HandshakePhase::Greeted, CHANGE_CIPHER | DATA) => HandshakePhase::New,
            (HandshakePhase::Old, DATA) => HandshakePhase::Done,
            (stage, _) => stage,
        };
        self.version_13 |= matches!(self.stage, HandshakePhase::New);
    }

    fn client(&mut self, kind: u8, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        self.flush_role(Role::Reply, sink);
        if self.lost[Direction::ServerToClient] {
            self.infer_server_flight(kind);
        }
        let role = match (self.stage, kind) {
            (HandshakePhase::Start | HandshakePhase::Greeted, HANDSHAKE) => self.client_hello(frame),
            (HandshakePhase::Greeted, CHANGE_CIPHER) => Role::RequestPart,
            (HandshakePhase::Start | HandshakePhase::Greeted, _) => {
                if self.stage == HandshakePhase::Start {
                    self.stage = HandshakePhase::Done;
                }
                Role::Opaque
            }
            (HandshakePhase::Old, CHANGE_CIPHER) => {
                self.client_changed_cipher = true;
                if self.server_changed_cipher {
                    Role::OneWay
                } else {
                    Role::RequestPart
                }
            }
            (HandshakePhase::Old, HANDSHAKE) => self.old_flight(),
            (HandshakePhase::New, CHANGE_CIPHER) => Role::OneWay,
            (HandshakePhase::New, DATA) | (HandshakePhase::NewFinishing { finished: false }, DATA) => {
                self.stage = HandshakePhase::NewFinishing {
                    finished: FINISHED_RECORDS.contains(&frame.bytes),
                };
                Role::OneWay
            }
            (HandshakePhase::NewFinishing { .. }, DATA) => {
                self.stage = HandshakePhase::Done;
                Role::Opaque
            }
            (_, ALERT) => Role::OneWay,
            (HandshakePhase::Done, DATA) if self.is_hidden_alert(frame) => Role::OneWay,
            (
                HandshakePhase::Old
                | HandshakePhase::New
                | HandshakePhase::NewFinishing { .. }
                | HandshakePhase::Done,
                _,
            ) => Role::Opaque,
        };
        let phase = match (role, self.stage, kind) {
            (Role::Opaque, ..) => Phase::Work,
            (Role::OneWay, HandshakePhase::Done, ALERT | DATA) => Phase::Close,
            _ => Phase::Tls,
        };
        sink(&message(
            Record::from_frame(frame),
            Direction::ClientToServer,
            role,
            phase,
        ));
    }

    fn client_hello(&mut self, frame: &Frame<'_>) -> Role {
        self.stage = HandshakePhase::Greeted;
        if is_old_greeting(frame.header) {
            return Role::Request;
        }
        let fragment = frame.bytes - RECORD_HEADER as u64;
        if self.hello_left == 0 {
            let mut reader = Reader::new(frame.body);
            let (_, length) = (reader.u8(), reader.u24_be());
            self.hello_left = 4 + u64::from(length.unwrap_or(0));
        }
        self.hello_left = self.hello_left.saturating_sub(fragment);
        if self.hello_left == 0 {
            Role::Request
        } else {
            Role::RequestPart
        }
    }

    /// Up to TLS 1.2 the client's flight ends with the `Finished` after its change of cipher.
    fn old_flight(&mut self) -> Role {
        match (self.client_changed_cipher, self.server_changed_cipher) {
            (false, _) => Role::RequestPart,
            (true, false) => Role::Request,
            (true, true) => {
                self.stage = HandshakePhase::Done;
                Role::OneWay
            }
        }
    }

    fn server(&mut self, kind: u8, frame: &Frame<'_>, sink: &mut MessageSink<'_>) {
        if self.lost[Direction::ClientToServer] {
            self.flush_role(Role::Reply, sink);
        }
        if self.stage == HandshakePhase::Greeted && kind == HANDSHAKE {
            match server_hello(frame.body) {
                Some(ServerHello::Retry) | None => {}
                Some(ServerHello::Version12OrOlder) => self.stage = HandshakePhase::Old,
                Some(ServerHello::Version13) => {
                    self.stage = HandshakePhase::New;
                    self.version_13 = true;
                }
            }
        }
        let (role, phase) = match self.stage {
            HandshakePhase::Start => {
                self.stage = HandshakePhase::Done;
                (Role::Opaque, Phase::Work)
            }
            HandshakePhase::Old if self.client_changed_cipher && !self.server_changed_cipher => {
                self.server_changed_cipher = kind == CHANGE_CIPHER;
                (Role::ReplyPart, Phase::Tls)
            }
            HandshakePhase::Old if self.client_changed_cipher => {
                self.stage = HandshakePhase::Done;
                (Role::Reply, Phase::Tls)
            }
            HandshakePhase::Greeted | HandshakePhase::Old | HandshakePhase::New => {
                self.server_changed_cipher |= self.stage == HandshakePhase::Old && kind == CHANGE_CIPHER;
                self.flush_role(Role::ReplyPart, sink);
                self.held = Some(Record::from_frame(frame));
                return;
            }
            HandshakePhase::NewFinishing { .. } => {
                self.stage = HandshakePhase::NewFinishing { finished: true };
                (Role::Notice, Phase::Tls)
            }
            HandshakePhase::Done if kind == ALERT || self.is_hidden_alert(frame) => {
                (Role::Notice, Phase::Close)
            }
            HandshakePhase::Done => (Role::Opaque, Phase::Work),
        };
        sink(&message(
            Record::from_frame(frame),
            Direction::ServerToClient,
            role,
            phase,
        ));
    }

    fn is_hidden_alert(&self, frame: &Frame<'_>) -> bool {
        self.version_13 && frame.bytes == HIDDEN_ALERT
    }

    fn flush_role(&mut self, role: Role, sink: &mut MessageSink<'_>) {
        if let Some(held) = self.held.take() {
            sink(&message(held, Direction::ServerToClient, role, Phase::Tls));
        }
    }
}

impl Record {
    const fn from_frame(frame: &Frame<'_>) -> Self {
        Self {
            started: frame.started,
            ended: frame.ended,
            bytes: frame.bytes,
        }
    }
}

const fn message(record: Record, direction: Direction, role: Role, phase: Phase) -> Message<'static> {
    Message {
        stream: 0,
        protocol: Protocol::Tls,
        direction,
        started: record.started,
        ended: record.ended,
        bytes: record.bytes,
        role,
        phase,
        content: Content::Other,
    }
}

fn find_record(bytes: &[u8], whole: bool) -> Resumption {
    find(bytes, whole, |bytes, _| match bytes.get(..RECORD_HEADER) {
        None if matches!(
            bytes,
            [CHANGE_CIPHER..=HEARTBEAT] | [CHANGE_CIPHER..=HEARTBEAT, 3, ..]
        ) =>
        {
            MessageShape::Cut
        }
        None => MessageShape::Wrong,
        Some(header) => match plan(header) {
            Ok(plan) if header.get(2) <= Some(&LATEST_VERSION) && plan.body > 0 => {
                MessageShape::Sure(RECORD_HEADER + usize::try_from(plan.body).unwrap_or(usize::MAX))
            }
            Ok(_) | Err(_) => MessageShape::Wrong,
        },
    })
}

/// Like `plan`, for a possible first record of a client, which may have the form of SSL 2.
fn plan_at(is_first: bool, header: &[u8]) -> Result<FramePlan, HeaderFault> {
    match header {
        [high, low, ..] if is_first && is_old_greeting(header) => {
            let length = u64::from(u16::from_be_bytes([high & 0x7f, *low]));
            // The length includes version and type.
            let body = (length + 2).saturating_sub(RECORD_HEADER as u64);
            Ok(FramePlan {
                body,
                keep: HELLO_LIMIT,
            })
        }
        _ => plan(header),
    }
}

/// Whether a header is a `ClientHello` in the form of SSL 2, for TLS: the top bit of a length, type
/// 1, version 3.x.
fn is_old_greeting(header: &[u8]) -> bool {
    matches!(header, [0x80..=0xff, _, 1, 3, 0..=3, ..])
}

fn kind_of(frame: &Frame<'_>) -> u8 {
    match frame.header.first() {
        Some(_) if is_old_greeting(frame.header) => HANDSHAKE,
        kind => kind.copied().unwrap_or(0),
    }
}

fn plan(header: &[u8]) -> Result<FramePlan, HeaderFault> {
    let mut reader = Reader::new(header);
    let (kind, major, _, length) = (reader.u8(), reader.u8(), reader.u8(), reader.u16_be());
    let (Some(kind), Some(3), Some(length)) = (kind, major, length) else {
        return Err(HeaderFault {
            expected: "version 3 of a record",
            found: major.unwrap_or(0).to_string(),
        });
    };
    if !(CHANGE_CIPHER..=HEARTBEAT).contains(&kind) {
        return Err(HeaderFault {
            expected: "the type of a record (20 to 24)",
            found: kind.to_string(),
        });
    }
    if length > MAXIMUM_RECORD {
        return Err(HeaderFault {
            expected: "a record of at most 18432 bytes",
            found: length.to_string(),
        });
    }
    Ok(FramePlan {
        body: u64::from(length),
        keep: if kind == HANDSHAKE { HELLO_LIMIT } else { 0 },
    })
}

const NAME: &str = "tls";
const RECORD_HEADER: usize = 5;

const CHANGE_CIPHER: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const HEARTBEAT: u8 = 24;

/// Version of TLS 1.2, which records of TLS 1.3 have too.
const LATEST_VERSION: u8 = 3;

/// 2^14 bytes, and 2048 that encryption up to TLS 1.2 may add (RFC 5246 section 6.2.3).
const MAXIMUM_RECORD: u16 = 16 * 1024 + 2048;

/// Inspected part of a handshake record: a `ServerHello` with a post-quantum key share fits.
const HELLO_LIMIT: usize = 4096;

/// A record of a `Finished` alone: header, message header, hash of 32 or 48 bytes, content type,
/// tag. The larger ones hold an empty `Certificate` of 8 bytes before it, the answer to a server's
/// request for one.
const FINISHED_RECORDS: [u64; 4] = [
    5 + 4 + 32 + 1 + 16,
    5 + 4 + 48 + 1 + 16,
    5 + 8 + 4 + 32 + 1 + 16,
    5 + 8 + 4 + 48 + 1 + 16,
];

/// A record of a TLS 1.3 alert alone: header, alert, content type, tag.
const HIDDEN_ALERT: u64 = 5 + 2 + 1 + 16;
