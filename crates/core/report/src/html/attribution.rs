//! Attributions as bars with their figures.

use super::markup::{px, share, time};
use crate::ranges::{duration_range, each, share_range};
use maud::{Markup, html};
use model::{Attribution, Margin};
use std::time::Duration;

pub fn parts(attribution: &Attribution) -> [(&'static str, &'static str, Duration); 7] {
    [
        ("client", "client", attribution.client),
        ("server", "server", attribution.server),
        ("pooler", "pooler", attribution.pooler),
        ("trip", "distance", attribution.round_trip),
        ("transfer", "transfer", attribution.transfer),
        ("recovery", "recovery", attribution.recovery),
        ("unknown", "unknown", attribution.unknown),
    ]
}

/// A bar with parts in proportion to their shares, and a text alternative for screen readers.
pub fn bar(attribution: &Attribution) -> Markup {
    let said: Vec<String> = seen_parts(attribution)
        .map(|(class, name, part)| format!("{name} {}", share_of(attribution, class, part)))
        .collect();
    let label = match said.is_empty() {
        true => "no time".to_owned(),
        false => said.join(", "),
    };
    html! {
        svg.bar viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label=(label) {
            (rectangles(attribution))
        }
    }
}

/// Rectangles of a bar 1000 wide and 10 high.
pub fn rectangles(attribution: &Attribution) -> Markup {
    let whole = attribution.total().as_secs_f64();
    let places = seen_parts(attribution).scan(0.0, |from, (class, name, part)| {
        let width = part.as_secs_f64() / whole * 1000.0;
        let begin = *from;
        *from += width;
        Some((
            class,
            format!("{name} {}", share_of(attribution, class, part)),
            begin,
            width,
        ))
    });
    html! {
        @for (class, title, from, width) in places {
            rect class={ "p-" (class) } x=(px(from)) y="0" width=(px(width)) height="10" { title { (title) } }
        }
    }
}

/// Labels of the bar with swatch, mean and share of each part. `client` names the client.
pub fn labels(attribution: &Attribution, operations: u64, client: &str) -> Markup {
    html! {
        ul.parts {
            @for (class, name, part) in seen_parts(attribution) {
                @let mean = part.div_f64(operations.max(1) as f64);
                li {
                    i class={ "swatch s-" (class) } {}
                    b { (if class == "client" { client } else { name }) }
                    " " span { (share_of(attribution, class, part)) }
                    " " span.faint {
                        @match class {
                            "server" => (duration_range(mean, each(attribution.server_margin, operations.max(1))).replace(" us", " µs")),
                            _ => (time(mean)),
                        }
                    }
                }
            }
        }
    }
}

fn share_of(attribution: &Attribution, class: &str, part: Duration) -> String {
    let margin = match class {
        "server" => attribution.server_margin,
        _ => Margin::default(),
    };
    share_range(part, margin, attribution.total(), share)
}

fn seen_parts(attribution: &Attribution) -> impl Iterator<Item = (&'static str, &'static str, Duration)> {
    parts(attribution)
        .into_iter()
        .filter(|(_, _, part)| !part.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_all_parts_and_nothing_of_an_empty_one() {
        let millis = Duration::from_millis;
        let attribution = Attribution {
            client: millis(1),
            server: millis(3),
            ..Attribution::default()
        };
        let out = bar(&attribution).0;
        assert!(out.contains("aria-label=\"client 25 %, server 75 %\""), "{out}");
        assert!(out.contains("x=\"250.0\" y=\"0\" width=\"750.0\""), "{out}");
        let out = bar(&Attribution::default()).0;
        assert!(!out.contains("<rect") && out.contains("no time"), "{out}");
    }
}
