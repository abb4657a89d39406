//! Fields of heads that tell which dialect a connection has, and whether a request failed.

use super::{Dialect, Encoding, target};
use crate::http::fields::{CONTENT, Field, initials};
use model::Protocol;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clues<'a> {
    pub(super) authorization: &'a [u8],
    pub(super) host: &'a [u8],
    pub(super) user_agent: &'a [u8],
    pub(super) content_type: &'a [u8],
    pub(super) amz_target: &'a [u8],
    pub(crate) encoding: Encoding,
    /// Only its clients send such a field.
    pub(super) mark: Option<Protocol>,
}

impl<'a> Clues<'a> {
    #[inline]
    pub(crate) fn process_field(&mut self, field: Field<'a>) {
        let mark = |is_it: bool, protocol| is_it.then_some(protocol);
        let found = match field.initials {
            AUTHORIZATION => return set_value(&mut self.authorization, field, b"authorization"),
            HOST => return set_value(&mut self.host, field, b"host"),
            USER_AGENT => return set_value(&mut self.user_agent, field, b"user-agent"),
            X_AMZ => return set_value(&mut self.amz_target, field, b"x-amz-target"),
            CONTENT => {
                set_value(&mut self.content_type, field, b"content-type");
                if let Some(value) = field.value_of(b"content-encoding") {
                    self.encoding = Encoding::from_field(value);
                }
                return;
            }
            APIKEY => mark(field.value_of(b"apikey").is_some(), Protocol::Postgrest),
            NEON => mark(
                field.value_of(b"neon-connection-string").is_some(),
                Protocol::Neon,
            ),
            UPSTASH => mark(field.begins(b"upstash-"), Protocol::Upstash),
            X_CLICKHOUSE => mark(field.begins(b"x-clickhouse-"), Protocol::Clickhouse),
            X_ELASTIC => mark(
                field.value_of(b"x-elastic-client-meta").is_some(),
                Protocol::Elasticsearch,
            ),
            X_SNOWFLAKE => mark(field.begins(b"x-snowflake-"), Protocol::Snowflake),
            _ => None,
        };
        self.mark = found.or(self.mark);
    }

    pub(super) fn is_marked(&self, protocol: Protocol) -> bool {
        self.mark == Some(protocol)
    }

    pub(super) fn is_client(&self, names: &[&str]) -> bool {
        let Some(first) = self.user_agent.first() else {
            return false;
        };
        let begins = |name: &&str| {
            let name = name.as_bytes();
            let beginning = self.user_agent.get(..name.len());
            first.eq_ignore_ascii_case(&name[0])
                && beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(name))
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
pub(crate) struct ReplyClues {
    pub(crate) dialect: Option<&'static Dialect>,
    pub(super) encoding: Encoding,
    /// ClickHouse's number of an error.
    pub(super) exception: Option<u32>,
    pub(super) rows: Option<u64>,
}

impl ReplyClues {
    pub(crate) fn process_field(&mut self, field: Field<'_>) {
        match field.initials {
            CONTENT => {
                if let Some(value) = field.value_of(b"content-encoding") {
                    self.encoding = Encoding::from_field(value);
                } else if let Some(value) = field.value_of(b"content-range") {
                    self.rows = rows_of_range(value);
                }
            }
            initials if matches!(initials.to_le_bytes()[0], b'x' | b's') => {
                let Some((name, value)) = field.split() else {
                    return;
                };
                self.dialect = self.dialect.or_else(|| super::of_response(name, value));
                if name.eq_ignore_ascii_case(b"x-clickhouse-exception-code") {
                    self.exception = target::number(value).and_then(|code| u32::try_from(code).ok());
                }
            }
            _ => {}
        }
    }
}

#[inline]
fn set_value<'a, const N: usize>(place: &mut &'a [u8], field: Field<'a>, name: &[u8; N]) {
    if let Some(value) = field.value_of(name) {
        *place = value;
    }
}

/// Whether a field may be one of these, by the first letters of its name.
pub(crate) fn is_clue(name: &[u8]) -> bool {
    const ALL: [u32; 13] = [
        APIKEY,
        AUTHORIZATION,
        CONTENT,
        HOST,
        NEON,
        SERVER,
        UPSTASH,
        USER_AGENT,
        X_AMZ,
        X_CLICKHOUSE,
        X_ELASTIC,
        X_INFLUXDB,
        X_SNOWFLAKE,
    ];
    name.first_chunk()
        .is_some_and(|start| ALL.contains(&initials(start)))
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

const APIKEY: u32 = initials(b"apik");
const AUTHORIZATION: u32 = initials(b"auth");
const HOST: u32 = initials(b"host");
const NEON: u32 = initials(b"neon");
const SERVER: u32 = initials(b"serv");
const UPSTASH: u32 = initials(b"upst");
const USER_AGENT: u32 = initials(b"user");
const X_AMZ: u32 = initials(b"x-am");
const X_CLICKHOUSE: u32 = initials(b"x-cl");
const X_ELASTIC: u32 = initials(b"x-el");
const X_INFLUXDB: u32 = initials(b"x-in");
const X_SNOWFLAKE: u32 = initials(b"x-sn");

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
