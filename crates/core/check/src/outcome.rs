use crate::Budget;
use crate::judge::{Figures, changes, judge};
use anyhow::Result;
use link::LinkDescription;
use report::ReadOutcome;
use report::outcome::CheckReport;

/// Judges `now` by the budgets, and compares it with `before`. Changes of predicted times are over
/// `link`.
///
/// # Errors
/// As [`judge`].
pub fn outcome(
    title: String,
    budgets: &[Budget],
    link: &LinkDescription,
    now: ReadOutcome,
    before: Option<ReadOutcome>,
    allow_unseen: bool,
) -> Result<CheckReport> {
    let figures = Figures::from_outcome(&now);
    let figures = if allow_unseen { figures.allowed() } else { figures };
    let earlier = before.as_ref().map(Figures::from_outcome);
    let verdicts = judge(budgets, &figures, earlier.as_ref())?;
    let changes = earlier.map(|earlier| changes(&earlier, &figures, link));
    let of_baseline = before.into_iter().flat_map(|before| before.warnings);
    let of_baseline = of_baseline.map(|warning| warning.with_name("baseline"));
    Ok(CheckReport {
        title,
        operations: now.operations,
        verdicts,
        allows_unseen: allow_unseen,
        changes: changes.unwrap_or_default(),
        summary: now.summary,
        warnings: now.warnings.into_iter().chain(of_baseline).collect(),
    })
}
