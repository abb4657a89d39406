//! Parts of a request's target, and of forms.

use memchr::{memchr, memchr2};

pub(super) fn split(target: &[u8]) -> (&[u8], &[u8]) {
    let question = memchr(b'?', target);
    let (path, query) = target.split_at(question.unwrap_or(target.len()));
    (path, query.get(1..).unwrap_or_default())
}

pub(super) fn parameters(query: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let pairs = query.split(|&byte| byte == b'&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let equals = pair.iter().position(|&byte| byte == b'=');
        let (name, value) = pair.split_at(equals.unwrap_or(pair.len()));
        (name, value.get(1..).unwrap_or_default())
    })
}

pub(super) fn parameter<'a>(query: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    if query.is_empty() {
        return None;
    }
    let mut all = parameters(query);
    all.find_map(|(name, value)| (name == wanted).then_some(value))
}

pub(super) fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|part| !part.is_empty())
}

pub(super) fn decode(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(place) = memchr2(b'%', b'+', rest) {
        let (plain, behind) = (&rest[..place], &rest[place + 1..]);
        out.extend_from_slice(plain);
        let digit = |place: usize| behind.get(place).and_then(|&byte| (byte as char).to_digit(16));
        let code = digit(0)
            .zip(digit(1))
            .filter(|_| rest[place] == b'%')
            .map(|(high, low)| u8::try_from(high * 16 + low).unwrap_or(b'?'));
        out.push(match code {
            Some(code) => code,
            None if rest[place] == b'+' => b' ',
            None => b'%',
        });
        rest = &behind[if code.is_some() { 2 } else { 0 }..];
    }
    out.extend_from_slice(rest);
}

pub(super) fn cut(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let place = memchr(mark, text)?;
    Some((&text[..place], &text[place + 1..]))
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn begins_sql(text: &[u8]) -> bool {
    let start = text.get(..MAX_WORD_LEN.min(text.len())).unwrap_or_default();
    match memchr2(b'%', b'+', start) {
        None => begins_with_statement(start),
        Some(_) => {
            let mut decoded = Vec::new();
            decode(start, &mut decoded);
            begins_with_statement(&decoded)
        }
    }
}

fn begins_with_statement(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace);
    let word = end.and_then(|end| text.get(..end)).unwrap_or_default();
    SQL.iter().any(|known| word.eq_ignore_ascii_case(known))
}

const MAX_WORD_LEN: usize = 64;
const SQL: [&[u8]; 14] = [
    b"SELECT",
    b"INSERT",
    b"WITH",
    b"SHOW",
    b"DESCRIBE",
    b"DESC",
    b"EXPLAIN",
    b"CREATE",
    b"ALTER",
    b"DROP",
    b"OPTIMIZE",
    b"TRUNCATE",
    b"EXISTS",
    b"DELETE",
];
