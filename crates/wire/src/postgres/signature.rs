//! Recognises PostgreSQL by start-up, or in the middle of a connection by plausible tag, length and
//! body.

use super::checks::{is_text, plausible};
use super::messages::{error_field, messages_sent, object, transaction};
use super::shape::{STARTUP_HEADER, Shapes};
use crate::decoding::framing::{FramePlan, HeaderFault};
use crate::decoding::reader::Reader;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    let Some(&tag) = bytes.first() else {
        return Recognition::More;
    };
    match direction {
        Direction::ClientToServer if tag == 0 => startup(bytes),
        Direction::ClientToServer => tagged(bytes, direction, Shapes::client),
        Direction::ServerToClient => tagged(bytes, direction, Shapes::server),
    }
}

fn startup(bytes: &[u8]) -> Recognition {
    if bytes.get(1).is_some_and(|&byte| byte != 0) {
        return Recognition::Never;
    }
    match bytes.get(..STARTUP_HEADER) {
        None => Recognition::More,
        Some(header) if Shapes::default().client(header).is_ok() => Recognition::Certain,
        Some(_) => Recognition::Never,
    }
}

fn tagged(
    bytes: &[u8],
    direction: Direction,
    plan: fn(&Shapes, &[u8]) -> Result<FramePlan, HeaderFault>,
) -> Recognition {
    let Some(row) = bytes.first().and_then(|&tag| messages_sent(direction).find(tag)) else {
        return Recognition::Never;
    };
    let Some((header, body)) = bytes.split_at_checked(5) else {
        return Recognition::More;
    };
    let Ok(plan) = plan(&Shapes::default(), header) else {
        return Recognition::Never;
    };
    let wanted = usize::try_from(plan.body).unwrap_or(SAMPLE).min(SAMPLE);
    match body.get(..wanted) {
        None => Recognition::More,
        Some(sample) => plausible((row.check_start)(sample, plan.body)),
    }
}

pub(super) const fn any(_: &[u8], _: u64) -> bool {
    true
}

pub(super) fn query(sample: &[u8], length: u64) -> bool {
    if is_whole(sample, length) {
        ends_text(sample)
    } else {
        is_text(sample)
    }
}

pub(super) fn parse(sample: &[u8], _: u64) -> bool {
    let mut reader = Reader::new(sample);
    reader.cstr().is_none_or(is_text) && is_text(before_nul(reader.rest()))
}

pub(super) fn two_names(sample: &[u8], _: u64) -> bool {
    let mut reader = Reader::new(sample);
    reader.cstr().is_none_or(is_text) && reader.cstr().is_none_or(is_text)
}

pub(super) fn execute(sample: &[u8], length: u64) -> bool {
    let mut reader = Reader::new(sample);
    if is_whole(sample, length) {
        reader.cstr().is_some_and(is_text) && reader.left() == 4
    } else {
        is_text(sample)
    }
}

pub(super) fn describe(sample: &[u8], length: u64) -> bool {
    let mut reader = Reader::new(sample);
    if is_whole(sample, length) {
        matches!(reader.u8(), Some(object::STATEMENT | object::PORTAL)) && ends_text(reader.rest())
    } else {
        is_text(sample)
    }
}

pub(super) fn authentication(sample: &[u8], _: u64) -> bool {
    Reader::new(sample).u32_be().is_some_and(|code| code <= 12)
}

pub(super) fn setting(sample: &[u8], _: u64) -> bool {
    Reader::new(sample).cstr().is_some_and(is_text)
}

pub(super) fn command_tag(sample: &[u8], _: u64) -> bool {
    sample.first().is_some_and(u8::is_ascii_uppercase) && ends_text(sample)
}

pub(super) const fn ready(sample: &[u8], _: u64) -> bool {
    matches!(
        sample,
        [transaction::IDLE | transaction::OPEN | transaction::FAILED]
    )
}

pub(super) fn fields(sample: &[u8], _: u64) -> bool {
    sample.first() == Some(&error_field::SEVERITY)
}

pub(super) fn row_description(sample: &[u8], length: u64) -> bool {
    let columns = Reader::new(sample).u16_be();
    columns.is_some_and(|columns| length >= 2 + u64::from(columns) * 19)
}

pub(super) fn data_row(sample: &[u8], length: u64) -> bool {
    let columns = Reader::new(sample).u16_be();
    columns.is_some_and(|columns| length >= 2 + u64::from(columns) * 4)
}

pub(super) fn copy_response(sample: &[u8], _: u64) -> bool {
    matches!(sample.first(), Some(0 | 1))
}

const fn is_whole(sample: &[u8], length: u64) -> bool {
    sample.len() as u64 == length
}

fn before_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn ends_text(bytes: &[u8]) -> bool {
    bytes
        .split_last()
        .is_some_and(|(&last, text)| last == 0 && is_text(text))
}

const SAMPLE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::recognition::assert_verdicts;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn verdicts_do_not_change_with_more_bytes() {
        let samples: [(Direction, &[u8], Recognition); 9] = [
            (
                ClientToServer,
                b"\0\0\0\x08\x04\xd2\x16\x2f",
                Recognition::Certain,
            ),
            (
                ClientToServer,
                b"\0\0\0\x11\0\x03\0\0user\0me\0\0",
                Recognition::Certain,
            ),
            (
                ClientToServer,
                b"Q\0\0\0\x0dselect 1\0S\0\0\0\x04",
                Recognition::Plausible,
            ),
            (
                ClientToServer,
                b"P\0\0\0\x10\0select 1\0\0\0",
                Recognition::Plausible,
            ),
            (ClientToServer, b"POST / HTTP/1.1\r\n", Recognition::Never),
            (ClientToServer, b"\0\x3a\0\0\x01\0\0\0", Recognition::Never),
            (ServerToClient, b"Z\0\0\0\x05I", Recognition::Plausible),
            (
                ServerToClient,
                b"D\0\0\0\x0b\0\x01\0\0\0\x01x",
                Recognition::Plausible,
            ),
            (ServerToClient, b"SSH-2.0-OpenSSH\r\n", Recognition::Never),
        ];
        assert_verdicts(recognise, &samples);
    }
}
