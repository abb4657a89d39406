//! The estate file with places, links, services and budgets.

mod links;
mod measured;

use link::LinkDescription;
use links::RawLink;
use model::{ConfigError, ConfigFile, Endpoint, Host, Pattern, PlanMeasure, Side, parse_duration};
use serde::Deserialize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

/// Returns the text of a named file, or the reason of a failure.
pub type ReadMeasurement<'a> = &'a dyn Fn(&str) -> Result<String, String>;

#[derive(Debug, Clone, PartialEq)]
pub struct Estate {
    /// Unit of prices, empty if not given.
    pub currency: String,
    /// Hours per month with the observed traffic.
    pub hours: f64,
    /// By default from the first packet to the last.
    pub observed: Option<Duration>,
    /// Round-trip time between services newly placed together.
    pub inside: Duration,
    pub places: Vec<Arc<str>>,
    pub links: Vec<PlaceLink>,
    pub services: Vec<EstateService>,
    pub budgets: Vec<PlanBudget>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PlaceLink {
    pub between: [usize; 2],
    /// From the first to the second.
    pub link: LinkDescription,
    /// Price per gigabyte in either direction.
    pub price: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct EstateService {
    pub name: Arc<str>,
    /// Index of the place today.
    pub place: usize,
    pub hosts: Vec<Host>,
    /// Server ports, empty for all.
    pub ports: Vec<u16>,
    /// Allowed places, including today's.
    pub may: Vec<usize>,
    /// Monthly price in each place.
    pub month: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanBudget {
    pub operation: Pattern,
    pub measure: PlanMeasure,
    pub allowed: Duration,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEstate {
    #[serde(default)]
    currency: String,
    hours: Option<Spanned<f64>>,
    observed: Option<Spanned<String>>,
    inside: Option<Spanned<String>>,
    places: Vec<Spanned<String>>,
    #[serde(default)]
    link: Vec<Spanned<RawLink>>,
    service: Vec<RawService>,
    #[serde(default)]
    budget: Vec<Spanned<RawBudget>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawService {
    name: Spanned<String>,
    place: Spanned<String>,
    hosts: Vec<Spanned<String>>,
    #[serde(default)]
    ports: Vec<u16>,
    may: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    month: std::collections::BTreeMap<String, Spanned<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBudget {
    operation: String,
    median: Option<Spanned<String>>,
    p95: Option<Spanned<String>>,
    held: Option<Spanned<String>>,
}

#[derive(Clone, Copy)]
struct Text<'a>(ConfigFile<'a>);

impl Estate {
    /// Parses an estate file; `path` is used in errors. `read` returns the text of a named
    /// measurement.
    ///
    /// # Errors
    /// Returns position, fault and remedy.
    pub fn parse(path: &Path, text: &str, read: ReadMeasurement<'_>) -> Result<Self, ConfigError> {
        let file = ConfigFile {
            path,
            text,
            reference: "docs/plan.md has every key of an estate",
        };
        let at = Text(file);
        let raw: RawEstate =
            toml::from_str(text).map_err(|fault| file.parse_error(fault.span(), fault.message()))?;
        let mut places: Vec<Arc<str>> = Vec::new();
        for name in &raw.places {
            if places.iter().any(|known| **known == **name.get_ref()) {
                let what = format!("place '{}' is listed twice: leave one out", name.get_ref());
                return Err(at.error(name.span(), what));
            }
            places.push(name.get_ref().as_str().into());
        }
        let services = at.services(&raw.service, &places)?;
        Ok(Self {
            links: at.links(&raw.link, &places, read)?,
            budgets: at.budgets(&raw.budget)?,
            hours: raw.hours.map_or(Ok(MONTH_HOURS), |hours| at.price(&hours))?,
            observed: raw.observed.map(|text| at.duration(&text)).transpose()?,
            inside: raw.inside.map_or(Ok(Duration::ZERO), |text| at.duration(&text))?,
            currency: raw.currency,
            places,
            services,
        })
    }

    /// Link and price per gigabyte; `None` within a place.
    pub fn between(&self, [from, to]: [usize; 2]) -> Option<(LinkDescription, f64)> {
        self.links.iter().find_map(|known| match known.between {
            pair if pair == [from, to] => Some((known.link, known.price)),
            pair if pair == [to, from] => {
                let rate = known.link.rate.reversed();
                Some((LinkDescription { rate, ..known.link }, known.price))
            }
            _ => None,
        })
    }

    /// The service with an endpoint; for servers the port must match too.
    pub fn service_of(&self, endpoint: Endpoint, side: Side) -> Option<usize> {
        let has = |service: &EstateService| {
            let port =
                side == Side::Client || service.ports.is_empty() || service.ports.contains(&endpoint.port);
            port && service.hosts.iter().any(|host| host.has(endpoint.address))
        };
        self.services.iter().position(has)
    }

    /// Lower bound of all placements: each service in its cheapest place, no traffic between
    /// places.
    pub fn price_at_least(&self) -> f64 {
        let least = |service: &EstateService| {
            let prices = service.may.iter().map(|place| service.month[*place]);
            prices.fold(f64::INFINITY, f64::min)
        };
        self.services.iter().map(least).sum()
    }
}

/// Hours of a month of 365/12 days.
const MONTH_HOURS: f64 = 730.0;

impl Text<'_> {
    fn error(self, span: Range<usize>, what: String) -> ConfigError {
        self.0.error(span, what)
    }

    fn duration(self, text: &Spanned<String>) -> Result<Duration, ConfigError> {
        parse_duration(text.get_ref()).map_err(|fault| self.error(text.span(), fault.to_string()))
    }

    fn price(self, number: &Spanned<f64>) -> Result<f64, ConfigError> {
        let value = *number.get_ref();
        if value.is_finite() && (0.0..=1e12).contains(&value) {
            return Ok(value);
        }
        Err(self.error(
            number.span(),
            format!("{value} is out of range: write a number from 0 on"),
        ))
    }

    fn place_index(self, name: &Spanned<String>, places: &[Arc<str>]) -> Result<usize, ConfigError> {
        let known = places.iter().position(|place| **place == **name.get_ref());
        known.ok_or_else(|| {
            let what = format!(
                "there is no place '{}': use one of {}",
                name.get_ref(),
                places.join(", ")
            );
            self.error(name.span(), what)
        })
    }

    fn services(self, raw: &[RawService], places: &[Arc<str>]) -> Result<Vec<EstateService>, ConfigError> {
        let mut services: Vec<EstateService> = Vec::new();
        for one in raw {
            if services.iter().any(|known| *known.name == **one.name.get_ref()) {
                let what = format!(
                    "service '{}' is listed twice: give one another name",
                    one.name.get_ref()
                );
                return Err(self.error(one.name.span(), what));
            }
            services.push(self.service(one, places)?);
        }
        Ok(services)
    }

    fn service(self, one: &RawService, places: &[Arc<str>]) -> Result<EstateService, ConfigError> {
        let name = one.name.get_ref();
        let place = self.place_index(&one.place, places)?;
        let host = |text: &Spanned<String>| {
            let host = format!("{name}={}", text.get_ref()).parse::<Host>();
            host.map_err(|_| {
                let what = format!("'{}' is no address: write \"10.0.0.5\", \"10.0.0.0/24\", or the addresses of one machine with \
                                    commas between them", text.get_ref());
                self.error(text.span(), what)
            })
        };
        let mut may = match &one.may {
            Some(names) => names
                .iter()
                .map(|name| self.place_index(name, places))
                .collect::<Result<_, _>>()?,
            None => (0..places.len()).collect::<Vec<_>>(),
        };
        may.push(place);
        may.sort_unstable();
        may.dedup();
        let mut month = vec![0.0; places.len()];
        for (name, price) in &one.month {
            let Some(place) = places.iter().position(|place| **place == **name) else {
                let what = format!("there is no place '{name}': use one of {}", places.join(", "));
                return Err(self.error(price.span(), what));
            };
            month[place] = self.price(price)?;
        }
        Ok(EstateService {
            name: name.as_str().into(),
            place,
            hosts: one.hosts.iter().map(host).collect::<Result<_, _>>()?,
            ports: one.ports.clone(),
            may,
            month,
        })
    }

    fn budgets(self, raw: &[Spanned<RawBudget>]) -> Result<Vec<PlanBudget>, ConfigError> {
        let mut budgets = Vec::new();
        for spanned in raw {
            let one = spanned.get_ref();
            let limits = [
                (PlanMeasure::Median, &one.median),
                (PlanMeasure::P95, &one.p95),
                (PlanMeasure::Held, &one.held),
            ];
            let before = budgets.len();
            for (measure, text) in limits {
                if let Some(text) = text {
                    budgets.push(PlanBudget {
                        operation: Pattern::new(&one.operation),
                        measure,
                        allowed: self.duration(text)?,
                    });
                }
            }
            if budgets.len() == before {
                let what = "this budget limits nothing: give it median = \"200ms\", p95 or held".to_owned();
                return Err(self.error(spanned.span(), what));
            }
        }
        Ok(budgets)
    }
}

#[cfg(test)]
mod tests;
