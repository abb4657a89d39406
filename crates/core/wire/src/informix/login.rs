//! Login packets and the client's environment, restricted to harmless content.
//!
//! A login packet holds user, password, host and directories. Only the client's program, the
//! server's version and settings in [`TOLD`] are extracted. Reading stops at the first unexpected
//! field.

use super::scan::REJECT;
use super::{HalfConnection, Session};
use crate::decoding::decoder::MessageSink;
use crate::decoding::reader::Reader;
use model::{Content, Message, Role};
use std::fmt::Write;

impl Session {
    pub(super) fn login_request(&mut self, half: &HalfConnection, body: &[u8], sink: &mut MessageSink<'_>) {
        let mut parts = Parts::new(half, self.phase());
        self.program.clear();
        if let Some(mut fields) = behind_password(body) {
            parts.settings(&mut fields, sink);
            if let Some(program) = program(fields) {
                self.program = program;
            }
        }
        if !self.program.is_empty() {
            let text = self.program.as_bytes();
            parts.part(0, Content::Client { text }, sink);
        }
        parts.rest(Role::Request, sink);
        self.requested();
    }

    pub(super) fn login_answer(
        &mut self,
        half: &HalfConnection,
        kind: u8,
        body: &[u8],
        sink: &mut MessageSink<'_>,
    ) {
        let phase = self.phase();
        let role = self.answered();
        let mut number = String::new();
        let content = match (answer(body), kind) {
            (Some(answer), REJECT) => {
                let _ = write!(number, "{}", answer.error);
                Content::Error {
                    code: number.as_bytes(),
                    text: b"",
                }
            }
            (Some(answer), _) => Content::ServerVersion { text: answer.version },
            (None, _) => Content::Other,
        };
        sink(&half.message(role, phase, content));
    }

    pub(super) fn environment(&mut self, half: &HalfConnection, body: &[u8], sink: &mut MessageSink<'_>) {
        let mut parts = Parts::new(half, self.phase());
        let mut fields = Reader::new(body);
        if fields.u16_be() == Some(ENVIRONMENT)
            && let Some(length) = fields.u16_be()
        {
            let block = fields.sub(length.into()).unwrap_or(fields);
            parts.environment(block, sink);
        }
        parts.rest(Role::RequestPart, sink);
    }
}

/// Emits a message in parts, each with its share of the bytes.
struct Parts<'l> {
    whole: Message<'l>,
    left: u64,
}

impl<'l> Parts<'l> {
    fn new(half: &HalfConnection, phase: model::Phase) -> Self {
        let whole = half.message(Role::RequestPart, phase, Content::Other);
        Self {
            left: whole.bytes,
            whole,
        }
    }

    fn part(&mut self, bytes: u64, content: Content<'_>, sink: &mut MessageSink<'_>) {
        let bytes = bytes.min(self.left);
        self.left -= bytes;
        sink(&Message {
            bytes,
            content,
            ..self.whole
        });
    }

    fn rest(self, role: Role, sink: &mut MessageSink<'_>) {
        sink(&Message {
            bytes: self.left,
            role,
            ..self.whole
        });
    }

    fn setting(&mut self, name: &[u8], value: &[u8], sink: &mut MessageSink<'_>) {
        if TOLD.contains(&name) && value.len() <= MAXIMUM_VALUE {
            let bytes = (name.len() + value.len()) as u64;
            self.part(bytes, Content::Parameter { name, value }, sink);
        }
    }

    fn settings(&mut self, fields: &mut Reader<'_>, sink: &mut MessageSink<'_>) {
        let Some(count) = fields.u16_be() else { return };
        for _ in 0..count {
            let (Some(name), Some(value)) = (text(fields), text(fields)) else {
                return;
            };
            self.setting(name, value, sink);
        }
    }

    /// The environment after the login: names and values with two bytes of length, padded to be
    /// even.
    fn environment(&mut self, mut block: Reader<'_>, sink: &mut MessageSink<'_>) {
        block.take_bytes(4); // the longest name and value
        while let (Some(name @ [_, ..]), Some(value)) = (padded(&mut block), padded(&mut block)) {
            self.setting(name, value, sink);
        }
    }
}

/// Skips the password of the client's packet; the number of settings is next.
fn behind_password(body: &[u8]) -> Option<Reader<'_>> {
    let mut fields = Reader::new(body);
    begin(&mut fields)?;
    fields.take_bytes(12)?; // three numbers
    (fields.u16_be()? == 1).then_some(())?;
    text(&mut fields)?; // user
    text(&mut fields)?; // password
    fields.take_bytes(8 + 4 + 8 + 4)?; // how it is connected
    tag(&mut fields, 104)?;
    fields.take_bytes(2 + 4)?;
    text(&mut fields)?; // server
    text(&mut fields)?; // database
    fields.take_bytes(4 * 2)?;
    tag(&mut fields, 106)?;
    Some(fields)
}

/// Skips the common beginning of both packets. Returns the first text with a version.
fn begin<'a>(fields: &mut Reader<'a>) -> Option<&'a [u8]> {
    fields.take_bytes(4)?; // type, protocol, flags
    tag(fields, 100)?;
    tag(fields, 101)?;
    fields.take_bytes(4)?;
    text(fields)?; // form of floating-point numbers
    tag(fields, 108)?;
    fields.take_bytes(12)?; // what is asked for
    let version = text(fields)?;
    text(fields)?; // serial number
    text(fields)?; // protocol
    Some(version)
}

/// The program after the settings, without directory and host.
fn program(mut fields: Reader<'_>) -> Option<String> {
    tag(&mut fields, 107)?;
    fields.take_bytes(12)?; // process and thread
    text(&mut fields)?; // host
    fields.take_bytes(2)?;
    text(&mut fields)?; // directory
    tag(&mut fields, 116)?;
    fields.take_bytes(2 + 8)?;
    let told = String::from_utf8_lossy(text(&mut fields)?);
    let file = |path: &str| {
        let path = path.trim_end_matches(']');
        let name = path.rsplit(['/', '\\', ':']).next().unwrap_or_default();
        name.split(['@', ' ']).next().unwrap_or_default().to_owned()
    };
    // IBM's JDBC driver reports its thread and the location of its archive.
    if told.starts_with("Thread[") {
        let jar = file(&told);
        return Some(match jar.strip_suffix(".jar") {
            Some(name) => format!("IBM Informix JDBC ({name})"),
            None => "IBM Informix JDBC".to_owned(),
        });
    }
    Some(file(&told)).filter(|program| !program.is_empty())
}

struct Answer<'a> {
    version: &'a [u8],
    /// Reason of a refusal, or 0 if the login is accepted.
    error: i16,
}

fn answer(body: &[u8]) -> Option<Answer<'_>> {
    let mut fields = Reader::new(body);
    let version = begin(&mut fields)?;
    Some(Answer {
        version,
        error: refusal(fields).unwrap_or(0),
    })
}

fn refusal(mut fields: Reader<'_>) -> Option<i16> {
    fields.take_bytes(12 + 2)?; // what the server can
    for _ in 0..2 {
        text(&mut fields)?;
    }
    fields.take_bytes(24)?;
    tag(&mut fields, 102)?;
    fields.take_bytes(6)?;
    fields.u16_be().map(u16::cast_signed)
}

fn tag(fields: &mut Reader<'_>, expected: u16) -> Option<()> {
    (fields.u16_be()? == expected).then_some(())
}

/// Two bytes of length, and a text with its NUL in that length; an empty one has none.
fn text<'a>(fields: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = fields.u16_be()?;
    let text = fields.take_bytes(length.into())?;
    Some(text.strip_suffix(&[0]).unwrap_or(text))
}

fn padded<'a>(fields: &mut Reader<'a>) -> Option<&'a [u8]> {
    let length = usize::from(fields.u16_be()?);
    let text = fields.take_bytes(length)?;
    fields.take_bytes(length % 2)?;
    Some(text)
}

/// Settings to report, for fetching of rows, formats of texts and dates. None holds a name, a place
/// or a secret.
const TOLD: [&[u8]; 14] = [
    b"FET_BUF_SIZE",
    b"BIG_FET_BUF_SIZE",
    b"OPTOFC",
    b"IFX_AUTOFREE",
    b"OPTMSG",
    b"CLIENT_LOCALE",
    b"DB_LOCALE",
    b"DBDATE",
    b"GL_DATE",
    b"DBTIME",
    b"GL_DATETIME",
    b"DELIMIDENT",
    b"LOBCACHE",
    b"OPTCOMPIND",
];
const MAXIMUM_VALUE: usize = 64;
const ENVIRONMENT: u16 = 6;
