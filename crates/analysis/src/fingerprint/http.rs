//! HTTP requests without the values in them.

use super::MAXIMUM_LENGTH;

/// The method and the path, what names one thing of many replaced by `?`, and the names of the query string.
pub(super) fn normalise(method: &str, target: &str) -> String {
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let mut out = String::with_capacity(method.len() + target.len() + 1);
    out.push_str(method);
    out.push(' ');
    for (index, part) in path.split('/').enumerate() {
        if index > 0 {
            out.push('/');
        }
        out.push_str(if is_identifier(part) { "?" } else { part });
    }
    for (index, pair) in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .enumerate()
    {
        out.push(if index == 0 { '?' } else { '&' });
        let (name, value) = pair
            .split_once('=')
            .map_or((pair, None), |(name, value)| (name, Some(value)));
        out.push_str(name);
        if value.is_some() {
            out.push_str("=?");
        }
    }
    if out.len() > MAXIMUM_LENGTH {
        let cut = (0..=MAXIMUM_LENGTH)
            .rev()
            .find(|&cut| out.is_char_boundary(cut))
            .unwrap_or(0);
        out.truncate(cut);
        out.push_str("...");
    }
    out
}

/// Whether a part of a path names one thing of many: a number, a hexadecimal key, a UUID.
fn is_identifier(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    !part.is_empty() && (digits == part.len() || (hexadecimal && part.len() >= 8 && digits >= 2))
}
