//! Errors of predictions beside the repeatability of the measurement, by class. Bounds are scaled by
//! the residuals of the other applications.

use super::{Accepted, Cell, Prediction};
use crate::conformal::{leave_one_out, products};
use std::fmt::Write;

/// A cell, and its prediction unless it was refused.
pub type Judged<'a> = (&'a Cell, Option<Prediction>);

const CLASSES: [(&str, u64, [f64; 2]); 6] = [
    ("1 client, 2 ms", 1, [0.0, 5.0]),
    ("1 client, 10 ms", 1, [5.0, 20.0]),
    ("1 client, 40 ms", 1, [20.0, 100.0]),
    ("4 clients, 2 ms", 4, [0.0, 5.0]),
    ("4 clients, 10 ms", 4, [5.0, 20.0]),
    ("4 clients, 40 ms", 4, [20.0, 100.0]),
];

fn is_of_class(cell: &Cell, (_, clients, [least, most]): (&str, u64, [f64; 2])) -> bool {
    cell.clients == clients && (least..most).contains(&cell.rtt_ms)
}

/// By clients and round trip, for the first page.
pub fn summary(cells: &[Cell], accepted: &Accepted) -> String {
    let all = leave_one_out(cells, accepted);
    let mut table = SUMMARY_HEAD.to_owned();
    for class in CLASSES {
        let of_class: Vec<Judged<'_>> = all
            .iter()
            .filter(|(cell, _)| is_of_class(cell, class))
            .cloned()
            .collect();
        let figures = Figures::from_judged(&of_class);
        write!(
            table,
            "\n| {} | {} of {} | {} | {} | {} |",
            class.0,
            figures.predicted,
            of_class.len(),
            percent(figures.median),
            percent(figures.halves),
            whole_percent(figures.inside)
        )
        .expect("a string");
    }
    table
}

const SUMMARY_HEAD: &str = "\
| class | predicted | median error | halves of a measurement differ by | inside the bounds |
|---|---|---|---|---|";

/// All cells, then by clients, round trip and product.
pub fn table(cells: &[Cell], accepted: &Accepted) -> String {
    table_of(HEAD, row, cells, &leave_one_out(cells, accepted))
}

/// The same with fewer columns, for docs/accuracy.md.
pub fn brief(cells: &[Cell], accepted: &Accepted) -> String {
    let all = leave_one_out(cells, accepted);
    let figures = Figures::from_judged(&all);
    format!(
        "{}\n\nOf all, the mean error is {}, and the rank correlation {:.3}.",
        table_of(BRIEF_HEAD, brief_row, cells, &all),
        percent(figures.mean),
        figures.rank
    )
}

fn table_of(
    head: &str,
    row: fn(&str, &[Judged<'_>]) -> String,
    cells: &[Cell],
    all: &[Judged<'_>],
) -> String {
    let mut table = head.to_owned();
    let mut add = |class: &str, holds: &dyn Fn(&Cell) -> bool| {
        let of_class: Vec<Judged<'_>> = all.iter().filter(|(cell, _)| holds(cell)).cloned().collect();
        write!(table, "\n{}", row(class, &of_class)).expect("a string");
    };
    add("all", &|_| true);
    for class in CLASSES {
        add(class.0, &|cell| is_of_class(cell, class));
    }
    for product in products(cells) {
        add(product, &|cell| cell.product == product);
    }
    table
}

const HEAD: &str = "\
| class | cells | predicted | mean error | median | 90 % within | worst | within the halves' difference | halves differ by | rank correlation | inside the bounds | width of bounds |
|---|---|---|---|---|---|---|---|---|---|---|---|";

const BRIEF_HEAD: &str = "\
| class | cells | predicted | median error, % | 90 % within, % | worst, % | halves differ by, % | inside the bounds, % | width of bounds, % |
|---|---|---|---|---|---|---|---|---|";

pub fn throughputs(class: &str, judged: &[Judged<'_>]) -> String {
    let Figures {
        predicted,
        median,
        worst,
        halves,
        inside,
        width,
        ..
    } = Figures::from_judged(judged);
    format!(
        "\n| {class} | {} | {predicted} | {} | {} | {} | {} | {} |",
        judged.len(),
        tenths(median),
        signed(worst),
        tenths(halves),
        whole(inside),
        whole(width),
    )
}

pub fn calibrated([all, cells]: [&[Cell]; 2], assumed: &Accepted, calibrated: &Accepted) -> String {
    let products = products(cells);
    let mut assumed = leave_one_out(all, assumed);
    assumed.retain(|(cell, _)| products.contains(&cell.product.as_str()));
    let both = [assumed, leave_one_out(cells, calibrated)];
    let mut table = CALIBRATED_HEAD.to_owned();
    let mut add = |class: &str, holds: &dyn Fn(&Cell) -> bool| {
        let figures = both.each_ref().map(|judged| {
            let of_class: Vec<Judged<'_>> = judged.iter().filter(|(cell, _)| holds(cell)).cloned().collect();
            let Figures {
                median,
                inside,
                width,
                ..
            } = Figures::from_judged(&of_class);
            format!(
                "{} | {} | {}",
                percent(median),
                whole_percent(inside),
                whole_percent(width)
            )
        });
        let count = cells.iter().filter(|cell| holds(cell)).count();
        write!(table, "\n| {class} | {count} | {} |", figures.join(" | ")).expect("a string");
    };
    for product in &products {
        add(product, &|cell| cell.product == *product);
    }
    for class in CLASSES {
        add(class.0, &|cell| is_of_class(cell, class));
    }
    add("all", &|_| true);
    table
}

const CALIBRATED_HEAD: &str = "\
| class | cells | assumed: median error | inside the bounds | width | calibrated: median error | inside the bounds | width |
|---|---|---|---|---|---|---|---|";

/// The median error and coverage, in one line.
pub fn headline(cells: &[Cell], accepted: &Accepted) -> String {
    let all = leave_one_out(cells, accepted);
    let figures = Figures::from_judged(&all);
    format!(
        "median {}, mean {}, inside {}",
        percent(figures.median),
        percent(figures.mean),
        percent(figures.inside)
    )
}

fn row(class: &str, judged: &[Judged<'_>]) -> String {
    let Figures {
        predicted,
        mean,
        median,
        p90,
        worst,
        within,
        halves,
        rank,
        inside,
        width,
    } = Figures::from_judged(judged);
    format!(
        "| {class} | {} | {predicted} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
        judged.len(),
        percent(mean),
        percent(median),
        percent(p90),
        stated(worst, |worst| format!("{:+.0} %", worst * 100.0)),
        whole_percent(within),
        percent(halves),
        stated(rank, |rank| format!("{rank:.3}")),
        whole_percent(inside),
        whole_percent(width),
    )
}

fn brief_row(class: &str, judged: &[Judged<'_>]) -> String {
    let figures = Figures::from_judged(judged);
    format!(
        "| {class} | {} | {} | {} | {} | {} | {} | {} | {} |",
        judged.len(),
        figures.predicted,
        tenths(figures.median),
        tenths(figures.p90),
        signed(figures.worst),
        tenths(figures.halves),
        whole(figures.inside),
        whole(figures.width),
    )
}

fn percent(share: f64) -> String {
    stated(share, |share| format!("{:.1} %", share * 100.0))
}

fn whole_percent(share: f64) -> String {
    stated(share, |share| format!("{:.0} %", share * 100.0))
}

/// Percent, where the head of a column has the unit.
fn tenths(share: f64) -> String {
    stated(share, |share| format!("{:.1}", share * 100.0))
}

fn whole(share: f64) -> String {
    stated(share, |share| format!("{:.0}", share * 100.0))
}

fn signed(share: f64) -> String {
    stated(share, |share| format!("{:+.0}", share * 100.0))
}

/// Without any prediction there is no figure.
fn stated(figure: f64, text: impl Fn(f64) -> String) -> String {
    match figure.is_finite() {
        true => text(figure),
        false => "-".to_owned(),
    }
}

/// Shares, but for the count.
struct Figures {
    /// With a median, not bounds alone.
    predicted: usize,
    mean: f64,
    median: f64,
    p90: f64,
    worst: f64,
    /// Cells with an error at most as large as the difference of their halves.
    within: f64,
    halves: f64,
    /// Spearman's, of predicted and measured times.
    rank: f64,
    inside: f64,
    width: f64,
}

impl Figures {
    fn from_judged(judged: &[Judged<'_>]) -> Self {
        let predicted: Vec<(&Cell, &Prediction)> = judged
            .iter()
            .filter_map(|(cell, prediction)| Some((*cell, prediction.as_ref()?)))
            .collect();
        let signed: Vec<(&Cell, f64)> = predicted
            .iter()
            .filter_map(|(cell, prediction)| Some((*cell, prediction.error(cell.measured())?)))
            .collect();
        let errors: Vec<f64> = signed.iter().map(|(_, error)| error.abs()).collect();
        let within = signed
            .iter()
            .filter(|(cell, error)| error.abs() <= cell.repeatability())
            .count();
        let inside = predicted
            .iter()
            .filter(|(cell, prediction)| prediction.holds(cell.measured()))
            .count();
        let widths = predicted
            .iter()
            .map(|(cell, prediction)| prediction.width(cell.measured()))
            .collect();
        Self {
            predicted: signed.len(),
            mean: errors.iter().sum::<f64>() / errors.len() as f64,
            median: percentile(errors.clone(), 50),
            p90: percentile(errors, 90),
            worst: signed
                .iter()
                .map(|(_, error)| *error)
                .max_by(|a, b| a.abs().total_cmp(&b.abs()))
                .unwrap_or(f64::NAN),
            within: within as f64 / signed.len() as f64,
            halves: percentile(judged.iter().map(|(cell, _)| cell.repeatability()).collect(), 50),
            rank: rank_correlation(&predicted),
            inside: inside as f64 / predicted.len() as f64,
            width: percentile(widths, 50),
        }
    }
}

pub fn percentile(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get(last * percent / 100).copied().unwrap_or(f64::NAN)
}

fn rank_correlation(predicted: &[(&Cell, &Prediction)]) -> f64 {
    let pairs: Vec<(f64, f64)> = predicted
        .iter()
        .filter(|(_, prediction)| prediction.is_stated)
        .map(|(cell, prediction)| (prediction.median_ms, cell.measured()))
        .collect();
    let ranks_of_predicted = ranks(pairs.iter().map(|pair| pair.0).collect());
    let ranks_of_measured = ranks(pairs.iter().map(|pair| pair.1).collect());
    let count = pairs.len() as f64;
    let squares: f64 = ranks_of_predicted
        .iter()
        .zip(&ranks_of_measured)
        .map(|(a, b)| (a - b).powi(2))
        .sum();
    1.0 - 6.0 * squares / (count * (count * count - 1.0))
}

/// Equal values, which times of microseconds hardly have, get ranks in their order.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = rank as f64;
    }
    ranks
}
