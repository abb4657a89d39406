//! The methods of a database: functions with their parameters.

use super::content::{Content, LiteralOpening, Row};
use super::job_connection::JobConnection;
use crate::{Error, Shape};
use model::{Job, Method, MethodParameter, ParameterUnit};
use std::ops::Range;

pub(crate) struct MethodRow<R: 'static> {
    pub job: Job,
    pub name: &'static str,
    pub parameter: Option<ParameterRow>,
    /// Runs the job, from the first statement of its transaction to the last.
    pub run: Run<R>,
}

pub(crate) type Run<R> = fn(&mut JobConnection<'_, R>, &Work<'_>) -> Result<(), Error>;

pub(crate) struct ParameterRow {
    pub name: &'static str,
    pub series: Series,
    /// Statement form, and the usual name in drivers.
    pub spelling: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    /// Doubles from 2 rows per request, limited by request length and number of rows.
    Rows,
    /// Doubles from 2 to 1024 requests in flight.
    Depth,
    /// Rows per fetch, starting with 1, 10, 50, 100, 200, 400.
    Fetch,
    /// Like [`Series::Fetch`], limited by the update's rows.
    FetchForUpdate,
    /// Doubles from 512 bytes to 1 MiB.
    Buffer,
}

pub(crate) struct Work<'w> {
    pub scratch: &'w str,
    pub content: &'w Content,
    /// Of the insert, update or select.
    pub rows: u64,
    /// The setting, or 1 if there is none.
    pub value: u64,
    /// Maximum request length in bytes.
    pub longest_request: u64,
}

impl<R> MethodRow<R> {
    pub const fn plain(job: Job, name: &'static str, run: Run<R>) -> Self {
        Self {
            job,
            name,
            parameter: None,
            run,
        }
    }

    pub const fn set(job: Job, name: &'static str, parameter: ParameterRow, run: Run<R>) -> Self {
        Self {
            job,
            name,
            parameter: Some(parameter),
            run,
        }
    }

    /// Depends on `row_bytes` and `longest_request`.
    pub fn method(&self, shape: &Shape, row_bytes: u64, longest_request: u64) -> Method {
        let parameter = self.parameter.as_ref().map(|parameter| MethodParameter {
            name: parameter.name.into(),
            unit: parameter.series.unit(),
            values: parameter.series.values(shape, row_bytes, longest_request),
            // A client without settings goes row by row or handles all rows at once, which are
            // separate ways here.
            default: None,
            spelling: parameter.spelling.into(),
        });
        Method {
            job: self.job,
            name: self.name.into(),
            parameter,
        }
    }
}

impl Work<'_> {
    /// Key ranges of at most `size` rows.
    pub fn blocks(&self, size: u64) -> impl Iterator<Item = Range<u64>> {
        let end = self.rows + 1;
        let starts = std::iter::successors(Some(1_u64), move |start| start.checked_add(size));
        starts
            .take_while(move |start| *start < end)
            .map(move |start| start..start.saturating_add(size).min(end))
    }

    /// Appends an insert for the rows of `keys`; for `opening` see [`Row::literals`].
    pub fn insert(&self, text: &mut Vec<u8>, table: &str, keys: Range<u64>, opening: LiteralOpening) {
        let mut row = Row::default();
        text.extend_from_slice(format!("insert into {}.{table} values ", self.scratch).as_bytes());
        let first = keys.start;
        for key in keys {
            if key > first {
                text.push(b',');
            }
            self.content.write(key, &mut row);
            row.literals(text, opening);
        }
    }
}

impl Series {
    const fn unit(self) -> ParameterUnit {
        match self {
            Self::Rows | Self::Fetch | Self::FetchForUpdate => ParameterUnit::Rows,
            Self::Depth => ParameterUnit::Number,
            Self::Buffer => ParameterUnit::Bytes,
        }
    }

    fn values(self, shape: &Shape, row_bytes: u64, longest_request: u64) -> Vec<u64> {
        match self {
            Self::Rows => doubling(2, shape.rows.min(longest_request / (2 * row_bytes).max(1))),
            Self::Depth => doubling(2, shape.rows.min(DEEPEST)),
            Self::Fetch => fetches(shape.select_rows),
            Self::FetchForUpdate => fetches(shape.rows),
            Self::Buffer => doubling(MIN_BUFFER_BYTES, MAX_BUFFER_BYTES),
        }
    }
}

fn fetches(rows: u64) -> Vec<u64> {
    let few = [1, 10, 50].into_iter().filter(|value| *value < rows);
    let mut values: Vec<u64> = few.collect();
    values.extend(doubling(100, rows));
    values.dedup();
    values
}

/// Doubles from `from` up to `to`; at least one value.
fn doubling(from: u64, to: u64) -> Vec<u64> {
    if to < from {
        return vec![to.max(1)];
    }
    std::iter::successors(Some(from), |value| value.checked_mul(2))
        .take_while(|value| *value <= to)
        .collect()
}

const DEEPEST: u64 = 1024;
const MIN_BUFFER_BYTES: u64 = 512;
const MAX_BUFFER_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_end_with_the_rows() {
        assert_eq!(doubling(2, 9), [2, 4, 8]);
        assert_eq!(doubling(2, 1), [1]);
        assert_eq!(fetches(450), [1, 10, 50, 100, 200, 400]);
        assert_eq!(fetches(30), [1, 10, 30]);
        assert_eq!(fetches(1), [1]);
        let shape = Shape {
            rows: 1000,
            select_rows: 1000,
            row_bytes: 100,
            like: None,
        };
        assert_eq!(Series::Rows.values(&shape, 100, 2000), [2, 4, 8]);
        assert_eq!(Series::Rows.values(&shape, 100, 1 << 20).last(), Some(&512));
    }
}
