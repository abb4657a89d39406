//! Parts of a request's target, and of forms.

pub(super) fn split(target: &[u8]) -> (&[u8], &[u8]) {
    let question = target.iter().position(|&byte| byte == b'?');
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
    let mut all = parameters(query);
    all.find_map(|(name, value)| (name == wanted).then_some(value))
}

pub(super) fn parts(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|part| !part.is_empty())
}

pub(super) fn decode(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some((&byte, behind)) = rest.split_first() {
        let digit = |place: usize| behind.get(place).and_then(|&byte| (byte as char).to_digit(16));
        rest = behind;
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = behind.get(2..).unwrap_or_default();
            }
            (b'+', ..) => out.push(b' '),
            _ => out.push(byte),
        }
    }
}

pub(super) fn cut(text: &[u8], mark: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|&byte| byte == mark)?;
    Some((&text[..place], &text[place + 1..]))
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn begins_sql(text: &[u8]) -> bool {
    let mut decoded = Vec::new();
    decode(
        text.get(..MAX_WORD_LEN.min(text.len())).unwrap_or_default(),
        &mut decoded,
    );
    let decoded = decoded.trim_ascii_start();
    let end = decoded.iter().position(u8::is_ascii_whitespace);
    let word = end.and_then(|end| decoded.get(..end)).unwrap_or_default();
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
