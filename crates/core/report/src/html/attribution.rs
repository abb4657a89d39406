//! Attributions as bars with their figures.

use super::markup::{share, time};
use crate::ranges::{duration_range, each, share_range};
use model::{Attribution, Margin};
use std::fmt::Write;
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
pub fn bar(attribution: &Attribution, out: &mut String) {
    let said: Vec<String> = seen_parts(attribution)
        .map(|(class, name, part)| format!("{name} {}", share_of(attribution, class, part)))
        .collect();
    let label = if said.is_empty() {
        "no time".to_owned()
    } else {
        said.join(", ")
    };
    let _ = write!(
        out,
        "<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">"
    );
    rectangles(attribution, out);
    out.push_str("</svg>");
}

/// Rectangles of a bar 1000 wide and 10 high.
pub fn rectangles(attribution: &Attribution, out: &mut String) {
    let whole = attribution.total().as_secs_f64();
    let mut from = 0.0;
    for (class, name, part) in seen_parts(attribution) {
        let width = part.as_secs_f64() / whole * 1000.0;
        let _ = write!(
            out,
            "<rect class=\"p-{class}\" x=\"{from:.1}\" y=\"0\" width=\"{width:.1}\" height=\"10\"><title>{name} {}</title></rect>",
            share_of(attribution, class, part)
        );
        from += width;
    }
}

/// Labels of the bar with swatch, mean and share of each part. `client` names the client.
pub fn labels(attribution: &Attribution, operations: u64, client: &str, out: &mut String) {
    out.push_str("<ul class=\"parts\">");
    for (class, name, part) in seen_parts(attribution) {
        let name = if class == "client" { client } else { name };
        let mean = part.div_f64(operations.max(1) as f64);
        let _ = write!(
            out,
            "<li><i class=\"swatch s-{class}\"></i><b>{name}</b> <span>{}</span> <span class=\"faint\">{}</span></li>",
            share_of(attribution, class, part),
            match class {
                "server" => duration_range(mean, each(attribution.server_margin, operations.max(1))),
                _ => time(mean),
            }
        );
    }
    out.push_str("</ul>");
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
        let mut out = String::new();
        bar(&attribution, &mut out);
        assert!(out.contains("aria-label=\"client 25 %, server 75 %\""), "{out}");
        assert!(out.contains("x=\"250.0\" y=\"0\" width=\"750.0\""), "{out}");
        out.clear();
        bar(&Attribution::default(), &mut out);
        assert!(!out.contains("<rect") && out.contains("no time"), "{out}");
    }
}
