//! Fields of heads that tell which dialect a connection has, and whether a request failed.

use super::{Dialect, Encoding, target};
use model::Protocol;

#[derive(Debug, Default)]
pub(in crate::http) struct Clues<'a> {
    pub(super) authorization: &'a [u8],
    pub(super) host: &'a [u8],
    pub(super) user_agent: &'a [u8],
    pub(super) content_type: &'a [u8],
    pub(super) amz_target: &'a [u8],
    pub(in crate::http) encoding: Encoding,
    /// Only its clients send such a field.
    pub(super) mark: Option<Protocol>,
}

impl<'a> Clues<'a> {
    pub(in crate::http) fn process_field(&mut self, name: &[u8], value: &'a [u8]) {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        let begins =
            |known: &[u8]| name.len() > known.len() && name[..known.len()].eq_ignore_ascii_case(known);
        match name.first().map(u8::to_ascii_lowercase) {
            Some(b'a') if is(b"authorization") => self.authorization = value,
            Some(b'a') if is(b"apikey") => self.mark = Some(Protocol::Postgrest),
            Some(b'c') if is(b"content-type") => self.content_type = value,
            Some(b'c') if is(b"content-encoding") => self.encoding = Encoding::from_field(value),
            Some(b'h') if is(b"host") => self.host = value,
            Some(b'n') if is(b"neon-connection-string") => self.mark = Some(Protocol::Neon),
            Some(b'u') if is(b"user-agent") => self.user_agent = value,
            Some(b'u') if begins(b"upstash-") => self.mark = Some(Protocol::Upstash),
            Some(b'x') if is(b"x-amz-target") => self.amz_target = value,
            Some(b'x') if begins(b"x-clickhouse-") => self.mark = Some(Protocol::Clickhouse),
            Some(b'x') if is(b"x-elastic-client-meta") => self.mark = Some(Protocol::Elasticsearch),
            Some(b'x') if begins(b"x-snowflake-") => self.mark = Some(Protocol::Snowflake),
            _ => {}
        }
    }

    pub(super) fn is_marked(&self, protocol: Protocol) -> bool {
        self.mark == Some(protocol)
    }

    pub(super) fn is_client(&self, names: &[&str]) -> bool {
        let begins = |name: &&str| {
            let beginning = self.user_agent.get(..name.len());
            beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(name.as_bytes()))
        };
        names.iter().any(begins)
    }

    pub(super) fn has_type(&self, kind: &[u8]) -> bool {
        let beginning = self.content_type.get(..kind.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(kind))
    }

    pub(super) fn is_json(&self) -> bool {
        self.has_type(b"application/json")
    }

    pub(super) fn is_form(&self) -> bool {
        self.has_type(b"application/x-www-form-urlencoded")
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(in crate::http) struct ReplyClues {
    pub(in crate::http) dialect: Option<&'static Dialect>,
    pub(super) encoding: Encoding,
    /// ClickHouse's number of an error.
    pub(super) exception: Option<u32>,
    pub(super) rows: Option<u64>,
}

impl ReplyClues {
    pub(in crate::http) fn process_field(&mut self, name: &[u8], value: &[u8]) {
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.first() {
            Some(b'c' | b'C') if is(b"content-encoding") => self.encoding = Encoding::from_field(value),
            Some(b'c' | b'C') if is(b"content-range") => self.rows = rows_of_range(value),
            Some(b'x' | b'X' | b's' | b'S') => {
                self.dialect = self.dialect.or_else(|| super::of_response(name, value));
                if is(b"x-clickhouse-exception-code") {
                    self.exception = target::number(value).and_then(|code| u32::try_from(code).ok());
                }
            }
            _ => {}
        }
    }
}

/// `0-24/3573`, or `*/0` without rows; bytes have their unit in front.
fn rows_of_range(value: &[u8]) -> Option<u64> {
    let (range, _) = target::cut(value, b'/')?;
    if range == b"*" {
        return Some(0);
    }
    let (first, last) = target::cut(range, b'-')?;
    let rows = target::number(last)?.checked_sub(target::number(first)?)?;
    rows.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_rows_is_counted_and_one_of_bytes_is_not() {
        for (value, rows) in [
            ("0-24/3573", Some(25)),
            ("10-10/*", Some(1)),
            ("*/0", Some(0)),
            ("bytes 0-99/200", None),
            ("5-1/9", None),
            ("0-18446744073709551615/*", None),
        ] {
            assert_eq!(rows_of_range(value.as_bytes()), rows, "{value}");
        }
    }
}
