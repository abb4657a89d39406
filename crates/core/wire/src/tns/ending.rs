//! Ends of responses, with a summary of the call (OER) or its status alone.
//!
//! Descriptions and rows before it have unknown lengths, so the search goes backwards: a summary is
//! where all of its twenty-odd fields fit and reach to the last byte.

use super::messages::message::{END_OF_RESPONSE, ERROR, STATUS};
use super::number::{short, text, ub2, ub4, ub8};
use crate::decoding::reader::Reader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending<'a> {
    /// Bits, with [`TRANSACTION`] among them; 0 for old servers without a status.
    pub status: u32,
    /// `None` if the server reports only the status.
    pub summary: Option<Summary<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary<'a> {
    /// 0 if there is none.
    pub cursor: u16,
    /// Number of the ORA error, 0 without one.
    pub error: u32,
    /// Rows of the whole execution so far, or affected rows.
    pub rows: u64,
    pub text: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Age {
    /// Version 12.1 and later, or unknown.
    #[default]
    Since12,
    /// From 9.2 to 11.2, fields that later versions always write may be missing.
    Before12,
}

/// Reads the end of a response; `None` if no form fits.
pub(super) fn ending(tail: &[u8], age: Age) -> Option<Ending<'_>> {
    let bare = tail.strip_suffix(&[END_OF_RESPONSE]);
    bare.and_then(|bare| of_call(bare, age))
        .or_else(|| of_call(tail, age))
}

fn of_call(tail: &[u8], age: Age) -> Option<Ending<'_>> {
    let forms: &[Form] = match age {
        Age::Since12 => &FORMS,
        Age::Before12 => &OLD_FORMS,
    };
    let places = (0..tail.len()).rev();
    let summary = places.clone().filter(|&place| tail.get(place) == Some(&ERROR));
    for place in summary.filter(|place| tail.len() - place > MIN_SUMMARY_LEN) {
        let body = tail.get(place + 1..).unwrap_or_default();
        if let Some(found) = forms.iter().find_map(|form| summarised(body, *form)) {
            return Some(found);
        }
    }
    let mut status = places
        .take(MAX_STATUS_LEN)
        .filter(|&place| tail.get(place) == Some(&STATUS));
    status.find_map(|place| only_status(tail.get(place + 1..).unwrap_or_default()))
}

fn only_status(body: &[u8]) -> Option<Ending<'_>> {
    let mut reader = Reader::new(body);
    let status = ub4(&mut reader)?;
    ub2(&mut reader)?;
    reader.is_empty().then_some(Ending {
        status,
        summary: None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Since20,
    Since12,
    Before,
    /// Before, without some of its first fields, or with flags that are numbers.
    Old(Old),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Old {
    has_status: bool,
    has_sequence: bool,
    has_long_flags: bool,
}

const FORMS: [Form; 3] = [Form::Since20, Form::Since12, Form::Before];

/// The fields of 10.1 to 11.2, in descending number. A status without a sequence is mistaken for a
/// sequence without a status.
const OLD_FORMS: [Form; 6] = [
    Form::Before,
    old(true, true, true),
    old(false, true, true),
    old(false, true, false),
    old(false, false, true),
    old(false, false, false),
];

const fn old(has_status: bool, has_sequence: bool, has_long_flags: bool) -> Form {
    Form::Old(Old {
        has_status,
        has_sequence,
        has_long_flags,
    })
}

fn summarised(body: &[u8], form: Form) -> Option<Ending<'_>> {
    let mut reader = Reader::new(body);
    let fields = &mut reader;
    let has = match form {
        Form::Old(has) => has,
        Form::Since20 | Form::Since12 | Form::Before => Old {
            has_status: true,
            has_sequence: true,
            has_long_flags: false,
        },
    };
    let status = if has.has_status { ub4(fields)? } else { 0 };
    if has.has_sequence {
        ub2(fields)?;
    }
    let row = ub4(fields)?;
    let brief = ub2(fields)?;
    ub2(fields)?;
    ub2(fields)?;
    let cursor = ub2(fields)?;
    ub2(fields)?;
    type_and_flags(fields, has.has_long_flags)?;
    row_address(fields)?;
    ub4(fields)?;
    fields.take_bytes(NUMBERS_OF_CALL)?;
    ub2(fields)?;
    ub4(fields)?;
    text(fields)?;
    batch_errors(fields)?;
    let (error, rows) = match form {
        Form::Before | Form::Old(_) => (u32::from(brief), u64::from(row)),
        Form::Since12 | Form::Since20 => (ub4(fields)?, ub8(fields)?),
    };
    if form == Form::Since20 {
        ub4(fields)?;
        ub4(fields)?;
    }
    let text = match error {
        0 => &[],
        _ => short(fields)?,
    };
    let agree = error & 0xffff == u32::from(brief) && (error == 0 || text.starts_with(b"ORA-"));
    (agree && fields.is_empty()).then_some(Ending {
        status,
        summary: Some(Summary {
            cursor,
            error,
            rows,
            text,
        }),
    })
}

/// Type of the statement, whether it is fatal, flags, options of the cursor, parameter, warnings: a
/// byte each, or the flags and the options as numbers.
fn type_and_flags(fields: &mut Reader<'_>, long: bool) -> Option<()> {
    if !long {
        fields.take_bytes(TYPE_AND_FLAGS)?;
        return Some(());
    }
    fields.take_bytes(2)?;
    ub2(fields)?;
    ub2(fields)?;
    fields.take_bytes(2)?;
    Some(())
}

/// The address of the last row: object, partition, block and row.
fn row_address(fields: &mut Reader<'_>) -> Option<()> {
    ub4(fields)?;
    ub2(fields)?;
    fields.u8()?;
    ub4(fields)?;
    ub2(fields)?;
    Some(())
}

/// Errors of single rows of an array: numbers, places, texts.
fn batch_errors(fields: &mut Reader<'_>) -> Option<()> {
    let numbers = ub2(fields)?;
    array(fields, u32::from(numbers))?;
    let places = ub4(fields)?;
    array(fields, places)?;
    let texts = ub2(fields)?;
    if texts > 0 {
        fields.u8()?;
    }
    for _ in 0..texts {
        ub2(fields)?;
        short(fields)?;
        fields.take_bytes(2)?;
    }
    Some(())
}

fn array(fields: &mut Reader<'_>, count: u32) -> Option<()> {
    if count == 0 {
        return Some(());
    }
    let chunked = fields.u8()? == super::number::CHUNKS;
    for _ in 0..count {
        if chunked {
            ub4(fields)?;
        }
        ub4(fields)?;
    }
    if chunked {
        fields.u8()?;
    }
    Some(())
}

/// Number of the error named in the last bytes of a response without a recognised summary.
pub(super) fn named_error(tail: &[u8]) -> Option<(u32, &[u8])> {
    let place = tail.windows(4).rposition(|window| window == b"ORA-")?;
    let text = tail.get(place..).unwrap_or_default();
    let digits = text.get(4..9)?;
    if text.get(9) != Some(&b':') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits
        .iter()
        .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
    let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
    Some((number, text.get(..end).unwrap_or(text)))
}

/// The bit of a status: a transaction is open.
pub(super) const TRANSACTION: u32 = 2;
pub(super) const NO_MORE_ROWS: u32 = 1403;

const MIN_SUMMARY_LEN: usize = 22;
const MAX_STATUS_LEN: usize = 10;
const TYPE_AND_FLAGS: usize = 6;
const NUMBERS_OF_CALL: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u8> = hexadecimal.bytes().collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ascii"), 16);
        digits.chunks(2).map(|two| pair(two).expect("digits")).collect()
    }

    /// Ends of responses of Oracle Database 23.26 and 18c, as rust-oracledb (MIT or Apache-2.0)
    /// recorded them.
    const END_OF_FETCH: &str = "062201010001020000000708414c3332555446380801060323a4d50001010000000000000401010\
        2013b010102057b000001010003000000000000000000000000030001010000000002057b0101010300194f52412d30313430333a2\
        06e6f206461746120666f756e640a1d";
    const LOGGED_IN: &str = "010b0b800000003c3c3c8000000001a300040101020111000000000000000000000000000000000000000200\
        00000000000000";

    #[test]
    fn recorded_ends_are_understood() {
        let found = bytes(END_OF_FETCH);
        let end = ending(&found, Age::Since12).expect("a summary");
        let summary = end.summary.expect("a summary");
        assert_eq!(
            (end.status, summary.cursor, summary.error, summary.rows),
            (1, 1, 1403, 1)
        );
        assert_eq!(summary.text, b"ORA-01403: no data found\n");

        let found = bytes(LOGGED_IN);
        let end = ending(&found, Age::Since12).expect("a summary");
        assert_eq!(
            (end.status, end.summary.map(|summary| summary.error)),
            (1, Some(0))
        );
    }

    #[test]
    fn a_status_alone_tells_of_the_transaction() {
        let end = |status, tail| {
            assert_eq!(
                ending(tail, Age::Since12),
                Some(Ending {
                    status,
                    summary: None
                })
            )
        };
        end(3, b"\x09\x01\x03\x01\x0a\x1d");
        end(1, b"\x17\x05\x00\x09\x01\x01\x02\x01\x0a");
        assert_eq!(ending(b"\x01\x02\x03", Age::Since12), None);
        assert_eq!(ending(b"", Age::Before12), None);
    }

    /// A handwritten summary of 10.2 or 11.2: cursor 3, rows 42, no error or ORA-01403, with the
    /// agreed fields.
    fn old_summary(has: Old, error: bool) -> Vec<u8> {
        let mut out = vec![0x15, 7, 4];
        out.extend_from_slice(if has.has_status { b"\x01\x05" } else { b"" });
        out.extend_from_slice(if has.has_sequence { b"\x02\x01\x11" } else { b"" });
        out.extend_from_slice(b"\x01\x2a");
        out.extend_from_slice(if error { b"\x02\x05\x7b" } else { b"\0" });
        out.extend_from_slice(b"\0\0\x01\x03\0");
        out.extend_from_slice(if has.has_long_flags {
            b"\x03\0\x01\x20\0\0\0"
        } else {
            b"\x03\0\x20\0\0\0"
        });
        out.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        if error {
            out.extend_from_slice(b"\x19ORA-01403: no data found\n");
        }
        out
    }

    #[test]
    fn summaries_of_10_2_and_11_2_tell_rows_and_the_cursor() {
        for form in OLD_FORMS {
            let first = Old {
                has_status: true,
                has_sequence: true,
                has_long_flags: false,
            };
            let has = if let Form::Old(has) = form { has } else { first };
            for error in [false, true] {
                let found = old_summary(has, error);
                let end = ending(&found, Age::Before12).unwrap_or_else(|| panic!("{has:?}"));
                let summary = end.summary.expect("a summary");
                assert_eq!((summary.cursor, summary.rows), (3, 42), "{has:?}");
                assert_eq!(summary.error, if error { 1403 } else { 0 }, "{has:?}");
                assert_eq!(end.status, if has.has_status { 5 } else { 0 });
            }
        }
    }

    #[test]
    fn an_error_is_found_by_its_name() {
        let text = b"\x07\x02ORA-00942: table or view does not exist\n\0\x01";
        let named = (942, &b"ORA-00942: table or view does not exist"[..]);
        assert_eq!(named_error(text), Some(named));
        assert_eq!(named_error(b"ORA-12x45: nothing"), None);
    }
}
