//! Minimum-cost assignment of rows to columns.

pub(super) const IMPOSSIBLE: f64 = 1e12;

/// Returns each row's column in the assignment of minimum total cost; `None` if only an
/// [`IMPOSSIBLE`] one is left. `cost` is row-major, with at least as many columns as rows.
///
/// The Hungarian method with potentials: O(rows² · columns) (R. Jonker, A. Volgenant, Computing 38,
/// 1987).
pub(super) fn cheapest(cost: &[f64], rows: usize, columns: usize) -> Vec<Option<usize>> {
    let at = |row: usize, column: usize| cost.get(row * columns + column).copied().unwrap_or(IMPOSSIBLE);
    let mut of_row = vec![0.0; rows + 1];
    let mut of_column = vec![0.0; columns + 1];
    // Indices start at 1; 0 is "none".
    let mut row_of = vec![0_usize; columns + 1];
    for row in 1..=rows {
        let path = shortest_path(row, &at, &mut of_row, &mut of_column, &mut row_of);
        augment(path.end, &path.before, &mut row_of);
    }
    let mut found = vec![None; rows];
    for (column, &row) in row_of.iter().enumerate().skip(1) {
        if row > 0 && at(row - 1, column - 1) < IMPOSSIBLE {
            found[row - 1] = Some(column - 1);
        }
    }
    found
}

struct Path {
    end: usize,
    before: Vec<usize>,
}

fn shortest_path(
    row: usize,
    at: &impl Fn(usize, usize) -> f64,
    of_row: &mut [f64],
    of_column: &mut [f64],
    row_of: &mut [usize],
) -> Path {
    let columns = of_column.len();
    let mut least = vec![f64::INFINITY; columns];
    let mut before = vec![0; columns];
    let mut used = vec![false; columns];
    row_of[0] = row;
    let mut column = 0;
    loop {
        used[column] = true;
        let from = row_of[column];
        let (mut step, mut next) = (f64::INFINITY, 0);
        for other in (1..columns).filter(|&other| !used[other]) {
            let reduced = at(from - 1, other - 1) - of_row[from] - of_column[other];
            if reduced < least[other] {
                least[other] = reduced;
                before[other] = column;
            }
            if least[other] < step {
                step = least[other];
                next = other;
            }
        }
        for other in 0..columns {
            if used[other] {
                of_row[row_of[other]] += step;
                of_column[other] -= step;
            } else {
                least[other] -= step;
            }
        }
        column = next;
        if row_of[column] == 0 {
            return Path { end: column, before };
        }
    }
}

fn augment(mut column: usize, before: &[usize], row_of: &mut [usize]) {
    while column != 0 {
        let previous = before[column];
        row_of[column] = row_of[previous];
        column = previous;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn least(cost: &[f64], rows: usize, columns: usize, row: usize, taken: &mut Vec<usize>) -> f64 {
        if row == rows {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for column in 0..columns {
            if !taken.contains(&column) {
                taken.push(column);
                let sum = cost[row * columns + column] + least(cost, rows, columns, row + 1, taken);
                taken.pop();
                best = best.min(sum);
            }
        }
        best
    }

    #[test]
    fn no_other_pairing_is_cheaper() {
        let mut state = 7_u64;
        for round in 0..200 {
            let (rows, columns) = (1 + round % 5, 5);
            let cost: Vec<f64> = (0..rows * columns)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    ((state >> 40) % 50) as f64
                })
                .collect();
            let found = cheapest(&cost, rows, columns);
            let sum: f64 = found
                .iter()
                .enumerate()
                .map(|(row, column)| cost[row * columns + column.expect("there are enough")])
                .sum();
            assert!(
                (sum - least(&cost, rows, columns, 0, &mut Vec::new())).abs() < 1e-9,
                "{cost:?}"
            );
        }
    }

    #[test]
    fn what_is_impossible_is_not_paired() {
        let cost = [IMPOSSIBLE, 1.0, IMPOSSIBLE, 2.0];
        let found = cheapest(&cost, 2, 2);
        assert_eq!(found.iter().flatten().count(), 1);
    }
}
