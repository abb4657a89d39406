//! Bounds scaled by the residuals of the measured applications (split conformal), and their coverage of
//! an application that is left out.

use super::{Accepted, Cell, Prediction};
use crate::cells::judged;
use crate::errors::{Judged, percentile};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Margins of a class, scaled.
struct Scale {
    class: String,
    residuals: usize,
    applications: usize,
    factor: f64,
    max_clients: u64,
    /// Least and most, in whole milliseconds.
    rtts_ms: [f64; 2],
}

/// `longwire-predict`'s table of scales.
pub fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/predict/src/bounds/scales.tsv")
}

/// An unchanged file does not build the crate again.
pub fn write(file: &Path, scales: &str) {
    if crate::review::read(file) != scales {
        std::fs::write(file, scales).expect("written");
    }
}

pub fn tables_of_scales(cells: &[Cell], accepted: &Accepted, calibrated: &[Cell], with: &Accepted) -> String {
    table_of_scales(cells, accepted) + &rows_of_scales(calibrated, with)
}

pub fn table_of_scales(cells: &[Cell], accepted: &Accepted) -> String {
    format!("{HEAD}\n{}", rows_of_scales(cells, accepted))
}

fn rows_of_scales(cells: &[Cell], accepted: &Accepted) -> String {
    let all = leave_one_out(cells, accepted);
    let mut text = String::new();
    for scale in scales(&judged(cells, accepted), None) {
        let Coverage {
            cells,
            applications,
            inside,
            ..
        } = Coverage::from_judged(&backing(&all, &scale.class));
        let Scale {
            class,
            factor,
            max_clients,
            rtts_ms: [least, most],
            ..
        } = scale;
        let inside = inside * 100.0;
        writeln!(
            text,
            "{class}\t{cells}\t{applications}\t{inside:.0}\t{factor:.3}\t{max_clients}\t{least}\t{most}"
        )
        .expect("a string");
    }
    text
}

/// Each cell with bounds that are scaled by the other applications' residuals.
pub fn leave_one_out<'a>(cells: &'a [Cell], accepted: &Accepted) -> Vec<Judged<'a>> {
    let all = judged(cells, accepted);
    let factors: BTreeMap<&str, BTreeMap<String, f64>> = products(cells)
        .into_iter()
        .map(|product| {
            let scales = scales(&all, Some(product)).into_iter();
            (product, scales.map(|scale| (scale.class, scale.factor)).collect())
        })
        .collect();
    let scaled = |cell: &Cell, prediction: Prediction| {
        let factor = factors[cell.product.as_str()].get(&prediction.class);
        let factor = factor.copied().unwrap_or(1.0);
        prediction.scaled(factor)
    };
    all.into_iter()
        .map(|(cell, prediction)| (cell, prediction.map(|prediction| scaled(cell, prediction))))
        .collect()
}

pub fn products(cells: &[Cell]) -> Vec<&str> {
    let mut products: Vec<&str> = cells.iter().map(|cell| cell.product.as_str()).collect();
    products.dedup();
    products
}

fn scales(all: &[Judged<'_>], left_out: Option<&str>) -> Vec<Scale> {
    let residuals: Vec<(&Cell, &Prediction)> = all
        .iter()
        .filter_map(|(cell, prediction)| Some((*cell, prediction.as_ref()?)))
        .collect();
    let mut classes: Vec<&str> = residuals
        .iter()
        .map(|(_, prediction)| prediction.class.as_str())
        .collect();
    classes.sort_unstable();
    classes.dedup();
    classes
        .into_iter()
        .map(|class| scale_of_class(class, &residuals, left_out))
        .collect()
}

/// A class with too few residuals is joined with that of other numbers of clients, then with all.
/// That does not depend on the application that is left out.
fn scale_of_class(class: &str, residuals: &[(&Cell, &Prediction)], left_out: Option<&str>) -> Scale {
    let selected = |is_of: &dyn Fn(&str) -> bool| -> Vec<(&Cell, &Prediction)> {
        let of_class = residuals
            .iter()
            .filter(|(_, prediction)| is_of(&prediction.class));
        of_class.copied().collect()
    };
    let own = selected(&|other| other == class);
    let (_, share) = class.split_once(", ").expect("clients, share");
    let joined = selected(&|other| other.ends_with(share));
    let all = selected(&|_| true);
    let applications = by_application(&all).len().min(MIN_APPLICATIONS);
    let mut pool = [own.clone(), joined]
        .into_iter()
        .find(|pool| pool.len() >= MIN_RESIDUALS && by_application(pool).len() >= applications)
        .unwrap_or(all);
    pool.retain(|(cell, _)| left_out != Some(cell.product.as_str()));
    let rtts = || own.iter().map(|(cell, _)| cell.rtt_ms);
    Scale {
        class: class.to_owned(),
        residuals: pool.len(),
        applications: by_application(&pool).len(),
        factor: quantile(&pool),
        max_clients: own.iter().map(|(cell, _)| cell.clients).max().unwrap_or(0),
        rtts_ms: [
            rtts().fold(f64::INFINITY, f64::min).floor(),
            rtts().fold(0.0, f64::max).ceil(),
        ],
    }
}

fn by_application<'a>(pool: &[(&'a Cell, &Prediction)]) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    for (cell, _) in pool {
        *counts.entry(cell.product.as_str()).or_default() += 1;
    }
    counts
}

/// The score that [`LEVEL`] of the residuals, and of one more cell that may have any, do not exceed.
/// Each application weighs the same. The correction for one more cell is per cell, although applications
/// are the exchangeable unit: it is too small for an application left out.
fn quantile(pool: &[(&Cell, &Prediction)]) -> f64 {
    let counts = by_application(pool);
    let mut scores: Vec<(f64, f64)> = pool
        .iter()
        .map(|(cell, prediction)| {
            let of_application = counts[cell.product.as_str()] * counts.len();
            (prediction.score(cell.measured()), 1.0 / of_application as f64)
        })
        .collect();
    scores.sort_by(|a, b| a.0.total_cmp(&b.0));
    let level = LEVEL * (1.0 + 1.0 / pool.len() as f64);
    let mut sum = 0.0;
    let reached = scores.iter().find(|(_, weight)| {
        sum += weight;
        sum >= level
    });
    reached.or(scores.last()).map_or(1.0, |(score, _)| *score)
}

/// Coverage of left-out applications, by class.
pub fn coverage(cells: &[Cell], accepted: &Accepted) -> String {
    let all = leave_one_out(cells, accepted);
    let mut text = COVERAGE_HEAD.to_owned();
    for scale in scales(&judged(cells, accepted), None) {
        let of_class = of_class(&all, &scale.class);
        let pool = format!("{} of {} applications", scale.residuals, scale.applications);
        writeln!(
            text,
            "{}",
            coverage_row(&scale.class, &pool, &format!("{:.2}", scale.factor), &of_class)
        )
        .expect("a string");
    }
    text += &coverage_row("all", "", "", &all);
    write!(text, "\n\n{}", words(cells, &all)).expect("a string");
    text
}

/// The class, or all where it is too small for a share.
fn backing<'a>(all: &[Judged<'a>], class: &str) -> Vec<Judged<'a>> {
    let of_class = of_class(all, class);
    if of_class.len() < MIN_STATED {
        all.to_vec()
    } else {
        of_class
    }
}

fn of_class<'a>(all: &[Judged<'a>], class: &str) -> Vec<Judged<'a>> {
    let is_of = |prediction: &Option<Prediction>| prediction.as_ref().is_some_and(|one| one.class == class);
    let of_class = all.iter().filter(|(_, prediction)| is_of(prediction));
    of_class.cloned().collect()
}

fn coverage_row(class: &str, pool: &str, factor: &str, judged: &[Judged<'_>]) -> String {
    let coverage = Coverage::from_judged(judged);
    let [least, most] = coverage.interval();
    format!(
        "| {class} | {} | {pool} | {factor} | {:.0} % | {:.0} to {:.0} % | {:.0} % | {:.1} |",
        coverage.cells,
        coverage.inside * 100.0,
        least * 100.0,
        most * 100.0,
        coverage.width * 100.0,
        coverage.halves,
    )
}

/// Counts, and the application with the lowest coverage.
fn words(cells: &[Cell], all: &[Judged<'_>]) -> String {
    let inside = |product: &str| {
        let of_product: Vec<Judged<'_>> = all
            .iter()
            .filter(|(cell, _)| cell.product == product)
            .cloned()
            .collect();
        Coverage::from_judged(&of_product).inside
    };
    let products = products(cells);
    let lowest = products
        .iter()
        .map(|product| (inside(product), *product))
        .filter(|(inside, _)| inside.is_finite())
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .expect("an application");
    format!(
        "{} applications, {} cells, {} of them refused. Lowest coverage of an application: {:.0} % ({}). Design effect of \
         all: {:.1}.",
        products.len(),
        cells.len(),
        all.iter().filter(|(_, prediction)| prediction.is_none()).count(),
        lowest.0 * 100.0,
        lowest.1,
        Coverage::from_judged(all).design_effect,
    )
}

/// Names with a refused cell.
pub fn refused(cells: &[Cell], accepted: &Accepted) -> String {
    let all = leave_one_out(cells, accepted);
    let mut refused: BTreeSet<String> = BTreeSet::new();
    for (cell, _) in all.iter().filter(|(_, prediction)| prediction.is_none()) {
        let name = format!(
            "`{}` ({}, {} clients)",
            cell.operation_name, cell.product, cell.clients
        );
        refused.insert(name);
    }
    format!("Refused: {}.", refused.into_iter().collect::<Vec<_>>().join("; "))
}

struct Coverage {
    cells: usize,
    applications: usize,
    inside: f64,
    /// Variance of `inside` over that of as many independent cells.
    design_effect: f64,
    /// Median share of the measured time.
    width: f64,
    /// Median of width over the halves' difference.
    halves: f64,
}

impl Coverage {
    fn from_judged(judged: &[Judged<'_>]) -> Self {
        let mut applications: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
        let [mut widths, mut halves] = [Vec::new(), Vec::new()];
        for (cell, prediction) in judged {
            let Some(prediction) = prediction else { continue };
            let measured = cell.measured();
            let [all, inside] = applications.entry(&cell.product).or_default();
            *all += 1.0;
            *inside += f64::from(u8::from(prediction.holds(measured)));
            widths.push(prediction.width(measured));
            halves.push(prediction.width(measured) / cell.repeatability().max(1e-4));
        }
        let [all, inside] = applications
            .values()
            .fold([0.0; 2], |[all, inside], of| [all + of[0], inside + of[1]]);
        let share = inside / all;
        let count = applications.len() as f64;
        let squares: f64 = applications
            .values()
            .map(|[all, inside]| (inside - all * share).powi(2))
            .sum();
        let clustered = squares * count / (count - 1.0).max(1.0);
        let independent = all * share * (1.0 - share);
        Self {
            cells: widths.len(),
            applications: applications.len(),
            inside: share,
            design_effect: match independent > 0.0 {
                true => (clustered / independent).max(1.0),
                false => 1.0,
            },
            width: percentile(widths, 50),
            halves: percentile(halves, 50),
        }
    }

    /// Wilson's 95 % interval for as many independent cells as the design effect leaves.
    fn interval(&self) -> [f64; 2] {
        let count = self.cells as f64 / self.design_effect;
        let square = Z_95 * Z_95 / count;
        let middle = (self.inside + square / 2.0) / (1.0 + square);
        let half = Z_95 / (1.0 + square)
            * (self.inside * (1.0 - self.inside) / count + square / (4.0 * count)).sqrt();
        [middle - half, middle + half]
    }
}

const LEVEL: f64 = 0.9;
const MIN_RESIDUALS: usize = 100;
const MIN_STATED: usize = 20;
const MIN_APPLICATIONS: usize = 4;
const Z_95: f64 = 1.96;
const HEAD: &str = "# class\tcells\tapplications\t% inside when left out\tfactor of the margins\tclients up to\trtt_ms from\tto";
const COVERAGE_HEAD: &str = "\
| class | cells | residuals | margins times | inside the bounds | 95 % interval | width | width over the halves' difference |
|---|---|---|---|---|---|---|---|
";
