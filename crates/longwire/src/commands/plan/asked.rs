//! Placements from the command line.

use anyhow::{Result, anyhow, bail};
use plan::{Estate, Placement};

/// Parses texts like `shop=frankfurt,orders=frankfurt`. Services not named stay in place.
pub fn placements(estate: &Estate, texts: &[String]) -> Result<Vec<Placement>> {
    texts.iter().map(|text| placement(estate, text)).collect()
}

fn placement(estate: &Estate, text: &str) -> Result<Placement> {
    let mut placement = Placement::today(estate);
    for word in text.split(',') {
        let Some((service, place)) = word.split_once('=') else {
            bail!("--placement '{text}': '{word}' is no move; write SERVICE=PLACE");
        };
        let names = estate.services.iter().map(|service| &*service.name);
        let service = position(service.trim(), names, "service")?;
        let place = position(place.trim(), estate.places.iter().map(|place| &**place), "place")?;
        placement = placement.with(service, place);
    }
    Ok(placement)
}

fn position<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone, what: &str) -> Result<usize> {
    let found = known.clone().position(|one| one == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = known.collect();
        anyhow!(
            "--placement: there is no {what} '{name}'; use one of {}",
            names.join(", ")
        )
    })
}
