//! Predictions of real products, compared with those accepted in `tests/golden`: any change fails,
//! and is shown as a review. `make golden-accept REASON="why"` accepts it.

mod accepted;
mod cells;
mod conformal;
mod errors;
mod review;

use accepted::{Accepted, Prediction};
use cells::Cell;
use std::path::{Path, PathBuf};

/// `tests/golden`, with a folder for each product.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

#[test]
fn predictions_are_those_accepted() {
    let cells = cells::all(&folder());
    let predicted = cells::predict(&folder(), &cells);
    let now = Accepted::from_predictions(&cells, &predicted);
    let before = Accepted::read(&folder());
    if let Ok(reason) = std::env::var("LONGWIRE_GOLDEN_ACCEPT") {
        return review::accept(&folder(), &cells, &before, &now, &reason);
    }
    assert_eq!(
        before.stale(&cells),
        [""; 0],
        "no cell any more: make golden-accept"
    );
    let changes = review::changes(&cells, &before, &now);
    assert!(
        changes.is_empty(),
        "{}\n\nWhere this is meant: make golden-accept REASON=\"why\"",
        review::text(&changes, &cells, &before, &now)
    );
}

/// With `LONGWIRE_GOLDEN_SCALES` it writes the scales.
#[test]
fn bounds_are_scaled_by_the_residuals() {
    let cells = cells::all(&folder());
    let file = conformal::file();
    if std::env::var_os("LONGWIRE_GOLDEN_SCALES").is_some() {
        let predicted = cells::predict(&folder(), &cells);
        let now = Accepted::from_predictions(&cells, &predicted);
        let scales = conformal::table_of_scales(&cells, &now);
        // An unchanged file does not build the crate again.
        if review::read(&file) != scales {
            std::fs::write(&file, scales).expect("written");
        }
        return;
    }
    let accepted = Accepted::read(&folder());
    assert_eq!(
        review::read(&file),
        conformal::table_of_scales(&cells, &accepted),
        "{} has other scales: make golden-accept",
        file.display()
    );
}

#[test]
fn published_errors_are_those_of_the_accepted_predictions() {
    let cells = cells::all(&folder());
    let accepted = Accepted::read(&folder());
    for (page, table) in review::pages(&folder(), &cells, &accepted) {
        let text = review::read(&page);
        let page = page.display();
        assert_eq!(
            review::between_marks(&text),
            table,
            "{page} has other errors: make golden-accept"
        );
    }
}
