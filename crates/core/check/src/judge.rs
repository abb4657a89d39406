//! Compares budgets with measured figures.

use crate::budget::{Budget, BudgetLimit, Most};
use crate::seen::Seen;
use anyhow::{Result, bail, ensure};
use link::LinkDescription;
use model::{
    BudgetMeasure, BudgetVerdict, Change, Finding, FindingKind, Fingerprint, ForbiddenWaste, Judgement,
    Prediction, format_duration,
};
use report::ReadOutcome;
use report::text::escape::printable;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Figures {
    /// Maximum over operations of the name.
    turns: BTreeMap<Arc<str>, u64>,
    predicted: BTreeMap<(Arc<str>, Arc<str>), Predicted>,
    /// The transactions open longest in each operation: their name and median, over each link and
    /// as measured (`None`).
    held: BTreeMap<(Arc<str>, Option<Arc<str>>), Held>,
    findings: Vec<Finding>,
    seen: Seen,
}

type Held = (Duration, Arc<str>);

/// The median, and the bounds instead where they are too wide for one.
#[derive(Debug, Clone, Copy, Default)]
struct Predicted {
    median: Option<Duration>,
    bounds: Option<[Duration; 2]>,
}

impl From<&Prediction> for Predicted {
    fn from(prediction: &Prediction) -> Self {
        let median = prediction.bounded();
        Self {
            median,
            bounds: prediction.bounds().filter(|_| median.is_none()),
        }
    }
}

impl Figures {
    pub fn from_outcome(outcome: &ReadOutcome) -> Self {
        let mut turns = BTreeMap::new();
        for group in outcome.operations.iter().filter(|group| group.count > 0) {
            let most: &mut u64 = turns.entry(group.name.clone()).or_default();
            *most = group.most_turns.max(*most);
        }
        let predicted = outcome.predictions.iter().map(|prediction| {
            let key = (prediction.operation_name.clone(), prediction.link.clone());
            (key, Predicted::from(prediction))
        });
        Self {
            turns,
            predicted: predicted.collect(),
            held: held(outcome),
            findings: outcome.findings.clone(),
            seen: Seen::from_outcome(outcome),
        }
    }

    /// Skips the checks for missing evidence.
    #[must_use]
    pub fn allowed(self) -> Self {
        Self {
            seen: self.seen.allowed(),
            ..self
        }
    }

    /// Includes names that only findings have.
    fn names(&self) -> BTreeSet<&Arc<str>> {
        let found = self.findings.iter().map(|finding| &finding.operation_name);
        self.turns.keys().chain(found).collect()
    }

    fn predicted(&self, name: &Arc<str>, link: &Arc<str>) -> Predicted {
        let predicted = self.predicted.get(&(name.clone(), link.clone())).copied();
        predicted.unwrap_or_else(|| Predicted {
            median: self.seen.unmoved(name),
            bounds: None,
        })
    }

    /// Time that transactions of the operation stay open, over a link or as measured. Zero if none
    /// stays open between replies; `None` if some do and could not be predicted.
    fn held(&self, name: &Arc<str>, link: Option<&Arc<str>>) -> Option<(Duration, Option<Arc<str>>)> {
        let of = |link: Option<&Arc<str>>| self.held.get(&(name.clone(), link.cloned()));
        match (of(link), of(None)) {
            (Some((span, transaction)), _) => Some((*span, Some(transaction.clone()))),
            (None, None) => Some((Duration::ZERO, None)),
            (None, Some(_)) => None,
        }
    }

    fn findings<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings
            .iter()
            .filter(move |finding| &*finding.operation_name == name)
    }

    fn sure_findings<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Finding> {
        model::sure_findings(&self.findings).filter(move |finding| &*finding.operation_name == name)
    }

    /// The remedy that removes most round trips.
    fn remedy(&self, name: &str) -> Option<String> {
        let of_turns = self
            .sure_findings(name)
            .filter(|finding| finding.kind != FindingKind::HeldTransaction);
        Self::told(of_turns.max_by_key(|finding| finding.saves_turns)?)
    }

    /// The remedy that shortens open transactions most, or else removes most round trips.
    fn remedy_of_held(&self, name: &str) -> Option<String> {
        let of_held = self
            .sure_findings(name)
            .filter(|finding| finding.kind == FindingKind::HeldTransaction);
        match of_held.max_by_key(|finding| finding.most()) {
            Some(finding) => Self::told(finding),
            None => self.remedy(name),
        }
    }

    fn told(finding: &Finding) -> Option<String> {
        let of = finding
            .fingerprint
            .as_ref()
            .map(|fingerprint| format!(" ({fingerprint})"));
        Some(format!(
            "{}{}: {}",
            finding.kind,
            of.unwrap_or_default(),
            finding.remedy
        ))
    }
}

/// The longest median per operation, over each link and as measured.
fn held(outcome: &ReadOutcome) -> BTreeMap<(Arc<str>, Option<Arc<str>>), Held> {
    let measured = outcome.held.iter().map(|held| {
        (
            (held.operation_name.clone(), None),
            (held.median, held.name.clone()),
        )
    });
    let predicted = outcome.held_predictions.iter().map(|held| {
        let key = (held.operation_name.clone(), Some(held.link.clone()));
        (key, (held.median, held.name.clone()))
    });
    let mut longest: BTreeMap<_, Held> = BTreeMap::new();
    for (key, held) in measured.chain(predicted) {
        let known = longest.entry(key).or_insert_with(|| held.clone());
        if held.0 > known.0 {
            *known = held;
        }
    }
    longest
}

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
    verdict.not_judged = not_judged(&verdict, now);
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
            let found = now.turns.get(name).map(|_| now.predicted(name, &link));
            let found = found.unwrap_or_default();
            let [low, high] = match found.bounds {
                Some(bounds) => bounds.map(Some),
                None => [None; 2],
            };
            BudgetMeasure::Predicted {
                allowed: match most {
                    Most::Absolute(span) => *span,
                    // Of the baseline's bounds the lower one, so that no slower run passes.
                    Most::More(span) => {
                        let Predicted { median, bounds } = before?.predicted(name, &link);
                        median.or(bounds.map(|[low, _]| low))?.saturating_add(*span)
                    }
                },
                found: found.median,
                low,
                high,
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
            missing.or_else(|| too_wide(&verdict.measure))
        }
    }
}

/// Clause for bounds with the budget between them.
fn too_wide(measure: &BudgetMeasure) -> Option<String> {
    let BudgetMeasure::Predicted {
        allowed,
        low: Some(low),
        high: Some(high),
        ..
    } = measure
    else {
        return None;
    };
    (low <= allowed && allowed < high).then(|| {
        format!(
            "the prediction is between {} and {}, too wide for a median; predict --explain says why",
            format_duration(*low),
            format_duration(*high)
        )
    })
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
        predicted: [before, now].map(|figures| figures.predicted(name, &link).median),
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
