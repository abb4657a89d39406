//! The strings of a JSON text, which may be cut anywhere.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) raw: &'a [u8],
    pub(super) depth: usize,
    /// Objects around it, without arrays.
    pub(super) objects: usize,
    /// Objects and arrays that began before it.
    pub(super) begun: usize,
    pub(super) is_key: bool,
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    /// Of a key, its value and the rest.
    pub(super) fn value(&self) -> &'a [u8] {
        let rest = self.rest.trim_ascii_start();
        rest.strip_prefix(b":").unwrap_or_default().trim_ascii_start()
    }

    /// Of a key, its value if that is a string.
    pub(super) fn string(&self) -> Option<&'a [u8]> {
        let behind = self.value().strip_prefix(b"\"")?;
        behind.get(..end_of_string(behind))
    }

    /// Of a key, its value if that is a whole number.
    pub(super) fn number(&self) -> Option<u64> {
        let value = self.value();
        let length = value.iter().position(|byte| !byte.is_ascii_digit())?;
        std::str::from_utf8(&value[..length]).ok()?.parse().ok()
    }

    /// Of a key, whether its value is more than false, null, zero or empty.
    pub(super) fn is_set(&self) -> bool {
        let value = self.value();
        let inside = value.get(1..).unwrap_or_default().trim_ascii_start().first();
        match value.first() {
            Some(b'{') => inside.is_some_and(|byte| *byte != b'}'),
            Some(b'[') => inside.is_some_and(|byte| *byte != b']'),
            Some(b'"') => inside.is_some_and(|byte| *byte != b'"'),
            Some(b't' | b'1'..=b'9' | b'-') => true,
            _ => false,
        }
    }
}

pub(super) fn strings(json: &[u8]) -> impl Iterator<Item = Text<'_>> {
    let (mut rest, mut depth, mut objects, mut begun) = (json, 0_usize, 0_usize, 0);
    std::iter::from_fn(move || {
        while let Some((&mark, behind)) = rest.get(next_mark(rest)..).and_then(<[u8]>::split_first) {
            rest = behind;
            match mark {
                b'{' => (depth, objects, begun) = (depth + 1, objects + 1, begun + 1),
                b'[' => (depth, begun) = (depth + 1, begun + 1),
                b'}' => (depth, objects) = (depth.saturating_sub(1), objects.saturating_sub(1)),
                b']' => depth = depth.saturating_sub(1),
                _ => {
                    let (raw, after) = behind.split_at(end_of_string(behind));
                    rest = after.get(1..).unwrap_or_default();
                    let is_key = rest.trim_ascii_start().first() == Some(&b':');
                    let text = Text {
                        raw,
                        depth,
                        objects,
                        begun,
                        is_key,
                        rest,
                    };
                    return Some(text);
                }
            }
        }
        None
    })
}

fn next_mark(json: &[u8]) -> usize {
    let is_mark = |byte: u8| byte == b'"' || matches!(byte | 0x20, b'{' | b'}');
    let near = json.iter().take(CHUNK).position(|&byte| is_mark(byte));
    near.unwrap_or_else(|| {
        let has_mark = |chunk: &[u8; CHUNK]| chunk.iter().fold(false, |any, &byte| any | is_mark(byte));
        let (chunks, _) = json.as_chunks();
        let skipped = CHUNK * chunks.iter().position(has_mark).unwrap_or(chunks.len());
        let place = json[skipped..].iter().position(|&byte| is_mark(byte));
        skipped + place.unwrap_or(json.len() - skipped)
    })
}

fn end_of_string(text: &[u8]) -> usize {
    let mut place = 0;
    loop {
        match text.get(place) {
            None => return text.len(),
            Some(b'"') => return place,
            Some(b'\\') => place += 2,
            Some(_) => place += 1,
        }
    }
}

/// Texts of the members with one of these names, at any depth.
pub(super) fn members<'a>(json: &'a [u8], names: &[&[u8]]) -> impl Iterator<Item = &'a [u8]> {
    let mut before: Option<Text<'a>> = None;
    strings(json).filter_map(move |text| {
        let key = before.replace(text)?;
        let is_value = key.is_key && !text.is_key && text.depth == key.depth && names.contains(&key.raw);
        is_value.then_some(text.raw)
    })
}

/// The outermost members with these names, found in one pass.
pub(super) fn outer<'a, const N: usize>(json: &'a [u8], names: [&[u8]; N]) -> [Option<Text<'a>>; N] {
    let mut found = [None; N];
    for text in strings(json).filter(|text| text.is_key && text.depth == 1) {
        let place = names.iter().position(|name| *name == text.raw);
        if let Some(place) = place.and_then(|place| found.get_mut(place)) {
            place.get_or_insert(text);
        }
    }
    found
}

pub(super) fn first_outer<'a>(json: &'a [u8], name: &[u8]) -> Option<Text<'a>> {
    strings(json).find(|text| text.is_key && text.depth == 1 && text.raw == name)
}

/// The first key of the object that is a member's value.
pub(super) fn key_inside<'a>(member: &Text<'a>) -> Option<&'a [u8]> {
    let inside = strings(member.value()).next()?;
    (inside.is_key && inside.depth == 1).then_some(inside.raw)
}

pub(super) fn unescape(raw: &[u8], out: &mut Vec<u8>) {
    let mut rest = raw;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escaped, behind)) = rest.split_first() else {
            return;
        };
        rest = behind;
        match escaped {
            b'n' | b'r' | b't' | b'b' | b'f' => out.push(b' '),
            b'u' => {
                let digits = behind
                    .get(..4)
                    .and_then(|digits| std::str::from_utf8(digits).ok());
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let letter = code
                    .and_then(char::from_u32)
                    .unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                rest = behind.get(4..).unwrap_or_default();
            }
            other => out.push(other),
        }
    }
}

const CHUNK: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_found_behind_any_number_of_other_bytes() {
        for length in 0..100 {
            let (numbers, escaped) = ("7".repeat(length), r#"\""#.repeat(length));
            let json = format!(r#"{{"a":[{numbers},"b{escaped}"],"c":{numbers}}}"#);
            let found: Vec<_> = strings(json.as_bytes())
                .map(|text| (text.raw.len(), text.depth, text.is_key))
                .collect();
            assert_eq!(found, [(1, 1, true), (1 + escaped.len(), 2, false), (1, 1, true)]);
            assert_eq!(strings(numbers.as_bytes()).count(), 0);
        }
        assert_eq!(strings(br#"{"a\"#).map(|text| text.raw).last(), Some(&b"a\\"[..]));
    }
}
