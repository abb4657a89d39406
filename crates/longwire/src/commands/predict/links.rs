//! Which links a prediction is asked for.

use anyhow::{Result, bail};
use link::LinkDescription;
use model::LinkRates;
use std::time::Duration;

/// Reads `10mbit`, or `10mbit/2mbit`: to the server, and from it.
///
/// # Errors
/// When it is neither.
pub fn parse_rates(text: &str) -> Result<LinkRates> {
    if text.contains(char::is_whitespace) {
        bail!("'{text}' is no rate: use one like 10mbit, or 10mbit/2mbit");
    }
    let link: LinkDescription = format!("rate={text}").parse()?;
    Ok(link.rate)
}

/// Every round trip with every rate, then the whole links. The usual round trips when none of them is given.
pub fn links(rtts: &[Duration], rates: &[LinkRates], whole: &[LinkDescription]) -> Vec<LinkDescription> {
    let rtts = match rtts {
        [] if rates.is_empty() && !whole.is_empty() => &[],
        [] => &USUAL[..],
        rtts => rtts,
    };
    let rates = if rates.is_empty() { &[[None; 2]] } else { rates };
    let grid = rates.iter().flat_map(|rate| {
        rtts.iter().map(|rtt| LinkDescription {
            rate: *rate,
            ..LinkDescription::with_rtt(*rtt)
        })
    });
    grid.chain(whole.iter().copied()).collect()
}

const USUAL: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(120),
];
