use crate::file::Estate;
use link::LinkDescription;
use model::PlacedService;

/// Index of the place, by index of the service.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Placement(pub Vec<usize>);

impl Placement {
    pub fn today(estate: &Estate) -> Self {
        Self(estate.services.iter().map(|service| service.place).collect())
    }

    #[must_use]
    pub fn with(&self, service: usize, place: usize) -> Self {
        let mut places = self.0.clone();
        places[service] = place;
        Self(places)
    }

    pub fn differences(&self, other: &Self) -> u32 {
        let differ = self.0.iter().zip(&other.0).filter(|(one, other)| one != other);
        differ.count() as u32
    }

    pub fn services_price(&self, estate: &Estate) -> f64 {
        let services = estate.services.iter().zip(&self.0);
        services.map(|(service, place)| service.month[*place]).sum()
    }

    /// In the order of the file.
    pub fn services(&self, estate: &Estate) -> Vec<PlacedService> {
        let services = estate.services.iter().zip(&self.0);
        let placed = services.map(|(service, place)| PlacedService {
            service: service.name.clone(),
            place: estate.places[*place].clone(),
        });
        placed.collect()
    }
}

/// Saturates at the maximum number.
pub fn possible(estate: &Estate) -> u64 {
    let choices = estate.services.iter().map(|service| service.may.len() as u64);
    choices.fold(1, u64::saturating_mul)
}

/// All placements if there are at most `most`, else those with the fewest moves: all placements of
/// 1, 2, ... moves while these fit. Today's is the first.
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

/// The link between two services in `placement`; `None` if their distance does not change.
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
