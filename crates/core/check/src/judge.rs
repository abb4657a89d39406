//! Compares budgets with measured figures.

mod figures;

pub use figures::Figures;

use crate::budget::{Budget, BudgetLimit, Most};
use anyhow::{Result, bail, ensure};
use link::LinkDescription;
use model::{
    BudgetMeasure, BudgetVerdict, Change, Finding, FindingKind, Fingerprint, ForbiddenWaste, Judgement,
    PredictedDuration, format_duration,
};
use report::text::escape::{explain_flag, printable};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Checks every operation against its budgets. Budgets with names override those without, and later
/// ones override earlier ones.
///
/// # Errors
/// If there are no operations, a budget matches none, or a relative budget has no baseline to
/// compare with.
pub fn judge(budgets: &[Budget], now: &Figures, before: Option<&Figures>) -> Result<Vec<BudgetVerdict>> {
    ensure!(
        !now.turns.is_empty(),
        "the files hold no operation, so no budget can be judged; --operations says how exchanges are grouped"
    );
    if let Some(budget) = budgets.iter().find(|budget| budget.is_relative())
        && before.is_none()
    {
        bail!("{budget} counts from a baseline: name one with --baseline");
    }
    let names = now.names();
    for budget in budgets {
        if !names.iter().any(|name| budget.is_for(name)) {
            bail!("{budget} matches no operation. Seen: {}", listed(now));
        }
    }
    let verdicts: Vec<BudgetVerdict> = names
        .into_iter()
        .flat_map(|name| {
            budgets_of(budgets, name)
                .into_iter()
                .filter_map(move |budget| verdict(budget, name, now, before))
        })
        .collect();
    ensure!(
        budgets.is_empty() || !verdicts.is_empty(),
        "the baseline has none of these operations, so no budget could be broken; there are {}",
        listed(now)
    );
    Ok(verdicts)
}

fn listed(now: &Figures) -> String {
    let names: Vec<String> = now
        .turns
        .keys()
        .take(NAMES_TOLD)
        .map(|name| format!("'{}'", printable(name)))
        .collect();
    let more = match now.turns.len().saturating_sub(NAMES_TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}

/// Operation names listed in a message.
const NAMES_TOLD: usize = 5;

/// The budget that applies to `name`, of those for the same figure.
fn budgets_of<'a>(budgets: &'a [Budget], name: &str) -> Vec<&'a Budget> {
    let mut chosen: Vec<&Budget> = Vec::new();
    for budget in budgets.iter().filter(|budget| budget.is_for(name)) {
        match chosen.iter_mut().find(|other| other.is_like(budget)) {
            Some(other) if budget.names.is_some() || other.names.is_none() => *other = budget,
            Some(_) => {}
            None => chosen.push(budget),
        }
    }
    chosen
}

/// `None` if there is no such operation, or none in the baseline of a relative budget.
fn verdict(
    budget: &Budget,
    name: &Arc<str>,
    now: &Figures,
    before: Option<&Figures>,
) -> Option<BudgetVerdict> {
    let mut verdict = BudgetVerdict {
        operation_name: name.clone(),
        measure: measure(budget, name, now, before)?,
        remedy: None,
        not_judged: None,
    };
    verdict.not_judged = not_judged(&verdict, now).or_else(|| too_wide_before(budget, &verdict, before?));
    if verdict.judgement() == Judgement::Broken {
        verdict.remedy = remedy(&verdict, now);
    }
    Some(verdict)
}

fn measure(
    budget: &Budget,
    name: &Arc<str>,
    now: &Figures,
    before: Option<&Figures>,
) -> Option<BudgetMeasure> {
    Some(match &budget.limit {
        BudgetLimit::Turns(most) => BudgetMeasure::Turns {
            allowed: match most {
                Most::Absolute(turns) => *turns,
                Most::More(turns) => before?.turns.get(name)?.saturating_add(*turns),
            },
            found: *now.turns.get(name)?,
        },
        BudgetLimit::Predicted(most, link) => {
            let link = text_of(link);
            let found = now.turns.get(name).and_then(|_| now.predicted(name, &link));
            BudgetMeasure::Predicted {
                allowed: match most {
                    Most::Absolute(span) => *span,
                    // The baseline's lower bound, so that no slower run passes: `too_wide_before`.
                    Most::More(span) => before?.predicted(name, &link)?.low().saturating_add(*span),
                },
                found,
                link,
            }
        }
        BudgetLimit::Held(most, link) => {
            let link = link.as_deref().map(text_of);
            now.turns.get(name)?;
            let (found, transaction) = match now.held(name, link.as_ref()) {
                Some((found, transaction)) => (Some(found), transaction),
                None => (None, None),
            };
            BudgetMeasure::Held {
                allowed: match most {
                    Most::Absolute(span) => *span,
                    Most::More(span) => before
                        .filter(|before| before.turns.contains_key(name))?
                        .held(name, link.as_ref())?
                        .0
                        .saturating_add(*span),
                },
                found,
                transaction,
                link,
            }
        }
        BudgetLimit::Forbid(kind) => BudgetMeasure::Forbidden {
            kind: *kind,
            found: found(*kind, name, now),
        },
    })
}

fn remedy(broken: &BudgetVerdict, now: &Figures) -> Option<String> {
    let name = &broken.operation_name;
    match &broken.measure {
        BudgetMeasure::Turns { .. } | BudgetMeasure::Predicted { .. } => now.remedy(name),
        BudgetMeasure::Held { .. } => now.remedy_of_held(name),
        BudgetMeasure::Forbidden { kind, .. } => {
            worst(*kind, name, now).map(|finding| finding.remedy.clone())
        }
    }
}

fn not_judged(verdict: &BudgetVerdict, now: &Figures) -> Option<String> {
    let name = &verdict.operation_name;
    let doubt = now.seen.doubt(name);
    match verdict.judgement() {
        Judgement::Broken => doubt.filter(|_| may_be_anothers(&verdict.measure, name, now)),
        Judgement::Kept | Judgement::NotJudged => {
            let missing = doubt.or_else(|| now.seen.missing_for(&verdict.measure, name));
            missing.or_else(|| too_wide(verdict))
        }
    }
}

/// Clause for bounds with the budget between them.
fn too_wide(verdict: &BudgetVerdict) -> Option<String> {
    let BudgetMeasure::Predicted {
        allowed,
        found: Some(PredictedDuration::Bounds { low, high }),
        ..
    } = &verdict.measure
    else {
        return None;
    };
    let name = &verdict.operation_name;
    (low <= allowed && allowed < high).then(|| too_wide_clause("the prediction", [*low, *high], name))
}

/// Clause for a broken budget that the baseline's upper bound would allow.
fn too_wide_before(budget: &Budget, verdict: &BudgetVerdict, before: &Figures) -> Option<String> {
    let BudgetLimit::Predicted(Most::More(span), _) = &budget.limit else {
        return None;
    };
    let BudgetMeasure::Predicted { found, link, .. } = &verdict.measure else {
        return None;
    };
    let name = &verdict.operation_name;
    let Some(PredictedDuration::Bounds { low, high }) = before.predicted(name, link) else {
        return None;
    };
    let is_allowed = (*found)?.low() <= high.saturating_add(*span);
    (verdict.judgement() == Judgement::Broken && is_allowed)
        .then(|| too_wide_clause("the baseline's prediction", [low, high], name))
}

fn too_wide_clause(prediction: &str, [low, high]: [Duration; 2], name: &str) -> String {
    format!(
        "{prediction} is between {} and {}, too wide for a median; predict {} says why",
        format_duration(low),
        format_duration(high),
        explain_flag(name)
    )
}

/// True if the cost that breaks a budget may belong to another operation. For findings, this covers
/// the whole kind ([`model::FindingOwners::Doubtful`]).
fn may_be_anothers(measure: &BudgetMeasure, name: &Arc<str>, now: &Figures) -> bool {
    let BudgetMeasure::Forbidden { kind, .. } = measure else {
        return true;
    };
    let mut of_kind = now.findings(name).filter(|finding| finding.kind == *kind);
    of_kind.all(Finding::may_be_others)
}

fn text_of(link: &LinkDescription) -> Arc<str> {
    link.to_string().into()
}

fn worst<'a>(kind: FindingKind, name: &'a str, now: &'a Figures) -> Option<&'a Finding> {
    now.findings(name)
        .filter(|finding| finding.kind == kind)
        .max_by_key(|finding| (finding.turns, finding.count))
}

fn found(kind: FindingKind, name: &str, now: &Figures) -> Option<ForbiddenWaste> {
    let worst = worst(kind, name, now)?;
    let places = now.findings(name).filter(|finding| finding.kind == kind).count();
    Some(ForbiddenWaste {
        fingerprint: worst.fingerprint.clone(),
        count: worst.count,
        turns: worst.turns,
        places: places as u64,
    })
}

/// Changes per name, over names in either run; predicted times are over `link`.
pub fn changes(before: &Figures, now: &Figures, link: &LinkDescription) -> Vec<Change> {
    let link = text_of(link);
    let known: BTreeSet<(FindingKind, Option<&Fingerprint>, &str)> =
        before.findings.iter().map(identity).collect();
    let names: BTreeSet<&Arc<str>> = before.turns.keys().chain(now.turns.keys()).collect();
    let change = |name: &Arc<str>| Change {
        operation_name: name.clone(),
        turns: [before, now].map(|figures| figures.turns.get(name).copied()),
        link: link.clone(),
        predicted: [before, now].map(|figures| figures.predicted(name, &link)?.median()),
        new_findings: now
            .findings(name)
            .filter(|finding| !known.contains(&identity(finding)))
            .map(|finding| (finding.kind, finding.fingerprint.clone()))
            .collect(),
    };
    names.into_iter().map(change).collect()
}

fn identity(finding: &Finding) -> (FindingKind, Option<&Fingerprint>, &str) {
    (
        finding.kind,
        finding.fingerprint.as_ref(),
        &finding.operation_name,
    )
}

#[cfg(test)]
mod tests;
