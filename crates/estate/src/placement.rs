//! Placements: which place each service has.

use crate::file::Estate;
use link::LinkDescription;
use model::PlacedService;

/// The place of each service, by their positions in the estate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placement(pub Vec<usize>);

impl Placement {
    /// As it is in what was observed.
    pub fn today(estate: &Estate) -> Self {
        Self(estate.services.iter().map(|service| service.place).collect())
    }

    /// The same with `service` in `place`.
    #[must_use]
    pub fn with(&self, service: usize, place: usize) -> Self {
        let mut places = self.0.clone();
        places[service] = place;
        Self(places)
    }

    /// How many services are elsewhere than in `other`.
    pub fn differences(&self, other: &Self) -> u32 {
        let differ = self.0.iter().zip(&other.0).filter(|(one, other)| one != other);
        differ.count() as u32
    }

    /// In words, in the order of the file.
    pub fn services(&self, estate: &Estate) -> Vec<PlacedService> {
        let services = estate.services.iter().zip(&self.0);
        let placed = services.map(|(service, place)| PlacedService {
            service: service.name.clone(),
            place: estate.places[*place].clone(),
        });
        placed.collect()
    }
}

/// How many placements the estate allows; saturates.
pub fn possible(estate: &Estate) -> u64 {
    let choices = estate.services.iter().map(|service| service.may.len() as u64);
    choices.fold(1, u64::saturating_mul)
}

/// All placements when there are at most `most`. Otherwise those that move the fewest services from today's,
/// as far as whole numbers of moved services fit. Today's is the first.
pub fn placements(estate: &Estate, most: usize) -> Vec<Placement> {
    let today = Placement::today(estate);
    let mut found = vec![today.clone()];
    let mut last = vec![(today, 0)];
    for _ in 0..estate.services.len() {
        let mut next = Vec::new();
        for (placement, from) in &last {
            for service in *from..estate.services.len() {
                let elsewhere = estate.services[service].may.iter();
                let elsewhere = elsewhere.filter(|place| **place != placement.0[service]);
                next.extend(elsewhere.map(|place| (placement.with(service, *place), service + 1)));
            }
            if found.len() + next.len() > most {
                return found;
            }
        }
        found.extend(next.iter().map(|(placement, _)| placement.clone()));
        last = next;
    }
    found
}

/// The link that connections from one service to another get in `placement`; `None` if their distance stays
/// what it is today.
pub fn link_of(
    estate: &Estate,
    [client, server]: [usize; 2],
    placement: &Placement,
) -> Option<LinkDescription> {
    let today = [estate.services[client].place, estate.services[server].place];
    let then = [placement.0[client], placement.0[server]];
    let both_inside = today[0] == today[1] && then[0] == then[1];
    if today == then || both_inside {
        return None;
    }
    Some(
        estate
            .between(then)
            .map_or_else(|| LinkDescription::with_rtt(estate.inside), |(link, _)| link),
    )
}
