//! The strings of a JSON text, which may be cut anywhere.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) raw: &'a [u8],
    pub(super) depth: usize,
    /// Objects and arrays that began before it.
    pub(super) begun: usize,
    pub(super) is_key: bool,
}

pub(super) fn strings(json: &[u8]) -> impl Iterator<Item = Text<'_>> {
    let (mut rest, mut depth, mut begun) = (json, 0_usize, 0);
    std::iter::from_fn(move || {
        while let Some((&byte, behind)) = rest.split_first() {
            rest = behind;
            match byte {
                b'{' | b'[' => (depth, begun) = (depth + 1, begun + 1),
                b'}' | b']' => depth = depth.saturating_sub(1),
                b'"' => {
                    let (raw, after) = behind.split_at(end_of_string(behind));
                    rest = after.get(1..).unwrap_or_default();
                    let is_key = rest.trim_ascii_start().first() == Some(&b':');
                    let text = Text {
                        raw,
                        depth,
                        begun,
                        is_key,
                    };
                    return Some(text);
                }
                _ => {}
            }
        }
        None
    })
}

fn end_of_string(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = text.iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
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

pub(super) fn member<'a>(json: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut before: Option<Text<'a>> = None;
    strings(json).find_map(|text| {
        let key = before.replace(text)?;
        let is_value = key.is_key && !text.is_key && (key.depth, text.depth) == (1, 1) && key.raw == name;
        is_value.then_some(text.raw)
    })
}

pub(super) fn key_inside<'a>(json: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut all = strings(json).skip_while(|text| !(text.is_key && text.depth == 1 && text.raw == name));
    all.next()?;
    let inside = all.next().filter(|text| text.is_key && text.depth == 2)?;
    Some(inside.raw)
}

pub(super) fn has_key(json: &[u8], name: &[u8]) -> bool {
    strings(json).any(|text| text.is_key && text.depth == 1 && text.raw == name)
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
