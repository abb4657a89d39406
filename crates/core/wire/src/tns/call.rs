//! Calls of a client: the first bytes of a request of TTC.
//!
//! Piggybacks (deferred calls) precede the call. The fields of an execution have a fixed order up
//! to the number of rows. The rest depends on the client and its version, so the text is found as a
//! run of text with the announced length.

use super::messages::function::{
    AUTH_PHASE_ONE, AUTH_PHASE_TWO, COMMIT, EXECUTE, FETCH, LOB_OP, LOGOFF, PING, REEXECUTE,
    REEXECUTE_AND_FETCH, ROLLBACK, VERSION,
};
use super::messages::message::{DATA_TYPES, FAST_AUTH, FUNCTION, PIGGYBACK, PROTOCOL};
use super::messages::{FUNCTIONS, SERVICES};
use super::number::{CHUNKS, MAX_SHORT_LEN, ub4, ub8};
use crate::decoding::reader::Reader;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Login,
    Services,
    Execute(Execution),
    Fetch {
        cursor: u32,
        rows: u32,
    },
    Commit,
    Rollback,
    Logoff,
    /// Also a ping, a part of a large object, or an uninspected call.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Execution {
    /// `None` if a cursor runs again.
    pub text: Option<Vec<u8>>,
    /// 0 for a new cursor.
    pub cursor: u32,
    /// Rows requested with the execution.
    pub rows: Option<u32>,
    /// Number of parameter sets.
    pub sets: u32,
    /// Number of the request's last bytes that hold parameters and their descriptions.
    pub values: usize,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Whether a token follows the sequence number, as with clients of 23ai. Learnt from fitting
    /// requests.
    tokens: bool,
}

impl Calls {
    /// `request` is a whole request or its first bytes.
    pub(super) fn parse_call(&mut self, request: &[u8]) -> Call {
        match request {
            _ if request.starts_with(&SERVICES) => Call::Services,
            [PROTOCOL | DATA_TYPES | FAST_AUTH, ..] => Call::Login,
            [PIGGYBACK, _, sequence, ..] => self.behind_piggybacks(request, *sequence),
            [FUNCTION, code, ..] => self.function(request, *code),
            _ => Call::Other,
        }
    }

    /// The call after piggybacks of unknown length: it has the next sequence number.
    fn behind_piggybacks(&mut self, request: &[u8], mut sequence: u8) -> Call {
        for place in 3..request.len() {
            let rest = request.get(place..).unwrap_or_default();
            let [kind, code, number, ..] = rest else { break };
            let next = *number == sequence.wrapping_add(1) || (sequence == u8::MAX && *number == 1);
            if *kind == PIGGYBACK && next && FUNCTIONS.find(*code).is_some_and(|row| row.is_piggyback) {
                sequence = *number;
            }
            if *kind == FUNCTION && next {
                let call = self.function(rest, *code);
                if call != Call::Other || *code == PING || *code == LOB_OP {
                    return call;
                }
            }
        }
        match text_of_thick_client(request) {
            Some(text) => Call::Execute(bare(text)),
            None => Call::Other,
        }
    }

    fn function(&mut self, request: &[u8], code: u8) -> Call {
        let body = request.get(3..).unwrap_or_default();
        match code {
            EXECUTE => self
                .execute(body)
                .or_else(|| text_of_thick_client(body).map(bare))
                .map_or(Call::Other, Call::Execute),
            REEXECUTE | REEXECUTE_AND_FETCH => self.again(body, code).map_or(Call::Other, Call::Execute),
            FETCH => self.fetch(body).unwrap_or(Call::Other),
            COMMIT => Call::Commit,
            ROLLBACK => Call::Rollback,
            LOGOFF => Call::Logoff,
            AUTH_PHASE_ONE | AUTH_PHASE_TWO | VERSION => Call::Login,
            _ => Call::Other,
        }
    }

    fn execute(&mut self, body: &[u8]) -> Option<Execution> {
        for tokens in [self.tokens, !self.tokens] {
            let mut fields = Reader::new(body);
            if tokens && ub8(&mut fields).is_none() {
                continue;
            }
            if let Some(execution) = execution(fields) {
                self.tokens = tokens;
                return Some(execution);
            }
        }
        None
    }

    fn fetch(&mut self, body: &[u8]) -> Option<Call> {
        let of = |tokens: bool| {
            let mut fields = Reader::new(body);
            if tokens {
                ub8(&mut fields)?;
            }
            let call = Call::Fetch {
                cursor: ub4(&mut fields)?,
                rows: ub4(&mut fields)?,
            };
            Some((call, fields.is_empty()))
        };
        let both = [of(self.tokens), of(!self.tokens)].map(|found| found.filter(|(_, whole)| *whole));
        let [learnt, other] = both;
        learnt.or(other).or_else(|| of(self.tokens)).map(|(call, _)| call)
    }

    fn again(&self, body: &[u8], code: u8) -> Option<Execution> {
        let mut fields = Reader::new(body);
        if self.tokens {
            ub8(&mut fields)?;
        }
        let cursor = ub4(&mut fields)?;
        let count = ub4(&mut fields)?;
        let fetches = code == REEXECUTE_AND_FETCH;
        Some(Execution {
            text: None,
            cursor,
            rows: (fetches && is_rows(count)).then_some(count),
            sets: if fetches { 1 } else { sets(count) },
            values: fields.left(),
        })
    }
}

fn execution(mut fields: Reader<'_>) -> Option<Execution> {
    let options = ub4(&mut fields)?;
    let cursor = ub4(&mut fields)?;
    let has_text = pointer(&mut fields)?;
    let length = usize::try_from(ub4(&mut fields)?).ok()?;
    pointer(&mut fields)?;
    if ub4(&mut fields)? != NUMBERS_BEHIND || has_text != (length > 0) {
        return None;
    }
    pointer(&mut fields)?;
    pointer(&mut fields)?;
    ub4(&mut fields)?;
    let rows = ub4(&mut fields)?;
    let (text, mut behind) = match has_text {
        true => find_text(fields.rest(), length).map(|(text, behind)| (Some(text), Reader::new(behind)))?,
        false => (None, Reader::new(&[])),
    };
    let values = if has_text { behind.left() } else { fields.left() };
    let rows = (options & OPTION_FETCH != 0 && is_rows(rows)).then_some(rows);
    let behind = if has_text {
        numbers(&mut behind).map(Behind::from_numbers)
    } else {
        count_behind(fields.rest())
    };
    Some(Execution {
        text,
        cursor,
        // For a query, such as a procedure's cursor, the count is of rows and not of executions.
        sets: match behind {
            Some(Behind { is_query: true, .. }) | None => 1,
            Some(Behind { count, .. }) if rows == Some(count) => 1,
            Some(Behind { count, .. }) => sets(count),
        },
        rows,
        values,
    })
}

struct Behind {
    /// Number of executions, or of requested rows.
    count: u32,
    is_query: bool,
}

impl Behind {
    fn from_numbers(numbers: [u32; NUMBERS_BEHIND as usize]) -> Self {
        let [_, count, _, _, _, _, _, kind, ..] = numbers;
        Self {
            count,
            is_query: kind == 1,
        }
    }
}

/// Thirteen numbers, truncated ones as 0.
fn numbers(fields: &mut Reader<'_>) -> Option<[u32; NUMBERS_BEHIND as usize]> {
    let mut numbers = [0; NUMBERS_BEHIND as usize];
    for (place, number) in numbers.iter_mut().enumerate() {
        match ub4(fields) {
            Some(found) => *number = found,
            None if place >= 2 => break,
            None => return None,
        }
    }
    Some(numbers)
}

/// Count of a repeated cursor. No text shows the place of the numbers: it is the first with
/// thirteen plausible values.
fn count_behind(bytes: &[u8]) -> Option<Behind> {
    (0..bytes.len().min(FARTHEST_TEXT)).find_map(|place| {
        let mut fields = Reader::new(bytes.get(place..)?);
        let mut numbers = [0; NUMBERS_BEHIND as usize];
        for number in &mut numbers {
            *number = ub4(&mut fields)?;
        }
        let [0, count, 0, 0, 0, 0, 0, 0 | 1, 0, _, _, _, 0] = numbers else {
            return None;
        };
        (count > 0).then(|| Behind::from_numbers(numbers))
    })
}

fn pointer(fields: &mut Reader<'_>) -> Option<bool> {
    match fields.u8()? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

/// Finds the text of `length` bytes, and returns it with the rest. The text is plain, after its
/// length, or in chunks, and is truncated at the end of `bytes`.
fn find_text(bytes: &[u8], length: usize) -> Option<(Vec<u8>, &[u8])> {
    for place in 0..bytes.len().min(FARTHEST_TEXT) {
        let rest = bytes.get(place..)?;
        let (&first, behind) = rest.split_first()?;
        if first == CHUNKS
            && let Some(found) = chunks(behind, length)
        {
            return Some(found);
        }
        if length <= usize::from(MAX_SHORT_LEN)
            && usize::from(first) == length
            && let Some(found) = plain(behind, length)
        {
            return Some(found);
        }
        if let Some(found) = plain(rest, length) {
            return Some(found);
        }
    }
    None
}

fn plain(bytes: &[u8], length: usize) -> Option<(Vec<u8>, &[u8])> {
    let (text, behind) = match bytes.split_at_checked(length) {
        Some(found) => found,
        None if bytes.len() >= MIN_TRUNCATED_LEN => (bytes, &[][..]),
        None => return None,
    };
    (begins_statement(text) && text.iter().all(is_text)).then(|| (text.to_vec(), behind))
}

fn chunks(bytes: &[u8], length: usize) -> Option<(Vec<u8>, &[u8])> {
    let mut reader = Reader::new(bytes);
    let mut text = Vec::new();
    while text.len() < length {
        let chunk = usize::try_from(ub4(&mut reader)?).ok()?;
        if chunk == 0 || chunk > length - text.len() {
            return None;
        }
        let Some(part) = reader.take_bytes(chunk) else {
            if bytes.len() < MIN_TRUNCATED_LEN {
                return None;
            }
            text.extend_from_slice(reader.rest());
            reader = Reader::new(&[]);
            break;
        };
        text.extend_from_slice(part);
    }
    reader.u8();
    (begins_statement(&text) && text.iter().all(is_text)).then(|| (text, reader.rest()))
}

fn is_text(byte: &u8) -> bool {
    *byte >= b' ' && *byte != 0x7f || matches!(byte, b'\t' | b'\n' | b'\r')
}

fn begins_statement(text: &[u8]) -> bool {
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    first.is_some_and(|first| first.is_ascii_alphabetic() || b"(/-<".contains(first) || *first >= 0x80)
}

/// The longest text that begins with a word of SQL, in a request of a client with another number
/// encoding (OCI: sqlplus, ODBC, Pro*C).
fn text_of_thick_client(body: &[u8]) -> Option<Vec<u8>> {
    let run = body
        .split(|byte| !is_text(byte))
        .filter_map(|run| {
            let place = (0..run.len().min(MAX_PREFIX_LEN)).find(|&place| is_word_of_sql(run, place))?;
            run.get(place..)
        })
        .max_by_key(|run| run.len())?;
    Some(run.to_vec())
}

fn is_word_of_sql(run: &[u8], place: usize) -> bool {
    let rest = run.get(place..).unwrap_or_default();
    WORDS.iter().any(|word| {
        let begins = rest
            .get(..word.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(word));
        begins && rest.get(word.len()).is_some_and(u8::is_ascii_whitespace)
    })
}

fn bare(text: Vec<u8>) -> Execution {
    Execution {
        text: Some(text),
        cursor: 0,
        rows: None,
        sets: 1,
        values: 0,
    }
}

const fn is_rows(count: u32) -> bool {
    count > 0 && count < MAX_ROWS
}

const fn sets(count: u32) -> u32 {
    if count == 0 || count >= MAX_ROWS { 1 } else { count }
}

const OPTION_FETCH: u32 = 0x40;
const NUMBERS_BEHIND: u32 = 13;
/// Maximum distance of a text from the number of rows; 30 to 36 bytes were seen.
const FARTHEST_TEXT: usize = 96;
/// Printable bytes that may precede the first word: a length that looks like a letter, blanks.
const MAX_PREFIX_LEN: usize = 8;
/// Only requests longer than the kept part have a truncated text.
const MIN_TRUNCATED_LEN: usize = 32 * 1024;
const MAX_ROWS: u32 = 0x7fff_ffff;
const WORDS: [&[u8]; 14] = [
    b"select",
    b"with",
    b"insert",
    b"update",
    b"delete",
    b"merge",
    b"begin",
    b"declare",
    b"call",
    b"create",
    b"alter",
    b"drop",
    b"set",
    b"truncate",
];

#[cfg(test)]
mod tests;
