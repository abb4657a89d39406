//! Byte encodings of a secret that tests search for.

pub fn forms(secret: &str) -> Vec<(String, Vec<u8>)> {
    assert!(secret.bytes().all(|byte| byte.is_ascii_lowercase()));
    let little: Vec<u8> = secret.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = secret.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let raw = [
        ("text", secret.as_bytes().to_vec()),
        ("UTF-16LE", little.clone()),
        ("UTF-16BE", big),
        ("EBCDIC", secret.bytes().map(ebcdic).collect()),
        ("TDS's scrambling", little.into_iter().map(scrambled).collect()),
    ];
    let mut forms = vec![("upper case".to_owned(), secret.to_uppercase().into_bytes())];
    for (name, bytes) in raw {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let list: Vec<String> = bytes.iter().map(u8::to_string).collect();
        forms.push((
            format!("{name} in upper-case hexadecimal"),
            digits.to_uppercase().into_bytes(),
        ));
        forms.push((format!("{name} in hexadecimal"), digits.into_bytes()));
        forms.push((
            format!("{name} as a list of numbers"),
            list.join(",").into_bytes(),
        ));
        for offset in 0..3 {
            forms.push((
                format!("{name} in base64 behind {offset} bytes"),
                base64(&bytes, offset),
            ));
        }
        forms.push((name.to_owned(), bytes));
    }
    forms
}

/// Encodes in code page 037.
pub fn ebcdic(letter: u8) -> u8 {
    match letter {
        b'a'..=b'i' => letter - b'a' + 0x81,
        b'j'..=b'r' => letter - b'j' + 0x91,
        b's'..=b'z' => letter - b's' + 0xa2,
        _ => 0x40,
    }
}

/// LOGIN7's password encoding (MS-TDS 2.2.6.4).
pub fn scrambled(byte: u8) -> u8 {
    byte.rotate_left(4) ^ 0xa5
}

/// The base64 digits independent of the surrounding bytes, with `offset` bytes before.
fn base64(bytes: &[u8], offset: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (first, last) = ((offset * 8).div_ceil(6), (offset + bytes.len()) * 8 / 6);
    let bit = |number: usize| bytes[number / 8 - offset] >> (7 - number % 8) & 1;
    let digit = |digit: usize| {
        let bits = (digit * 6..digit * 6 + 6).map(bit);
        DIGITS[bits.fold(0, |value, bit| value << 1 | usize::from(bit))]
    };
    (first..last).map(digit).collect()
}

#[test]
fn base64_is_found_behind_anything() {
    // printf 'ab:kestrel!' | base64, without the first byte, without the second too.
    assert_eq!(base64(b"kestrel", 0), b"a2VzdHJlb");
    for (text, offset) in [("Omtlc3RyZWwh", 1), ("YjprZXN0cmVsIQ==", 2)] {
        let form = String::from_utf8(base64(b"kestrel", offset)).expect("ASCII");
        assert!(text.contains(&form), "{text} {form}");
    }
    assert_eq!(scrambled(b'a'), 0xb3);
}
