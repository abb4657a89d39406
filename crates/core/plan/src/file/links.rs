//! Links between all pairs of places, written or measured.

use super::measured::MeasuredLink;
use super::{PlaceLink, ReadMeasurement, Text};
use link::LinkDescription;
use model::ConfigError;
use serde::Deserialize;
use std::sync::Arc;
use toml::Spanned;

/// Either `link` or `measured` in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLink {
    between: [Spanned<String>; 2],
    link: Option<Spanned<String>>,
    measured: Option<Spanned<String>>,
    #[serde(default)]
    price: Option<Spanned<f64>>,
}

impl Text<'_> {
    pub(super) fn links(
        self,
        raw: &[Spanned<RawLink>],
        places: &[Arc<str>],
        read: ReadMeasurement<'_>,
    ) -> Result<Vec<PlaceLink>, ConfigError> {
        let mut links: Vec<PlaceLink> = Vec::new();
        for spanned in raw {
            let one = spanned.get_ref();
            let [first, second] = [
                self.place_index(&one.between[0], places)?,
                self.place_index(&one.between[1], places)?,
            ];
            if first == second || joining(&links, [first, second]).is_some() {
                let what = "a link joins two different places, and each two have one: leave this one out";
                return Err(self.error(one.between[1].span(), what.to_owned()));
            }
            links.push(PlaceLink {
                between: [first, second],
                link: self.link(spanned, read)?,
                price: one.price.as_ref().map_or(Ok(0.0), |price| self.price(price))?,
            });
        }
        self.complete(&links, places)?;
        Ok(links)
    }

    fn link(
        self,
        spanned: &Spanned<RawLink>,
        read: ReadMeasurement<'_>,
    ) -> Result<LinkDescription, ConfigError> {
        let one = spanned.get_ref();
        match (&one.link, &one.measured) {
            (Some(text), None) => text
                .get_ref()
                .parse()
                .map_err(|fault: link::Error| self.error(text.span(), fault.to_string())),
            (None, Some(name)) => read(name.get_ref())
                .and_then(|records| MeasuredLink::parse(&records)?.link())
                .map_err(|fault| self.error(name.span(), format!("{}: {fault}", name.get_ref()))),
            (Some(_), Some(name)) => {
                let what = "a link is either written or measured: leave out 'link' or 'measured'";
                Err(self.error(name.span(), what.to_owned()))
            }
            (None, None) => {
                let what = "this link has no distance: give it link = \"10ms\", or measured = \"FILE\" with the records of \
                            longwire echo --json or longwire ping --json";
                Err(self.error(spanned.span(), what.to_owned()))
            }
        }
    }

    fn complete(self, links: &[PlaceLink], places: &[Arc<str>]) -> Result<(), ConfigError> {
        for first in 0..places.len() {
            for second in first + 1..places.len() {
                if joining(links, [first, second]).is_none() {
                    let [first, second] = [&places[first], &places[second]];
                    let what = format!(
                        "no link joins {first} and {second}: add [[link]] with between = [\"{first}\", \"{second}\"] and link = \"10ms\""
                    );
                    return Err(self.error(0..0, what));
                }
            }
        }
        Ok(())
    }
}

fn joining(links: &[PlaceLink], pair: [usize; 2]) -> Option<&PlaceLink> {
    let mut links = links.iter();
    links.find(|link| pair.iter().all(|place| link.between.contains(place)))
}
