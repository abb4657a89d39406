//! Maps with places on a circle, connected by lines, each with its services.

use super::super::markup::{cut, time};
use crate::text::escape::columns;
use crate::text::plan::money;
use maud::{Markup, html};
use model::{PlacementOutcome, PlanLink, PlanOutcome};

/// `title` names the placement.
pub(super) fn figure(title: &str, plan: &PlanOutcome, outcome: &PlacementOutcome) -> Markup {
    html! {
        figure.map {
            figcaption { b { (title) } ", " (money(plan, outcome.price)) " a month" }
            @for size in [WIDE, NARROW] { (drawing(title, plan, outcome, size)) }
            @if plan.places.len() > MAX_WITH_SERVICES {
                ul.small { @for place in &plan.places { li { (in_words(outcome, place)) } } }
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Size {
    class: &'static str,
    width: f64,
    /// Of the circle, along and up.
    radius: [f64; 2],
    max_line_len: usize,
}

fn drawing(title: &str, plan: &PlanOutcome, outcome: &PlacementOutcome, size: Size) -> Markup {
    let names: Vec<Label> = plan
        .places
        .iter()
        .map(|place| name(plan, outcome, place, size))
        .collect();
    let links = link_labels(plan, &names, size, 2)
        .or_else(|| link_labels(plan, &names, size, 1))
        .unwrap_or_default();
    let dots = || plan.places.iter().map(|place| position(plan, place, size));
    let tops = names
        .iter()
        .map(|name| name.top)
        .chain(dots().map(|(_, y)| y - DOT));
    let bottoms = names
        .iter()
        .map(Label::bottom)
        .chain(dots().map(|(_, y)| y + DOT));
    let top = tops.fold(0.0, f64::min) - 4.0;
    let height = bottoms.fold(0.0, f64::max) + 4.0 - top;
    let words: Vec<String> = plan.places.iter().map(|place| in_words(outcome, place)).collect();
    html! {
        svg class={ "places " (size.class) } role="img" aria-label={ (title) ": " (words.join("; ")) }
            viewBox=(format!("0 {top:.0} {:.0} {height:.0}", size.width)) {
            @for link in &plan.links {
                @let [(x1, y1), (x2, y2)] = ends(plan, link, size);
                line x1=(whole(x1)) y1=(whole(y1)) x2=(whole(x2)) y2=(whole(y2)) {}
            }
            @for label in &links { (text(label, "on")) }
            @for (x, y) in dots() { circle cx=(whole(x)) cy=(whole(y)) r="6" {} }
            @for name in &names { (text(name, "name")) }
        }
    }
}

/// `class` is that of the first line.
fn text(label: &Label, class: &str) -> Markup {
    html! {
        @for (index, line) in label.lines.iter().enumerate() {
            @let class = if index == 0 || class == "on" { class } else { "service" };
            text class=(class) x=(whole(label.x)) y=(whole(label.top + LINE * (index as f64 + 0.5))) { (line) }
        }
    }
}

fn whole(length: f64) -> String {
    format!("{length:.0}")
}

/// Lines of text around `x`.
#[derive(Debug, Clone)]
struct Label {
    x: f64,
    top: f64,
    lines: Vec<String>,
    /// Width of a letter, on average.
    letter: f64,
}

impl Label {
    fn bottom(&self) -> f64 {
        self.top + LINE * self.lines.len() as f64
    }

    fn half_width(&self) -> f64 {
        let longest = self.lines.iter().map(|line| columns(line)).max();
        longest.unwrap_or_default() as f64 * self.letter / 2.0
    }

    fn overlaps(&self, other: &Self) -> bool {
        (self.x - other.x).abs() < self.half_width() + other.half_width()
            && self.top < other.bottom()
            && other.top < self.bottom()
    }

    fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.x - x).abs() < self.half_width() && (self.top..self.bottom()).contains(&y)
    }
}

/// The name of a place and its services, above places of the upper half and below the others.
fn name(plan: &PlanOutcome, outcome: &PlacementOutcome, place: &str, size: Size) -> Label {
    let (x, y) = position(plan, place, size);
    let mut lines = vec![cut(place, size.max_line_len)];
    if plan.places.len() <= MAX_WITH_SERVICES {
        lines.extend(broken_into_lines(&services_in(outcome, place), size.max_line_len));
    }
    let height = LINE * lines.len() as f64;
    let top = if y < 1.0 { y - DOT - height } else { y + DOT };
    let mut label = Label {
        x,
        top,
        lines,
        letter: 7.6,
    };
    let half = label.half_width().min(size.width / 2.0);
    label.x = x.clamp(half, size.width - half);
    label
}

fn ends(plan: &PlanOutcome, link: &PlanLink, size: Size) -> [(f64, f64); 2] {
    [&link.between[0], &link.between[1]].map(|place| position(plan, place, size))
}

/// Clockwise, the first place at the top or left of it; two places are side by side. The middle of
/// the circle has `y` 0.
fn position(plan: &PlanOutcome, place: &str, size: Size) -> (f64, f64) {
    let count = plan.places.len().max(1);
    let known = plan
        .places
        .iter()
        .position(|known| **known == *place)
        .unwrap_or_default();
    let first = match count {
        2 => -0.25,
        count if count.is_multiple_of(4) => -0.5 / count as f64,
        _ => 0.0,
    };
    let angle = std::f64::consts::TAU * (known as f64 / count as f64 + first);
    (
        size.width / 2.0 + angle.sin() * size.radius[0],
        -angle.cos() * size.radius[1],
    )
}

/// Round trip and price of each link, or the first `lines` of these, on its line, where they cover
/// nothing else. `None` if one has no room.
fn link_labels(plan: &PlanOutcome, names: &[Label], size: Size, lines: usize) -> Option<Vec<Label>> {
    let mut labels: Vec<Label> = Vec::new();
    for link in &plan.links {
        let [(x1, y1), (x2, y2)] = ends(plan, link, size);
        let words = [time(link.rtt), format!("{} a GB", money(plan, link.price))];
        let at = |part: f64| Label {
            x: x1 + (x2 - x1) * part,
            top: y1 + (y2 - y1) * part - LINE * lines as f64 / 2.0,
            lines: words.iter().take(lines).cloned().collect(),
            letter: 6.6,
        };
        let others = || plan.links.iter().filter(|other| other.between != link.between);
        let is_free = |label: &Label| {
            !names.iter().chain(&labels).any(|taken| taken.overlaps(label))
                && !others().any(|other| is_crossed(label, ends(plan, other, size)))
        };
        labels.push(PARTS.into_iter().map(at).find(is_free)?);
    }
    Some(labels)
}

fn is_crossed(label: &Label, [(x1, y1), (x2, y2)]: [(f64, f64); 2]) -> bool {
    let part = |step: u32| f64::from(step) / f64::from(STEPS);
    (0..=STEPS).any(|step| label.contains((x1 + (x2 - x1) * part(step), y1 + (y2 - y1) * part(step))))
}

fn services_in<'a>(outcome: &'a PlacementOutcome, place: &str) -> Vec<&'a str> {
    let here = outcome.services.iter().filter(|one| *one.place == *place);
    here.map(|one| &*one.service).collect()
}

/// Counts the names without room.
fn broken_into_lines(names: &[&str], max_len: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = cut(name, max_len);
        let is_last = lines.len() + 1 == MAX_LINES;
        match lines.last_mut() {
            Some(line) if columns(line) + columns(&name) + 2 <= max_len => {
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

fn in_words(outcome: &PlacementOutcome, place: &str) -> String {
    match services_in(outcome, place).as_slice() {
        [] => format!("{place}: nothing"),
        services => format!("{place}: {}", services.join(", ")),
    }
}

const WIDE: Size = Size {
    class: "wide",
    width: 590.0,
    radius: [230.0, 140.0],
    max_line_len: 24,
};
const NARROW: Size = Size {
    class: "narrow",
    width: 358.0,
    radius: [150.0, 150.0],
    max_line_len: 16,
};
const LINE: f64 = 17.0;
const DOT: f64 = 10.0;
const MAX_LINES: usize = 3;
const MAX_WITH_SERVICES: usize = 6;
/// Where a label may be on its line, best first.
const PARTS: [f64; 9] = [0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.21, 0.79];
/// Points of a line that may touch a label.
const STEPS: u32 = 60;
