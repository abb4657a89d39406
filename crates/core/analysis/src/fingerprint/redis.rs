//! Redis commands without values.

/// The command's words and at most two `?`, then `...`: a command takes any number of keys. In
/// `text` every argument is double-quoted, with backslash escapes.
pub(super) fn normalise(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut arguments = 0;
    let mut rest = text.trim_ascii();
    while let Some((&first, behind)) = rest.split_first() {
        let is_argument = first == b'"';
        let (word, left) = if is_argument {
            argument(behind)
        } else {
            let end = rest.iter().position(|&byte| byte == b' ');
            rest.split_at(end.unwrap_or(rest.len()))
        };
        rest = left.trim_ascii_start();
        let shown: &[u8] = match (is_argument, arguments) {
            (true, 0 | 1) => b"?",
            (true, 2) => b"...",
            (true, _) => continue,
            (false, _) if word == b"..." => continue,
            (false, _) => word,
        };
        arguments += u32::from(is_argument);
        if !out.is_empty() {
            out.push(b' ');
        }
        out.extend_from_slice(shown);
    }
}

fn argument(text: &[u8]) -> (&[u8], &[u8]) {
    let mut is_escaped = false;
    let end = text.iter().position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    let (argument, rest) = text.split_at(end.unwrap_or(text.len()));
    (argument, rest.get(1..).unwrap_or_default())
}
