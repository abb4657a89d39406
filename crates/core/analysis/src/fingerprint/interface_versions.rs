//! Path parts that are versions of interfaces, some of them numeric: `/api/2.0/runs`,
//! `/2010-04-01/Accounts`.

/// Whether a path part is a version. `before` is the part before it, `behind` the rest of the path;
/// `None` at the ends.
///
/// Parts follow it, and
///
/// 1. after an interface's name ([`INTERFACES`]) it is a digit, two or three dotted numbers, a date or a
///    month; or
/// 2. elsewhere it is a number, a dot and a digit (`/oauth/2.0/token`), or a date at the path's beginning.
///
/// Other numbers and dates are values: `/products/42`, `/price/9.95`, `/reports/2024-01-31`.
pub(super) fn is_interface_version(part: &str, before: Option<&str>, behind: Option<&str>) -> bool {
    let is_number = part.starts_with(|first: char| first.is_ascii_digit());
    if !is_number || part.len() > MAX_LEN || behind.is_none_or(str::is_empty) {
        return false;
    }
    let is_of_interface = before.is_some_and(|before| {
        let is_it = |name: &&str| name.eq_ignore_ascii_case(before);
        INTERFACES.iter().any(is_it)
    });
    match numbers(part, '.') {
        Some(1) => is_of_interface && part.len() == 1,
        Some(2) => is_of_interface || part.as_bytes()[part.len() - 2] == b'.',
        Some(3) => is_of_interface,
        _ => is_date(part) && (is_of_interface || before == Some("")),
    }
}

/// Whether a word is a version with its letter: `v1`, `v2beta1`.
pub(super) fn is_version(text: &str) -> bool {
    let digits = |text: &str| {
        text.trim_start_matches(|letter: char| letter.is_ascii_digit())
            .len()
    };
    let Some(number) = text.strip_prefix(['v', 'V']) else {
        return false;
    };
    let rest = &number[number.len() - digits(number)..];
    // A part of a version: `p1`.
    let part = rest.strip_prefix('p').filter(|part| digits(part) < part.len());
    let rest = part.map_or(rest, |part| &part[part.len() - digits(part)..]);
    let stage = ["alpha", "beta", "rc", "b"]
        .iter()
        .find_map(|stage| rest.strip_prefix(stage));
    rest.len() < number.len() && digits(stage.unwrap_or(rest)) == 0
}

/// Counts numbers of one or two digits separated by `between`; `None` for any other text.
fn numbers(text: &str, between: char) -> Option<usize> {
    let is_number =
        |number: &str| (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = text.split(between);
    numbers.clone().all(is_number).then(|| numbers.count())
}

fn is_date(text: &str) -> bool {
    let up_to = |text: &str, last: u8| {
        text.parse::<u8>()
            .is_ok_and(|number| (1..=last).contains(&number))
    };
    let Some((year, rest)) = text.split_once('-') else {
        return false;
    };
    let (month, day) = rest
        .split_once('-')
        .map_or((rest, None), |(month, day)| (month, Some(day)));
    let is_year = year.len() == 4 && ["19", "20"].iter().any(|century| year.starts_with(century));
    is_year
        && numbers(&year[2..], '-') == Some(1)
        && month.len() == 2
        && up_to(month, 12)
        && day.is_none_or(|day| day.len() == 2 && up_to(day, 31))
}

const INTERFACES: [&str; 8] = [
    "api", "apis", "rest", "ajax-api", "odata", "soap", "version", "ws",
];
const MAX_LEN: usize = 10;
