//! Calls of a client: batches, procedures by name or number, requests to the transaction manager.
//!
//! Source: MS-TDS 2.2.6.6 (RPC), 2.2.6.7 (batch), 2.2.6.9 (transaction manager); the manual of SQL
//! Server, "Cursor stored procedures", for the parameters of procedures that prepare and fetch.

use super::types::{self, Of, shape, short_name};
use super::utf16;
use crate::decoding::reader::Reader;
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Statement(String),
    /// Prepares a text; the server returns a handle of that kind.
    Prepare {
        text: String,
        returns: Returns,
    },
    PrepareAndExecute {
        text: String,
        returns: Returns,
        rows: Option<u32>,
    },
    Execute {
        of: Handle,
        returns: Returns,
        rows: Option<u32>,
    },
    Fetch {
        of: Handle,
        rows: Option<u32>,
    },
    Close,
    Other,
}

/// A call, and the place of its parameters in the request, without the text or the handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    pub call: Call,
    pub values: Range<usize>,
}

/// The server's number of a prepared statement or a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Handle {
    Prepared(u32),
    Cursor(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Returns {
    #[default]
    Nothing,
    Prepared,
    Cursor,
    PreparedAndCursor,
}

pub(super) fn batch(request: &[u8]) -> Call {
    Call::Statement(utf16::text(behind_headers(request)))
}

pub(super) fn transaction(request: &[u8]) -> Call {
    let words = match Reader::new(behind_headers(request)).u16_le() {
        Some(5) => "begin transaction",
        Some(7) => "commit transaction",
        Some(8) => "rollback transaction",
        Some(9) => "save transaction",
        Some(_) | None => return Call::Other,
    };
    Call::Statement(words.to_owned())
}

pub(super) fn procedures(request: &[u8]) -> Vec<Asked> {
    let mut reader = Reader::new(behind_headers(request));
    let mut calls = Vec::new();
    while !reader.is_empty() && calls.len() < MAX_CALLS {
        let Some((asked, has_more)) = procedure(&mut reader, request.len()) else {
            break;
        };
        calls.push(asked);
        if !has_more {
            break;
        }
    }
    if calls.is_empty() {
        calls.push(Asked {
            call: Call::Other,
            values: 0..0,
        });
    }
    calls
}

/// Skips the headers of clients since TDS 7.2: a length, and headers with their own lengths.
fn behind_headers(request: &[u8]) -> &[u8] {
    headers(request).unwrap_or(request)
}

fn headers(request: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(request);
    let all = usize::try_from(reader.u32_le()?).ok()?;
    let first = usize::try_from(reader.u32_le()?).ok()?;
    let kind = reader.u16_le()?;
    let fits = (1..=3).contains(&kind) && first >= 6 && first + 4 <= all;
    fits.then(|| request.get(all..)).flatten()
}

/// Returns a call of a request of `length` bytes, and whether another follows. A truncated call
/// lacks its later parameters.
fn procedure(reader: &mut Reader<'_>, length: usize) -> Option<(Asked, bool)> {
    let name = match reader.u16_le()? {
        BY_NUMBER => Name::of_number(reader.u16_le()?),
        units => Name::of_text(utf16::text(reader.take_bytes(usize::from(units) * 2)?)),
    };
    reader.u16_le()?;
    let mut parameters = Vec::new();
    let mut begin = length - reader.left();
    let mut end = length;
    let mut has_more = false;
    while let Some(&next) = reader.rest().first() {
        if matches!(next, ANOTHER | ANOTHER_BEFORE | ANOTHER_NOT_EXECUTED) {
            end = length - reader.left();
            reader.u8();
            has_more = true;
            break;
        }
        match parameter(reader, name.takes_text_at(parameters.len())) {
            Some(parameter) => parameters.push(parameter),
            None => break,
        }
        if parameters.len() <= name.before_values() {
            begin = length - reader.left();
        }
    }
    let values = begin..end;
    let call = name.call(&parameters);
    Some((Asked { call, values }, has_more))
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Parameter {
    Number(u32),
    Text(String),
    Other,
}

fn parameter(reader: &mut Reader<'_>, wants_text: bool) -> Option<Parameter> {
    short_name(reader)?;
    reader.u8()?;
    let (code, shape) = shape(reader, Of::Parameter)?;
    let rest = *reader;
    let value = match types::value(reader, shape, Of::Parameter) {
        Some(Some(value)) => value,
        Some(None) => return Some(Parameter::Other),
        None => rest
            .rest()
            .get(BEFORE_CUT_TEXT..)
            .filter(|_| wants_text)?
            .to_vec(),
    };
    Some(match (types::is_text_16(code), types::is_text_8(code)) {
        (true, _) if wants_text => Parameter::Text(utf16::text(&value)),
        (_, true) if wants_text => Parameter::Text(String::from_utf8_lossy(&value).into_owned()),
        _ => <[u8; 4]>::try_from(value).map_or(Parameter::Other, |bytes| {
            Parameter::Number(u32::from_le_bytes(bytes))
        }),
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    CursorOpen,
    CursorPrepare,
    CursorExecute,
    CursorPrepareAndExecute,
    CursorFetch,
    ExecuteText,
    Prepare,
    Execute,
    PrepareAndExecute,
    Close,
    Service,
    Procedure(String),
}

impl Name {
    fn of_number(number: u16) -> Self {
        match number {
            2 => Self::CursorOpen,
            3 => Self::CursorPrepare,
            4 => Self::CursorExecute,
            5 => Self::CursorPrepareAndExecute,
            7 => Self::CursorFetch,
            6 | 9 | 15 => Self::Close,
            10 => Self::ExecuteText,
            11 => Self::Prepare,
            12 => Self::Execute,
            13 => Self::PrepareAndExecute,
            _ => Self::Service,
        }
    }

    fn of_text(name: String) -> Self {
        let bare = name.rsplit('.').next().unwrap_or(&name).to_ascii_lowercase();
        match bare.as_str() {
            "sp_cursoropen" => Self::CursorOpen,
            "sp_cursorprepare" => Self::CursorPrepare,
            "sp_cursorexecute" => Self::CursorExecute,
            "sp_cursorprepexec" => Self::CursorPrepareAndExecute,
            "sp_cursorfetch" => Self::CursorFetch,
            "sp_executesql" => Self::ExecuteText,
            "sp_prepare" => Self::Prepare,
            "sp_execute" => Self::Execute,
            "sp_prepexec" => Self::PrepareAndExecute,
            "sp_cursorclose" | "sp_cursorunprepare" | "sp_unprepare" => Self::Close,
            "sp_cursor" | "sp_cursoroption" => Self::Service,
            _ => Self::Procedure(name),
        }
    }

    const fn takes_text_at(&self, place: usize) -> bool {
        match self {
            Self::ExecuteText => place == 0,
            Self::CursorOpen => place == 1,
            Self::Prepare | Self::PrepareAndExecute | Self::CursorPrepare => place == 2,
            Self::CursorPrepareAndExecute => place == 3,
            Self::CursorExecute
            | Self::CursorFetch
            | Self::Execute
            | Self::Close
            | Self::Service
            | Self::Procedure(_) => false,
        }
    }

    const fn before_values(&self) -> usize {
        match self {
            Self::ExecuteText | Self::Execute => 1,
            Self::CursorOpen | Self::Prepare | Self::PrepareAndExecute | Self::CursorPrepare => 3,
            Self::CursorPrepareAndExecute => 4,
            Self::CursorExecute | Self::CursorFetch => 2,
            Self::Close | Self::Service | Self::Procedure(_) => 0,
        }
    }

    fn call(self, parameters: &[Parameter]) -> Call {
        let number = |place: usize| match parameters.get(place) {
            Some(Parameter::Number(number)) => Some(*number),
            _ => None,
        };
        let rows = |place: usize| number(place).filter(|rows| (1..MAX_ROWS).contains(rows));
        let text = parameters
            .iter()
            .enumerate()
            .find_map(|(place, parameter)| match parameter {
                Parameter::Text(text) if self.takes_text_at(place) => Some(text.clone()),
                Parameter::Text(_) | Parameter::Number(_) | Parameter::Other => None,
            });
        let prepared = || number(0).map(Handle::Prepared);
        let found = match self {
            Self::Procedure(name) => Some(text_with_values(format!("exec {name}"), !parameters.is_empty())),
            Self::ExecuteText => text.map(|text| text_with_values(text, parameters.len() > 1)),
            Self::Prepare | Self::CursorPrepare => text.map(|text| Call::Prepare {
                text,
                returns: Returns::Prepared,
            }),
            Self::PrepareAndExecute => text.map(|text| Call::PrepareAndExecute {
                text,
                returns: Returns::Prepared,
                rows: None,
            }),
            Self::CursorOpen => text.map(|text| Call::PrepareAndExecute {
                text,
                returns: Returns::Cursor,
                rows: rows(4),
            }),
            Self::CursorPrepareAndExecute => text.map(|text| Call::PrepareAndExecute {
                text,
                returns: Returns::PreparedAndCursor,
                rows: rows(7),
            }),
            Self::Execute => prepared().map(|of| Call::Execute {
                of,
                returns: Returns::Nothing,
                rows: None,
            }),
            Self::CursorExecute => prepared().map(|of| Call::Execute {
                of,
                returns: Returns::Cursor,
                rows: rows(4),
            }),
            Self::CursorFetch => number(0)
                .map(Handle::Cursor)
                .map(|of| Call::Fetch { of, rows: rows(3) }),
            Self::Close => Some(Call::Close),
            Self::Service => None,
        };
        found.unwrap_or(Call::Other)
    }
}

/// A text that runs at once; with parameters it counts as prepared.
fn text_with_values(text: String, has_values: bool) -> Call {
    if has_values {
        Call::PrepareAndExecute {
            text,
            returns: Returns::Nothing,
            rows: None,
        }
    } else {
        Call::Statement(text)
    }
}

/// Stands for the length of a name: a number follows.
const BY_NUMBER: u16 = 0xffff;
/// Separates calls of a request: since TDS 7.2, before it, and for one that is not to run.
const ANOTHER: u8 = 0xff;
const ANOTHER_BEFORE: u8 = 0x80;
const ANOTHER_NOT_EXECUTED: u8 = 0xfe;
const MAX_CALLS: usize = 10_000;
const MAX_ROWS: u32 = 0x7fff_ffff;
const BEFORE_CUT_TEXT: usize = 12;

#[cfg(test)]
mod tests;
