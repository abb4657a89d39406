//! Texts in EBCDIC (code page 500), which both sides use until they agree on another encoding.

/// Appends `bytes` in ASCII. Other characters than letters, digits and marks become blanks, and
/// blanks are joined.
pub(super) fn append(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        let next = ascii(byte);
        if next != ' ' || !out.ends_with(' ') {
            out.push(next);
        }
    }
    let trimmed = out.trim_end_matches(' ').len();
    out.truncate(trimmed);
}

fn ascii(byte: u8) -> char {
    let within = |first: u8, letter: char| char::from(letter as u8 + (byte - first));
    match byte {
        0x81..=0x89 => within(0x81, 'a'),
        0x91..=0x99 => within(0x91, 'j'),
        0xA2..=0xA9 => within(0xA2, 's'),
        0xC1..=0xC9 => within(0xC1, 'A'),
        0xD1..=0xD9 => within(0xD1, 'J'),
        0xE2..=0xE9 => within(0xE2, 'S'),
        0xF0..=0xF9 => within(0xF0, '0'),
        0x4B => '.',
        0x4D => '(',
        0x5D => ')',
        0x60 => '-',
        0x61 => '/',
        0x6D => '_',
        0x7A => ':',
        0x7D => '\'',
        0x7E => '=',
        0x6B => ',',
        0x5C => '*',
        0x4E => '+',
        0x4C => '<',
        0x6E => '>',
        0x6F => '?',
        0x7F => '"',
        0x5E => ';',
        0x6C => '%',
        0x50 => '&',
        0x7B => '#',
        0x7C => '@',
        0x5B => '$',
        _ => ' ',
    }
}
