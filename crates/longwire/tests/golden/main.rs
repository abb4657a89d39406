//! Predictions of real products, compared with those accepted in `tests/golden`: any change fails,
//! and is shown as a review. `make golden-accept REASON="why"` accepts it.

mod accepted;
mod cells;
mod conformal;
mod errors;
mod review;
mod throughput;

use accepted::{Accepted, CALIBRATED_FILE, FILE, Prediction};
use cells::{Cell, Computing};
use std::path::{Path, PathBuf};

/// `tests/golden`, with a folder for each product.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

#[test]
fn predictions_are_those_accepted() {
    let cells = cells::all(&folder());
    let calibrated = cells::calibrated(&folder(), &cells);
    let now = predicted(&cells, Computing::Assumed);
    let now_calibrated = predicted(&calibrated, Computing::Calibrated);
    let before = Accepted::read(&folder(), FILE);
    if let Ok(reason) = std::env::var("LONGWIRE_GOLDEN_ACCEPT") {
        now_calibrated.write(&folder(), CALIBRATED_FILE);
        return review::accept(&folder(), &cells, &before, &now, &reason);
    }
    compare(&cells, &before, &now);
    let before = Accepted::read(&folder(), CALIBRATED_FILE);
    compare(&calibrated, &before, &now_calibrated);
}

fn predicted(cells: &[Cell], with: Computing) -> Accepted {
    Accepted::from_predictions(cells, &cells::predict(&folder(), cells, with))
}

fn compare(cells: &[Cell], before: &Accepted, now: &Accepted) {
    assert_eq!(
        before.stale(cells),
        [""; 0],
        "no cell any more: make golden-accept"
    );
    let changes = review::changes(cells, before, now);
    assert!(
        changes.is_empty(),
        "{}\n\nWhere this is meant: make golden-accept REASON=\"why\"",
        review::text(&changes, cells, before, now)
    );
}

/// With `LONGWIRE_GOLDEN_SCALES` it writes the scales.
#[test]
fn bounds_are_scaled_by_the_residuals() {
    let cells = cells::all(&folder());
    let calibrated = cells::calibrated(&folder(), &cells);
    let file = conformal::file();
    if std::env::var_os("LONGWIRE_GOLDEN_SCALES").is_some() {
        let now = predicted(&cells, Computing::Assumed);
        let with = predicted(&calibrated, Computing::Calibrated);
        let scales = conformal::tables_of_scales(&cells, &now, &calibrated, &with);
        return conformal::write(&file, &scales);
    }
    let accepted = Accepted::read(&folder(), FILE);
    let with = Accepted::read(&folder(), CALIBRATED_FILE);
    assert_eq!(
        review::read(&file),
        conformal::tables_of_scales(&cells, &accepted, &calibrated, &with),
        "{} has other scales: make golden-accept",
        file.display()
    );
}

#[test]
fn published_errors_are_those_of_the_accepted_predictions() {
    let cells = cells::all(&folder());
    let accepted = Accepted::read(&folder(), FILE);
    for (page, table) in review::pages(&folder(), &cells, &accepted) {
        let text = review::read(&page);
        let page = page.display();
        assert_eq!(
            review::between_marks(&text, review::BEGIN),
            table,
            "{page} has other errors: make golden-accept"
        );
    }
}

#[test]
fn bounds_are_scaled_by_the_residuals_of_throughputs() {
    let (scales, page) = (throughput::scales(), throughput::page());
    let file = throughput::file();
    if std::env::var_os("LONGWIRE_GOLDEN_SCALES").is_some() {
        conformal::write(&file, &scales);
        return review::write_page(&page.0, &page.1, throughput::BEGIN);
    }
    assert_eq!(
        review::read(&file),
        scales,
        "{} has other scales: make golden-accept",
        file.display()
    );
    let text = review::read(&page.0);
    assert_eq!(review::between_marks(&text, throughput::BEGIN), page.1);
}
