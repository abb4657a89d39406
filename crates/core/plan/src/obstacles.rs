//! Obstacles to moving single services, and their remedies.

use crate::forecast::Observed;
use crate::placement::{Placement, link_of};
use model::{
    BrokenBudget, Finding, FindingKind, Fingerprint, HeldBack, HoldingStatement, Operation, Phase,
    PlacementOutcome, PlanFix, PlanMeasure, Share,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Reasons why services cannot move alone to their other allowed places. `outcomes` belong to
/// `placements`, today's first.
pub fn held_back(
    observed: Observed<'_>,
    placements: &[Placement],
    outcomes: &[PlacementOutcome],
    findings: &[Finding],
) -> Vec<HeldBack> {
    let (Some(today), Some(now)) = (placements.first(), outcomes.first()) else {
        return Vec::new();
    };
    let alone = placements
        .iter()
        .zip(outcomes)
        .filter(|(_, outcome)| outcome.moved == 1);
    let held = alone.filter_map(|(placement, outcome)| {
        let service = (0..placement.0.len()).find(|&service| placement.0[service] != today.0[service])?;
        let worst = outcome
            .broken
            .iter()
            .max_by(|one, other| excess(one).total_cmp(&excess(other)))?;
        let burden = Burden::new(observed, placement, &worst.operation_name);
        let fixes = burden.fixes(findings);
        let fixed_all = outcome.broken.iter().all(|broken| {
            let fixes = Burden::new(observed, placement, &broken.operation_name).fixes(findings);
            fixed(broken, &fixes).is_some_and(|fixed| fixed <= broken.allowed)
        });
        Some(HeldBack {
            service: observed.estate.services[service].name.clone(),
            place: observed.estate.places[placement.0[service]].clone(),
            broken: worst.clone(),
            price_change: outcome.price - now.price,
            statements: burden.statements(observed),
            fixed: fixed(worst, &fixes),
            may_move: fixed_all,
            fixes,
        })
    });
    held.collect()
}

fn excess(broken: &BrokenBudget) -> f64 {
    broken.found.as_secs_f64() / broken.allowed.as_secs_f64().max(1e-9)
}

/// Predicted time with all fixes; `None` without fixes, and for held transactions, since their
/// statements are unknown.
fn fixed(broken: &BrokenBudget, fixes: &[PlanFix]) -> Option<Duration> {
    if fixes.is_empty() || broken.measure == PlanMeasure::Held {
        return None;
    }
    let saves: Duration = fixes.iter().map(|fix| fix.saves).sum();
    Some(broken.found.saturating_sub(saves))
}

/// Round trips of one operation name on links that a placement lengthens.
struct Burden<'a> {
    name: &'a str,
    operations: u64,
    /// By pair of services and statement: round trips, and the link's round-trip time.
    turns: BTreeMap<(usize, Option<Fingerprint>), (u64, Duration)>,
    /// The part that opens database connections, by pair.
    opened: BTreeMap<usize, (u64, Duration)>,
    /// Round trips that open database connections on any link: findings count them all.
    opened_anywhere: u64,
}

impl<'a> Burden<'a> {
    fn new(observed: Observed<'_>, placement: &Placement, name: &'a str) -> Self {
        let mut burden = Self {
            name,
            operations: 0,
            turns: BTreeMap::new(),
            opened: BTreeMap::new(),
            opened_anywhere: 0,
        };
        let named = observed
            .operations
            .iter()
            .filter(|operation| *operation.name == *name);
        for operation in named {
            burden.operations += u64::from(!operation.continues);
            burden.add(observed, placement, operation);
        }
        burden
    }

    fn add(&mut self, observed: Observed<'_>, placement: &Placement, operation: &Operation) {
        for step in &operation.steps {
            let opens = step.protocol.is_database()
                && matches!(step.exchange.phase, Phase::Connect | Phase::Tls | Phase::Login);
            if opens {
                self.opened_anywhere += u64::from(step.exchange.turns);
            }
            let Some(pair) = observed.traffic.pair_of(step.exchange.connection) else {
                continue;
            };
            if let Some(link) = link_of(observed.estate, observed.traffic.pairs[pair], placement) {
                let fingerprint = step.exchange.fingerprint.clone();
                let (turns, rtt) = self.turns.entry((pair, fingerprint)).or_default();
                *turns += u64::from(step.exchange.turns);
                *rtt = link.rtt;
                if opens {
                    let (turns, rtt) = self.opened.entry(pair).or_default();
                    *turns += u64::from(step.exchange.turns);
                    *rtt = link.rtt;
                }
            }
        }
    }

    fn statements(&self, observed: Observed<'_>) -> Vec<HoldingStatement> {
        let cost = |(turns, rtt): &(u64, Duration)| rtt.as_nanos() as u64 / 1000 * turns;
        let all: u64 = self.turns.values().map(cost).sum();
        let mut sorted: Vec<_> = self.turns.iter().collect();
        sorted.sort_by_key(|(_, turns)| std::cmp::Reverse(cost(turns)));
        let statements =
            sorted
                .into_iter()
                .take(MAX_STATEMENTS)
                .filter_map(|((pair, fingerprint), turns)| {
                    let [client, server] = observed.traffic.pairs[*pair];
                    let name = |service: usize| Arc::clone(&observed.estate.services[service].name);
                    Some(HoldingStatement {
                        fingerprint: fingerprint.clone(),
                        between: [name(client), name(server)],
                        turns: turns.0 as f64 / self.operations.max(1) as f64,
                        share: Share::of_counts(cost(turns), all)?,
                    })
                });
        statements.collect()
    }

    /// Remedies of findings with round trips on a longer link.
    fn fixes(&self, findings: &[Finding]) -> Vec<PlanFix> {
        let of_name = model::sure_findings(findings).filter(|finding| *finding.operation_name == *self.name);
        let fixes = of_name.filter_map(|finding| {
            let saves = self.saves(finding)?;
            (saves > Duration::ZERO).then(|| PlanFix {
                kind: finding.kind,
                fingerprint: finding.fingerprint.clone(),
                saves,
                remedy: finding.remedy.clone(),
            })
        });
        fixes.collect()
    }

    /// Mean time saved per operation: round trips, each with the new link's round-trip time. For
    /// reconnects, the remedy's share of all opening round trips is applied to those on longer
    /// links. `None` if the finding has no single statement.
    fn saves(&self, finding: &Finding) -> Option<Duration> {
        let operations = self.operations.max(1) as f64;
        let turns = finding.saves_turns as f64 / operations;
        if let Some(wanted) = &finding.fingerprint {
            let mut same = self.turns.iter();
            let (_, (seen, rtt)) = same.find(|((_, known), _)| known.as_ref() == Some(wanted))?;
            return Some(rtt.mul_f64(turns.min(*seen as f64 / operations)));
        }
        if finding.kind != FindingKind::Reconnect || self.opened_anywhere == 0 {
            return None;
        }
        let saved = (finding.saves_turns as f64 / self.opened_anywhere as f64).min(1.0);
        let time = |(turns, rtt): &(u64, Duration)| rtt.mul_f64(*turns as f64 / operations * saved);
        Some(self.opened.values().map(time).sum())
    }
}

const MAX_STATEMENTS: usize = 3;
