//! A map with places on a circle, connected by lines, services below the name of their place.

use super::super::markup::{cut, section as page_section, time};
use crate::text::plan::money;
use maud::{Markup, Render, html};
use model::{PlacementOutcome, PlanLink, PlanOutcome};

pub(super) fn section(id: &str, heading: &str, plan: &PlanOutcome, outcome: &PlacementOutcome) -> Markup {
    let height = 2.0 * RADIUS[1] + ABOVE + BELOW;
    let content = html! {
        figure.map {
            svg.places viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label=(in_words(plan, outcome)) {
                @for link in &plan.links {
                    @let [(x1, y1), (x2, y2)] = ends(plan, link);
                    line x1=(whole(x1)) y1=(whole(y1)) x2=(whole(x2)) y2=(whole(y2)) {}
                }
                // Lines of a map with many places cross too often for labels; the table of links has the
                // figures.
                @if plan.places.len() <= MAX_LABELS {
                    @for link in &plan.links { (label(plan, link)) }
                }
                @for name in &plan.places { (place(plan, outcome, name)) }
            }
        }
    };
    page_section(id, heading, content)
}

fn place(plan: &PlanOutcome, outcome: &PlacementOutcome, name: &str) -> Markup {
    let (x, y) = position(plan, name);
    html! {
        circle cx=(whole(x)) cy=(whole(y)) r="6" {}
        text.name x=(whole(x)) y=(whole(y - 16.0)) { (cut(name, MAX_LINE_LEN)) }
        @for (index, line) in lines(&services_in(outcome, name)).iter().enumerate() {
            text x=(whole(x)) y=(whole(y + 20.0 + LINE * index as f64)) { (line) }
        }
    }
}

fn whole(length: f64) -> impl Render {
    format!("{length:.0}")
}

fn ends(plan: &PlanOutcome, link: &PlanLink) -> [(f64, f64); 2] {
    [&link.between[0], &link.between[1]].map(|place| position(plan, place))
}

/// The first place is at the left, the others follow clockwise.
fn position(plan: &PlanOutcome, place: &str) -> (f64, f64) {
    let known = plan.places.iter().position(|known| **known == *place);
    let turn = known.unwrap_or_default() as f64 / plan.places.len().max(1) as f64;
    let angle = std::f64::consts::TAU * turn;
    (
        WIDTH / 2.0 - angle.cos() * RADIUS[0],
        ABOVE + RADIUS[1] - angle.sin() * RADIUS[1],
    )
}

/// Round trip and price on a line: in the middle, or off it if many lines would cross there.
fn label(plan: &PlanOutcome, link: &PlanLink) -> Markup {
    let part = if plan.places.len() > 3 { 0.36 } else { 0.5 };
    let [(x1, y1), (x2, y2)] = ends(plan, link);
    let (x, y) = (x1 + (x2 - x1) * part, y1 + (y2 - y1) * part);
    html! {
        text.on x=(whole(x)) y=(whole(y - LINE / 2.0)) { (time(link.rtt)) }
        text.on x=(whole(x)) y=(whole(y + LINE / 2.0)) { (money(plan, link.price)) " a GB" }
    }
}

fn services_in<'a>(outcome: &'a PlacementOutcome, place: &str) -> Vec<&'a str> {
    let here = outcome.services.iter().filter(|one| *one.place == *place);
    here.map(|one| &*one.service).collect()
}

/// Breaks names into lines and counts those without room.
fn lines(names: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = cut(name, MAX_LINE_LEN);
        let is_last = lines.len() + 1 == MAX_LINES;
        match lines.last_mut() {
            Some(line) if line.chars().count() + name.chars().count() + 2 <= MAX_LINE_LEN => {
                line.push_str(", ");
                line.push_str(&name);
            }
            _ if is_last => {
                lines.push(format!("and {} more", names.len() - index));
                break;
            }
            _ => lines.push(name),
        }
    }
    lines
}

/// Text alternative of the map.
fn in_words(plan: &PlanOutcome, outcome: &PlacementOutcome) -> String {
    let places = plan
        .places
        .iter()
        .map(|place| match services_in(outcome, place).as_slice() {
            [] => format!("{place}: nothing"),
            services => format!("{place}: {}", services.join(", ")),
        });
    places.collect::<Vec<_>>().join("; ")
}

const WIDTH: f64 = 480.0;
const RADIUS: [f64; 2] = [155.0, 105.0];
const ABOVE: f64 = 30.0;
const BELOW: f64 = 20.0 + LINE * MAX_LINES as f64;
const LINE: f64 = 16.0;
const MAX_LINES: usize = 3;
const MAX_LINE_LEN: usize = 22;
const MAX_LABELS: usize = 5;
