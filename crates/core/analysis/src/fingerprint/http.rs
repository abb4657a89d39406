//! HTTP requests without values.

use super::MAXIMUM_LENGTH;
use super::endings::is_dotted_name;
use super::interface_versions::{is_interface_version, is_version};
use super::letters;
use super::secrets::is_secret_name;

/// Method, path with `?` for identifying values, and the names of the query string.
///
/// 1. A path part of words stays: see [`is_wordy`]. Numbers, keys, tokens, e-mail addresses, letters that are
///    no words ([`letters`]), dotted names of people ([`is_dotted_name`]), quoted and percent-encoded texts
///    become `?`. Versions of interfaces ([`is_interface_version`]) stay.
/// 2. Of `name=value` in a part, or after its semicolon, the name stays: `;jsessionid=?`. So does that of
///    `token:value` if it names a secret.
/// 3. Of a query string the names stay. A value without a name (`?TOKEN`) becomes `?` unless it is one short
///    word in lower case.
pub(super) fn normalise(method: &str, target: &str) -> String {
    if method.is_empty() {
        return call(target);
    }
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let mut out = String::with_capacity(method.len() + target.len() + 1);
    out.push_str(method);
    out.push(' ');
    parts(path, &mut out, of_path);
    for (index, pair) in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .enumerate()
    {
        out.push(if index == 0 { '?' } else { '&' });
        setting(pair, &mut out);
    }
    shorten(&mut out);
    out
}

fn shorten(out: &mut String) {
    if out.len() > MAXIMUM_LENGTH {
        let cut = (0..=MAXIMUM_LENGTH)
            .rev()
            .find(|&cut| out.is_char_boundary(cut))
            .unwrap_or(0);
        out.truncate(cut);
        out.push_str("...");
    }
}

/// Path of a gRPC call: package and service, method. These are names in a program, whatever their
/// letters; anything else becomes `?`.
fn call(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for (place, part) in path.split('/').enumerate().take(MAX_CALL_PARTS) {
        if place > 0 {
            out.push('/');
        }
        out.push_str(if part.split('.').all(is_identifier) || part.is_empty() {
            part
        } else {
            "?"
        });
    }
    out
}

/// Whether a text can be a name in a program, and has not the digits of a key.
fn is_identifier(text: &str) -> bool {
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    let goes_on = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    begins && goes_on && text.len() <= MAX_IDENTIFIER_LEN && digits <= MAX_IDENTIFIER_DIGITS
}

/// Keeps versions of interfaces; writes all other parts with `other`.
fn parts(path: &str, out: &mut String, other: impl Fn(&str, &mut String)) {
    let (mut before, mut rest) = (None, Some(path));
    while let Some(text) = rest {
        let (part, behind) = text
            .split_once('/')
            .map_or((text, None), |(part, behind)| (part, Some(behind)));
        if before.is_some() {
            out.push('/');
        }
        match is_interface_version(part, before, behind) {
            true => out.push_str(part),
            false => other(part, out),
        }
        (before, rest) = (Some(part), behind);
    }
}

fn of_path(part: &str, out: &mut String) {
    let mut pieces = part.split(';');
    part_of_path(pieces.next().unwrap_or_default(), out);
    for piece in pieces {
        out.push(';');
        setting(piece, out);
    }
}

/// Writes a part without semicolons: unchanged, `?`, or the name of its value.
fn part_of_path(part: &str, out: &mut String) {
    match named_value(part) {
        Some(name) if is_wordy(name) => {
            out.push_str(&part[..=name.len()]);
            out.push('?');
        }
        None if is_wordy(part) && !is_dotted_name(part) => out.push_str(part),
        _ => out.push('?'),
    }
}

/// The name in `name=value`, or in `name:value` if it names a secret.
fn named_value(part: &str) -> Option<&str> {
    let secret = || {
        part.match_indices(':')
            .map(|(colon, _)| &part[..colon])
            .find(|name| is_secret_name(name.as_bytes()))
    };
    part.split_once('=').map(|(name, _)| name).or_else(secret)
}

/// Pattern of a path: placeholders of frameworks and signs of regular expressions stay.
pub(super) fn route(text: &str) -> String {
    pattern(text, part_of_path)
}

/// An operation and names with separators; names that are no words become `?`.
pub(super) fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '/', '?', '&', ',']) {
        let name = word.trim_end_matches([' ', '/', '?', '&', ',']);
        out.push_str(if is_wordy(name) { name } else { "?" });
        out.push_str(&word[name.len()..]);
    }
    shorten(&mut out);
    out
}

/// Dots are allowed in names of controllers, actions and applications.
pub(super) fn program_name(text: &str) -> String {
    pattern(text, |part, out| {
        out.push_str(if is_wordy(part) { part } else { "?" })
    })
}

fn pattern(text: &str, other: impl Fn(&str, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    parts(text, &mut out, |part, out| match is_placeholder(part) {
        true => out.push_str(part),
        false => other(part, out),
    });
    out
}

/// Whether a part of a pattern is a framework's placeholder or a regular expression, with names
/// that are words.
fn is_placeholder(part: &str) -> bool {
    let is_marked = ['<', '{', ':', '^', '$', '%', '(', '[']
        .iter()
        .any(|&sign| part.starts_with(sign));
    let plain = part.trim_matches(|letter: char| !letter.is_alphanumeric());
    is_marked && plain.split(|letter: char| !letter.is_alphanumeric()).all(is_word)
}

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

/// Whether a setting without a value is a short word in lower case.
fn is_flag(text: &str) -> bool {
    text.len() <= MAX_FLAG_LEN
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_'))
        && is_wordy(text)
}

/// Whether a text consists of program words instead of an identifier or secret.
pub(super) fn is_wordy(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_key = digits == text.len() || (hexadecimal && text.len() >= 8 && digits >= 2);
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    !is_key
        && !text.contains(['@', '%', '\'', '"'])
        && words.clone().all(is_word)
        && !are_random_groups(words)
}

/// Whether groups of letters, each too short to judge, are random together, as `qzvk-xjwp-bqfm`.
fn are_random_groups<'a>(words: impl Iterator<Item = &'a str> + Clone) -> bool {
    let groups = words.filter(|word| !word.is_empty());
    groups.clone().count() > 1
        && groups
            .clone()
            .all(|word| word.len() < MIN_CAMEL_LEN && word.bytes().all(|byte| byte.is_ascii_alphabetic()))
        && groups.clone().map(str::len).sum::<usize>() >= MIN_GROUPS_LEN
        && letters::are_random(groups)
}

fn is_word(text: &str) -> bool {
    let letters = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    if letters.is_empty() {
        return digits <= MAX_DIGITS;
    }
    let at_end = text.len() - letters.len() == digits;
    if text.len() > 3 && !(at_end && digits <= 2) && !is_version(text) {
        return false;
    }
    let upper = letters.chars().filter(|letter| letter.is_uppercase()).count();
    match upper {
        0 => letters.len() <= MAX_WORD_LEN && is_spoken(letters, MIN_VOWEL_WORD_LEN) && !are_random(letters),
        upper if upper == letters.chars().count() => {
            letters.len() <= MAX_CAPITALS_LEN && !are_random(letters)
        }
        _ => letters.len() <= MAX_CAMEL_LEN && is_camel(letters),
    }
}

/// Whether most words in camel case are words and their letters do not look random.
fn is_camel(text: &str) -> bool {
    let words = camel_words(text);
    let strange = words
        .iter()
        .filter(|word| word.chars().count() < 3 || !is_spoken(word, 3))
        .count();
    text.chars().count() < MIN_CAMEL_LEN
        || (strange * 2 <= words.len() && !letters::are_random(words.iter().copied()))
}

/// Splits at capitals, with runs of capitals as one word, as in `getHTTPPort`.
fn camel_words(text: &str) -> Vec<&str> {
    let letters: Vec<(usize, bool)> = text
        .char_indices()
        .map(|(at, letter)| (at, letter.is_uppercase()))
        .collect();
    let begins = |place: usize| {
        let is_upper = |place: usize| letters.get(place).is_some_and(|(_, is_upper)| *is_upper);
        is_upper(place) && (!is_upper(place - 1) || (place + 1 < letters.len() && !is_upper(place + 1)))
    };
    let mut words = Vec::new();
    let mut from = 0;
    for place in (1..letters.len()).filter(|place| begins(*place)) {
        words.push(&text[from..letters[place].0]);
        from = letters[place].0;
    }
    words.push(&text[from..]);
    words
}

fn are_random(word: &str) -> bool {
    letters::are_random(std::iter::once(word))
}

/// Whether a word is pronounceable: no long run of consonants and, from `with_vowel` letters, a
/// vowel.
fn is_spoken(word: &str, with_vowel: usize) -> bool {
    let is_vowel = |letter: char| !letter.is_ascii() || "aeiouyAEIOUY".contains(letter);
    let longest = word.split(is_vowel).map(str::len).max().unwrap_or(0);
    longest < MAX_CONSONANTS && (word.len() < with_vowel || word.contains(is_vowel))
}

/// A call has two parts behind the first slash.
const MAX_CALL_PARTS: usize = 3;
const MAX_IDENTIFIER_LEN: usize = 64;
const MAX_IDENTIFIER_DIGITS: usize = 4;
const MAX_FLAG_LEN: usize = 16;
/// Digits alone between other words: a year, a page.
const MAX_DIGITS: usize = 6;
/// Some words have no separators, as `validatingadmissionpolicybindings` of Kubernetes.
const MAX_WORD_LEN: usize = 36;
const MAX_CAPITALS_LEN: usize = 12;
const MAX_CAMEL_LEN: usize = 40;
/// Fewer letters in short words, as in `gpg_keys`, are not judged.
const MIN_GROUPS_LEN: usize = 9;
const MIN_CAMEL_LEN: usize = 6;
/// A word of this many letters has a vowel.
const MIN_VOWEL_WORD_LEN: usize = 7;
const MAX_CONSONANTS: usize = 7;
