//! Number lists of a sweep: `16`, `1,64`, `8..64:*2`, `100..500:+100`.

use model::ByteCount;
use probe::echo::{MAX_BYTES, MAX_STREAMS};

/// In order, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionCounts(pub Vec<u32>);

pub fn sizes(text: &str) -> Result<ConnectionCounts, String> {
    let size = |text: &str| {
        let bytes = ByteCount::parse(text).map_err(|error| error.to_string())?;
        within(bytes.as_bytes(), MAX_BYTES, "bytes of a message")
    };
    parse(text, &size)
}

pub fn streams(text: &str) -> Result<ConnectionCounts, String> {
    let count = |text: &str| {
        let count = text.parse().map_err(|_| format!("'{text}' is not a number"))?;
        within(count, MAX_STREAMS, "streams")
    };
    parse(text, &count)
}

fn within(number: u64, most: u32, what: &str) -> Result<u32, String> {
    u32::try_from(number)
        .ok()
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| format!("{number}: {what} must be 1 to {most}"))
}

fn parse(text: &str, number: &dyn Fn(&str) -> Result<u32, String>) -> Result<ConnectionCounts, String> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        match part.trim().split_once("..") {
            None => numbers.push(number(part.trim())?),
            Some((first, rest)) => {
                let (last, step) = rest.split_once(':').unwrap_or((rest, "*2"));
                range(number(first)?, number(last)?, step, &mut numbers)?;
            }
        }
    }
    Ok(ConnectionCounts(numbers))
}

fn range(first: u32, last: u32, step: &str, numbers: &mut Vec<u32>) -> Result<(), String> {
    let no_step = || format!("'{step}' is not a step: use *2 or +100");
    let amount = |text: &str| text.parse::<u32>().ok().filter(|amount| *amount > 0);
    let next: Box<dyn Fn(u32) -> Option<u32>> = match step.split_at_checked(1) {
        Some(("*", factor)) => {
            let factor = amount(factor).filter(|factor| *factor > 1).ok_or_else(no_step)?;
            Box::new(move |number| number.checked_mul(factor))
        }
        Some(("+", more)) => {
            let more = amount(more).ok_or_else(no_step)?;
            Box::new(move |number| number.checked_add(more))
        }
        _ => return Err(no_step()),
    };
    if last < first {
        return Err(format!("{first}..{last} has no numbers"));
    }
    let all = std::iter::successors(Some(first), |number| next(*number));
    numbers.extend(all.take_while(|number| *number <= last).take(MAX_NUMBERS));
    Ok(())
}

/// Limit of each range. The number of combinations has a separate limit.
const MAX_NUMBERS: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_give_their_numbers() {
        let given = |text| sizes(text).map(|sweep| sweep.0);
        assert_eq!(given("16"), Ok(vec![16]));
        assert_eq!(given("8..64:*2"), Ok(vec![8, 16, 32, 64]));
        assert_eq!(given("8..64"), Ok(vec![8, 16, 32, 64]));
        assert_eq!(given("100..250:+100,4KiB"), Ok(vec![100, 200, 4096]));
        assert_eq!(streams("1,64").map(|sweep| sweep.0), Ok(vec![1, 64]));
    }

    #[test]
    fn what_is_absurd_is_refused() {
        for bad in [
            "",
            "0",
            "-1",
            "99999999999",
            "1GiB",
            "8..",
            "8..4",
            "8..64:*1",
            "8..64:+0",
            "8..64:2",
            "x",
        ] {
            assert!(sizes(bad).is_err(), "{bad}");
        }
        assert!(streams("2000").is_err());
        assert!(streams("4KiB").is_err());
    }
}
