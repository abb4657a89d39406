//! How a response ends: with a summary of the call (OER), or with its status alone.
//!
//! What stands before it (descriptions, rows) has lengths that only a description tells. So the end is looked for from
//! the end: a summary is where all of its twenty-odd fields fit and reach to the last byte.

use super::number::{short, text, ub2, ub4, ub8};
use crate::reader::Reader;

/// What the end of a response says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ending<'a> {
    /// Bits, [`TRANSACTION`] among them; 0 of old servers, which write none.
    pub status: u32,
    /// Absent where the server tells the status alone.
    pub summary: Option<Summary<'a>>,
}

/// A summary of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Summary<'a> {
    /// 0 for none.
    pub cursor: u16,
    /// The number of the ORA error, 0 for none.
    pub error: u32,
    /// Rows of the execution so far, or affected.
    pub rows: u64,
    /// The error's text.
    pub text: &'a [u8],
}

/// What the last bytes of a response say of its end; absent where none of the forms fits.
pub(super) fn ending(tail: &[u8]) -> Option<Ending<'_>> {
    let bare = tail.strip_suffix(&[END_OF_RESPONSE]);
    bare.and_then(of_call).or_else(|| of_call(tail))
}

fn of_call(tail: &[u8]) -> Option<Ending<'_>> {
    let places = (0..tail.len()).rev();
    let summary = places.clone().filter(|&place| tail.get(place) == Some(&SUMMARY));
    for place in summary.filter(|place| tail.len() - place > SHORTEST_SUMMARY) {
        let body = tail.get(place + 1..).unwrap_or_default();
        let forms = [Form::Since20, Form::Since12, Form::Before];
        if let Some(found) = forms.into_iter().find_map(|form| summarised(body, form)) {
            return Some(found);
        }
    }
    let mut status = places
        .take(LONGEST_STATUS)
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

/// Which fields a summary has: by the version that both sides agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Since20,
    Since12,
    Before,
}

fn summarised(body: &[u8], form: Form) -> Option<Ending<'_>> {
    let mut reader = Reader::new(body);
    let fields = &mut reader;
    let status = ub4(fields)?;
    ub2(fields)?;
    let row = ub4(fields)?;
    let brief = ub2(fields)?;
    ub2(fields)?;
    ub2(fields)?;
    let cursor = ub2(fields)?;
    ub2(fields)?;
    fields.take(TYPE_AND_FLAGS)?;
    row_address(fields)?;
    ub4(fields)?;
    fields.take(NUMBERS_OF_CALL)?;
    ub2(fields)?;
    ub4(fields)?;
    text(fields)?;
    batch_errors(fields)?;
    let (error, rows) = match form {
        Form::Before => (u32::from(brief), u64::from(row)),
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
        fields.take(2)?;
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

/// The number of the error that the last bytes of a response name, where no summary was understood.
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
/// The error that ends a result.
pub(super) const NO_MORE_ROWS: u32 = 1403;

const SUMMARY: u8 = 4;
const STATUS: u8 = 9;
const END_OF_RESPONSE: u8 = 29;
const SHORTEST_SUMMARY: usize = 24;
const LONGEST_STATUS: usize = 10;
/// Type of statement, whether it is fatal, flags, options of the cursor, parameter, warnings.
const TYPE_AND_FLAGS: usize = 6;
/// Number of the statement and of the call.
const NUMBERS_OF_CALL: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hexadecimal: &str) -> Vec<u8> {
        let digits: Vec<u8> = hexadecimal.bytes().collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ascii"), 16);
        digits.chunks(2).map(|two| pair(two).expect("digits")).collect()
    }

    /// Ends of responses of Oracle Database 23.26 and 18c, as rust-oracledb (MIT or Apache-2.0) recorded them.
    const END_OF_FETCH: &str = "062201010001020000000708414c3332555446380801060323a4d50001010000000000000401010\
        2013b010102057b000001010003000000000000000000000000030001010000000002057b0101010300194f52412d30313430333a2\
        06e6f206461746120666f756e640a1d";
    const LOGGED_IN: &str = "010b0b800000003c3c3c8000000001a300040101020111000000000000000000000000000000000000000200\
        00000000000000";

    #[test]
    fn recorded_ends_are_understood() {
        let found = bytes(END_OF_FETCH);
        let end = ending(&found).expect("a summary");
        let summary = end.summary.expect("a summary");
        assert_eq!(
            (end.status, summary.cursor, summary.error, summary.rows),
            (1, 1, 1403, 1)
        );
        assert_eq!(summary.text, b"ORA-01403: no data found\n");

        let found = bytes(LOGGED_IN);
        let end = ending(&found).expect("a summary");
        assert_eq!(
            (end.status, end.summary.map(|summary| summary.error)),
            (1, Some(0))
        );
    }

    #[test]
    fn a_status_alone_tells_of_the_transaction() {
        let end = |status, tail| {
            assert_eq!(
                ending(tail),
                Some(Ending {
                    status,
                    summary: None
                })
            )
        };
        end(3, b"\x09\x01\x03\x01\x0a\x1d");
        end(1, b"\x17\x05\x00\x09\x01\x01\x02\x01\x0a");
        assert_eq!(ending(b"\x01\x02\x03"), None);
        assert_eq!(ending(b""), None);
    }

    #[test]
    fn an_error_is_found_by_its_name() {
        let text = b"\x07\x02ORA-00942: table or view does not exist\n\0\x01";
        let named = (942, &b"ORA-00942: table or view does not exist"[..]);
        assert_eq!(named_error(text), Some(named));
        assert_eq!(named_error(b"ORA-12x45: nothing"), None);
    }
}
