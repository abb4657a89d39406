//! The baseline figures, and changes against them.

use crate::Tab;
use crate::figures::Figures;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Baseline {
    rows: HashMap<(Tab, Arc<str>), Figures>,
}

impl Baseline {
    pub(crate) fn new(operations: Vec<Figures>, statements: Vec<Figures>) -> Self {
        let operations = operations.into_iter().map(|row| (Tab::Operations, row));
        let statements = statements.into_iter().map(|row| (Tab::Statements, row));
        let rows = operations
            .chain(statements)
            .map(|(tab, row)| ((tab, Arc::clone(&row.name)), row));
        Self { rows: rows.collect() }
    }

    pub(crate) fn figures_of(&self, tab: Tab, name: &Arc<str>) -> Option<&Figures> {
        self.rows.get(&(tab, Arc::clone(name)))
    }
}

/// In a few columns, such as `+12%`, `x3.4` or `=`.
pub(crate) fn change(now: Option<f64>, before: Option<f64>) -> Option<String> {
    let (now, before) = now.zip(before)?;
    if before <= 0.0 {
        return None;
    }
    let share = now / before - 1.0;
    Some(match share.abs() {
        ..0.005 => "=".to_owned(),
        0.005..10.0 => format!("{:+.0}%", share * 100.0),
        _ => format!("x{:.0}", now / before),
    })
}

pub(crate) fn seconds(span: Option<Duration>) -> Option<f64> {
    span.map(|span| span.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_in_a_few_columns() {
        let told = |now, before| change(Some(now), Some(before)).unwrap_or_default();
        assert_eq!(told(1.001, 1.0), "=");
        assert_eq!(told(1.5, 1.0), "+50%");
        assert_eq!(told(0.25, 1.0), "-75%");
        assert_eq!(told(40.0, 1.0), "x40");
        assert_eq!(told(1.0, 0.0), "");
        assert_eq!(change(None, Some(1.0)), None);
    }
}
