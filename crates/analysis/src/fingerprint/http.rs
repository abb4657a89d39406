//! HTTP requests without the values in them.

use super::MAXIMUM_LENGTH;

/// The method and the path, what names one thing of many replaced by `?`, and the names of the query string.
///
/// 1. A part of the path stays when it is made of words: see [`is_wordy`]. Numbers, keys, tokens, e-mail addresses and whatever had to be
///    percent-encoded become `?`.
/// 2. Of `;name=value` behind a part the name stays: `;jsessionid=?`.
/// 3. Of a query string the names stay. Without a name (`?TOKEN`), a value becomes `?` unless it is one short word in lower case.
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
        of_path(part, &mut out);
    }
    for (index, pair) in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .enumerate()
    {
        out.push(if index == 0 { '?' } else { '&' });
        setting(pair, &mut out);
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

/// Writes a part of a path, and the names of what is behind its semicolons.
fn of_path(part: &str, out: &mut String) {
    let mut pieces = part.split(';');
    let first = pieces.next().unwrap_or_default();
    out.push_str(if is_wordy(first) { first } else { "?" });
    for piece in pieces {
        out.push(';');
        setting(piece, out);
    }
}

/// A path's pattern: like a path, but placeholders of frameworks and signs of regular expressions stay.
pub(super) fn route(text: &str) -> String {
    let parts = text.split('/').map(|part| {
        let is_placeholder = ['<', '{', ':', '^', '$', '%', '(', '[']
            .iter()
            .any(|&sign| part.starts_with(sign));
        let plain = part.trim_matches(|letter: char| !letter.is_alphanumeric());
        match is_placeholder && plain.split(|letter: char| !letter.is_alphanumeric()).all(is_word)
            || is_wordy(part)
        {
            true => part,
            false => "?",
        }
    });
    parts.collect::<Vec<_>>().join("/")
}

/// Writes `name=?`, or a flag.
fn setting(pair: &str, out: &mut String) {
    match pair.split_once('=') {
        Some((name, _)) => {
            let plain = name
                .replace(['[', ']'], "_")
                .replace("%5B", "_")
                .replace("%5D", "_");
            out.push_str(if is_wordy(&plain) { name } else { "?" });
            out.push_str("=?");
        }
        None => out.push_str(if is_flag(pair) { pair } else { "?" }),
    }
}

/// Whether a setting without a value is a word of the program's: short, in lower case.
fn is_flag(text: &str) -> bool {
    text.len() <= LONGEST_FLAG
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
}

/// Whether a text is words of the program's, rather than what names one thing of many or grants access.
fn is_wordy(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_key = digits == text.len() || (hexadecimal && text.len() >= 8 && digits >= 2);
    !is_key && !text.contains(['@', '%']) && text.split(|letter: char| !letter.is_alphanumeric()).all(is_word)
}

/// Whether letters and digits without anything between them are a word of the program's.
fn is_word(text: &str) -> bool {
    let letters = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if letters.is_empty() {
        return digits <= MOST_DIGITS;
    }
    let at_end = text.len() - letters.len() == digits;
    if text.len() > 3 && !(at_end && digits <= 2) && !is_version(text) {
        return false;
    }
    let upper = letters.chars().filter(|letter| letter.is_uppercase()).count();
    match upper {
        0 => letters.len() <= LONGEST_WORD && is_spoken(letters, SHORTEST_SPOKEN),
        upper if upper == letters.chars().count() => letters.len() <= LONGEST_CAPITALS,
        _ => letters.len() <= LONGEST_CAMEL && is_camel(letters),
    }
}

/// `v1`, `v12`, `v1beta2`.
fn is_version(text: &str) -> bool {
    let digits = |text: &str| {
        text.trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len()
    };
    let Some(number) = text.strip_prefix(['v', 'V']) else {
        return false;
    };
    let rest = &number[number.len() - digits(number)..];
    let stage = ["alpha", "beta", "rc"]
        .iter()
        .find_map(|stage| rest.strip_prefix(stage));
    rest.len() < number.len() && digits(stage.unwrap_or(rest)) == 0
}

/// Whether most of the words written together by their capitals are words.
fn is_camel(text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    let begins = |at: usize| {
        let is_upper = |at: usize| letters.get(at).is_some_and(|letter| letter.is_uppercase());
        is_upper(at) && (!is_upper(at - 1) || (at + 1 < letters.len() && !is_upper(at + 1)))
    };
    let (mut words, mut strange, mut from) = (0, 0, 0);
    for end in (1..=letters.len()).filter(|&at| at == letters.len() || begins(at)) {
        let word: String = letters[from..end].iter().collect();
        words += 1;
        strange += usize::from(end - from < 3 || !is_spoken(&word, 3));
        from = end;
    }
    letters.len() < SHORTEST_CAMEL || strange * 2 <= words
}

/// Whether a word can be spoken: no long run of consonants and, if it has at least `with_vowel` letters, a vowel.
fn is_spoken(word: &str, with_vowel: usize) -> bool {
    let is_vowel = |letter: char| !letter.is_ascii() || "aeiouyAEIOUY".contains(letter);
    let longest = word.split(is_vowel).map(str::len).max().unwrap_or(0);
    longest < MOST_CONSONANTS && (word.len() < with_vowel || word.contains(is_vowel))
}

/// Characters of a setting without a value that may be a word of the program's.
const LONGEST_FLAG: usize = 16;
/// Digits alone between other words: a year, a page.
const MOST_DIGITS: usize = 6;
const LONGEST_WORD: usize = 24;
const LONGEST_CAPITALS: usize = 12;
const LONGEST_CAMEL: usize = 40;
/// Fewer letters than this in both cases are not examined more closely.
const SHORTEST_CAMEL: usize = 6;
/// A word of this many letters has a vowel.
const SHORTEST_SPOKEN: usize = 7;
const MOST_CONSONANTS: usize = 7;
