//! Finds the start of messages after lost bytes.

use super::recognition::Recognition;

/// Result of a search after lost bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// Position of a message's start.
    At(usize),
    /// More bytes could decide.
    More,
    /// No message begins there.
    Nowhere,
}

impl From<Recognition> for Resumption {
    /// For protocols without a search: only the first byte can begin a message.
    fn from(verdict: Recognition) -> Self {
        match verdict {
            Recognition::Certain | Recognition::Plausible => Self::At(0),
            Recognition::More => Self::More,
            Recognition::Never => Self::Nowhere,
        }
    }
}

/// Content of a possible message start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageShape {
    /// A message of this many bytes, though random bytes could match.
    Likely(usize),
    /// A message of this many bytes, with little doubt.
    Sure(usize),
    /// More bytes could decide.
    Cut,
    /// Not a message at all.
    Wrong,
}

/// Returns the first position from which messages follow each other to the end of `bytes`, or at
/// least three. At the very beginning one matching message is enough. Returns
/// [`Resumption::More`] unless `whole`, since more bytes could show a better position.
///
/// `shape` receives the bytes at a position, and the message before it, if any.
pub fn find(bytes: &[u8], whole: bool, shape: impl Fn(&[u8], Option<&[u8]>) -> MessageShape) -> Resumption {
    if !whole {
        return Resumption::More;
    }
    (0..bytes.len())
        .find(|&from| follow(bytes, from, &shape))
        .map_or(Resumption::Nowhere, Resumption::At)
}

fn follow(bytes: &[u8], from: usize, shape: &impl Fn(&[u8], Option<&[u8]>) -> MessageShape) -> bool {
    let mut before = None;
    let mut at = from;
    let (mut count, mut sure) = (0, false);
    while let Some(rest @ [_, ..]) = bytes.get(at..) {
        let length = match shape(rest, before) {
            MessageShape::Wrong => return false,
            MessageShape::Cut => return count >= ENOUGH - 1 || (sure && count > 0),
            MessageShape::Likely(length) => length,
            MessageShape::Sure(length) => {
                sure = true;
                length
            }
        };
        count += 1;
        before = rest.get(..length);
        if count > LONG_ENOUGH || length == 0 {
            return length > 0;
        }
        at = at.saturating_add(length);
    }
    match at == bytes.len() {
        true => count >= ENOUGH - 1 || sure || from == 0,
        false => count >= ENOUGH || from == 0,
    }
}

const ENOUGH: usize = 3;
const LONG_ENOUGH: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter, then a digit with the number of bytes that follow.
    fn shape(bytes: &[u8], _: Option<&[u8]>) -> MessageShape {
        match *bytes {
            [b'Z', b'0', ..] => MessageShape::Sure(2),
            [b'A'..=b'Z', digit @ b'0'..=b'9', ..] => MessageShape::Likely(2 + usize::from(digit - b'0')),
            [b'A'..=b'Z'] => MessageShape::Cut,
            _ => MessageShape::Wrong,
        }
    }

    #[test]
    fn a_place_needs_what_follows_it() {
        assert_eq!(find(b"xxB1xC2yy", true, shape), Resumption::At(2));
        assert_eq!(find(b"xxB1x", true, shape), Resumption::Nowhere);
        assert_eq!(find(b"B1x", true, shape), Resumption::At(0));
        assert_eq!(find(b"xxZ0", true, shape), Resumption::At(2));
        assert_eq!(find(b"xxB1xC9y", true, shape), Resumption::Nowhere);
        assert_eq!(find(b"xxB1xC1yD9z", true, shape), Resumption::At(2));
        assert_eq!(find(b"xxB1xC2yy", false, shape), Resumption::More);
        assert_eq!(find(b"", true, shape), Resumption::Nowhere);
    }
}
