//! Where messages begin in bytes of which the beginning was lost.

/// What a look at bytes behind lost ones gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// A message begins at this place.
    At(usize),
    /// More bytes could decide.
    More,
    /// None begins there.
    Nowhere,
}

/// What may stand at a place where a message is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageShape {
    /// A message of this many bytes, which random bytes could be.
    Likely(usize),
    /// A message of this many bytes, which hardly anything else can be.
    Sure(usize),
    /// More bytes could decide.
    Cut,
    /// No message.
    Wrong,
}

/// The first place from which on messages follow each other: to the end of `bytes`, or at least three of
/// them, of which the last may go on beyond. At the very beginning, where a message is expected, one that
/// fits is enough. Only when `whole`: before that, more bytes could show a better place.
///
/// `shape` is shown what stands at a place, and the bytes of the message before it if there is one.
pub fn find(bytes: &[u8], whole: bool, shape: impl Fn(&[u8], Option<&[u8]>) -> MessageShape) -> Resumption {
    if !whole {
        return Resumption::More;
    }
    (0..bytes.len())
        .find(|&from| follow(bytes, from, &shape))
        .map_or(Resumption::Nowhere, Resumption::At)
}

/// Whether messages follow each other from `from` on.
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

    /// A letter, then a digit that says how many bytes follow; `Z` is hardly anything else.
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
