//! Strict checks of whole bodies, for a connection's first messages.

use super::codes::{error_field, object, replication, transaction};
use crate::decoding::reader::Reader;
pub(super) use crate::decoding::recognition::Recognition;
use crate::decoding::verbs::begins_statement;

const fn plausible(fits: bool) -> Recognition {
    if fits {
        Recognition::Plausible
    } else {
        Recognition::Never
    }
}

const fn certain_if(fits: bool) -> Recognition {
    if fits {
        Recognition::Certain
    } else {
        Recognition::Never
    }
}

pub(super) const fn certain(_: &[u8]) -> Recognition {
    Recognition::Certain
}

pub(super) const fn empty(body: &[u8]) -> Recognition {
    plausible(body.is_empty())
}

pub(super) const fn not_empty(body: &[u8]) -> Recognition {
    plausible(!body.is_empty())
}

pub(super) fn query(body: &[u8]) -> Recognition {
    match whole_text(body) {
        Some(text) => statement(text),
        None => Recognition::Never,
    }
}

pub(super) fn text(body: &[u8]) -> Recognition {
    plausible(whole_text(body).is_some())
}

pub(super) fn parse(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let (name, text, types) = (reader.cstr(), reader.cstr(), reader.u16_be());
    let fits =
        name.is_some_and(is_text) && types.is_some_and(|types| usize::from(types) * 4 == reader.left());
    match text.filter(|text| fits && is_text(text)) {
        Some(text) => statement(text),
        None => Recognition::Never,
    }
}

fn statement(text: &[u8]) -> Recognition {
    if begins_statement(text) {
        Recognition::Certain
    } else {
        Recognition::Plausible
    }
}

/// Portal, statement, formats, values and formats of results, to the end.
pub(super) fn bind(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let names = [reader.cstr(), reader.cstr()];
    let fits = names.into_iter().all(|name| name.is_some_and(is_text))
        && formats(&mut reader).is_some()
        && values(&mut reader).is_some()
        && formats(&mut reader).is_some();
    plausible(fits && reader.is_empty())
}

pub(super) fn execute(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    plausible(reader.cstr().is_some_and(is_text) && reader.left() == 4)
}

pub(super) fn describe(body: &[u8]) -> Recognition {
    let fits = match body.split_first() {
        Some((&(object::STATEMENT | object::PORTAL), name)) => whole_text(name).is_some(),
        _ => false,
    };
    plausible(fits)
}

pub(super) fn function_call(body: &[u8]) -> Recognition {
    plausible(Reader::new(body).u32_be().is_some())
}

pub(super) fn client_copy_data(body: &[u8]) -> Recognition {
    plausible(!(body.len() == KEEP_ALIVE && body[0] == replication::PRIMARY_KEEP_ALIVE))
}

pub(super) fn server_copy_data(body: &[u8]) -> Recognition {
    plausible(!(body.len() == STANDBY_STATUS && body[0] == replication::STANDBY_STATUS_UPDATE))
}

pub(super) fn authentication(body: &[u8]) -> Recognition {
    match (Reader::new(body).u32_be(), body.len()) {
        (Some(0 | 3), 4) => Recognition::Certain,
        (Some(2 | 7 | 9), 4) | (Some(5), 8) | (Some(6), 6) => Recognition::Plausible,
        (Some(8 | 10..=12), _) => Recognition::Plausible,
        _ => Recognition::Never,
    }
}

pub(super) fn setting(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let name = reader.cstr().filter(|name| !name.is_empty());
    plausible(name.is_some_and(is_text) && reader.cstr().is_some_and(is_text) && reader.is_empty())
}

pub(super) const fn ready(body: &[u8]) -> Recognition {
    certain_if(matches!(
        body,
        [transaction::IDLE | transaction::OPEN | transaction::FAILED]
    ))
}

/// A letter and a text each, among them severity, code and message.
pub(super) fn fields(body: &[u8]) -> Recognition {
    certain_if(has_error_fields(Reader::new(body)).is_some())
}

fn has_error_fields(mut reader: Reader<'_>) -> Option<()> {
    let (mut severity, mut code, mut message) = (false, false, false);
    loop {
        let kind = reader.u8()?;
        if kind == 0 {
            return (severity && code && message && reader.is_empty()).then_some(());
        }
        let text = reader.cstr()?;
        match kind {
            error_field::SEVERITY => severity = true,
            error_field::CODE => code = text.len() == 5 && text.iter().all(u8::is_ascii_alphanumeric),
            error_field::MESSAGE => message = true,
            kind if kind.is_ascii_alphabetic() => {}
            _ => return None,
        }
    }
}

pub(super) fn row_description(body: &[u8]) -> Recognition {
    match body {
        [0, 0] => Recognition::Plausible,
        [_, _, _, ..] => certain_if(columns(Reader::new(body)).is_some()),
        _ => Recognition::Never,
    }
}

/// Per column a name and eighteen bytes, the last two a format.
fn columns(mut reader: Reader<'_>) -> Option<()> {
    for _ in 0..reader.u16_be()? {
        is_text(reader.cstr()?).then_some(())?;
        let [.., high, low] = reader.array::<18>()?;
        (high == 0 && low <= 1).then_some(())?;
    }
    reader.is_empty().then_some(())
}

pub(super) fn data_row(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    plausible(values(&mut reader).is_some() && reader.is_empty())
}

pub(super) fn command_tag(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    plausible(reader.cstr().is_some_and(is_command) && reader.is_empty())
}

pub(super) const fn key_data(body: &[u8]) -> Recognition {
    plausible(body.len() >= 8)
}

pub(super) fn parameter_description(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let count = reader.u16_be();
    plausible(count.is_some_and(|count| usize::from(count) * 4 == reader.left()))
}

pub(super) fn copy_response(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    plausible(matches!(reader.u8(), Some(0 | 1)) && formats(&mut reader).is_some() && reader.is_empty())
}

pub(super) fn notification(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    plausible(reader.u32_be().is_some() && reader.cstr().is_some_and(is_text) && reader.cstr().is_some())
}

pub(super) fn version(body: &[u8]) -> Recognition {
    let version = Reader::new(body).u32_be();
    plausible(version.is_some_and(|version| version >> 16 == 3 || version < 100))
}

pub(super) fn function_result(body: &[u8]) -> Recognition {
    let mut reader = Reader::new(body);
    let length = reader.u32_be();
    plausible(length.is_some_and(|length| length == u32::MAX || length as usize == reader.left()))
}

fn formats(reader: &mut Reader<'_>) -> Option<()> {
    for _ in 0..reader.u16_be()? {
        (reader.u16_be()? <= 1).then_some(())?;
    }
    Some(())
}

fn values(reader: &mut Reader<'_>) -> Option<()> {
    for _ in 0..reader.u16_be()? {
        let length = reader.u32_be()?;
        if length != u32::MAX {
            reader.take_bytes(usize::try_from(length).ok()?)?;
        }
    }
    Some(())
}

fn is_command(tag: &[u8]) -> bool {
    tag.first().is_some_and(u8::is_ascii_uppercase)
        && tag
            .iter()
            .all(|&byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || matches!(byte, b' ' | b'_'))
}

fn whole_text(body: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::new(body);
    reader.cstr().filter(|text| reader.is_empty() && is_text(text))
}

pub(super) fn is_text(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'))
}

/// Body lengths of replication messages, which only the other side sends.
const KEEP_ALIVE: usize = 18;
const STANDBY_STATUS: usize = 34;
