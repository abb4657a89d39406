//! Placements as text.

use model::PlacementOutcome;

/// In the form of the command line, as in `shop=frankfurt,orders=zurich`.
pub fn placement_words(outcome: &PlacementOutcome) -> String {
    let services = outcome.services.iter();
    let words: Vec<String> = services
        .map(|one| format!("{}={}", one.service, one.place))
        .collect();
    words.join(",")
}
