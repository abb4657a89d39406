use super::*;
use crate::seen::Seen;
use report::ReadOutcome;
use std::collections::BTreeMap;

fn finding(kind: FindingKind, name: &str, fingerprint: &str, turns: u64) -> Finding {
    Finding {
        kind,
        fingerprint: Some(fingerprint.into()),
        operation_name: name.into(),
        operations: 1,
        owners: model::FindingOwners::Known,
        count: turns,
        turns,
        saves_turns: turns - 1,
        saves_turns_most: turns - 1,
        savings: Vec::new(),
        dependent: None,
        driver: None,
        remedy: "Ask for all of them at once.".to_owned(),
    }
}

fn median(millis: u64) -> PredictedDuration {
    PredictedDuration::Median {
        median: Duration::from_millis(millis),
    }
}

fn bounds(low: u64, high: u64) -> PredictedDuration {
    PredictedDuration::Bounds {
        low: Duration::from_millis(low),
        high: Duration::from_millis(high),
    }
}

#[test]
fn bounds_too_wide_for_a_median_decide_unless_the_budget_is_between_them() {
    let mut wide = shop();
    let basket = ("GET /basket".into(), "rtt=40ms".into());
    wide.predicted.insert(basket, bounds(100, 400));
    let judged = |budget: &str| {
        let verdicts = judge(&budgets(&[], &[budget], &[]), &wide, None).expect("a judgement");
        let of_basket = verdicts
            .into_iter()
            .find(|one| &*one.operation_name == "GET /basket");
        let of_basket = of_basket.expect("a verdict");
        (of_basket.judgement(), of_basket.not_judged)
    };
    assert_eq!(judged("400ms@40ms").0, Judgement::Kept);
    assert_eq!(judged("99ms@40ms").0, Judgement::Broken);
    let (between, why) = judged("200ms@40ms");
    assert_eq!(between, Judgement::NotJudged);
    assert!(why.is_some_and(|why| why.ends_with(
        "between 100 ms and 400 ms, too wide for a median; predict --explain='GET /basket' says why"
    )));
}

#[test]
fn a_baseline_without_a_median_breaks_nothing_within_its_bounds() {
    let shop_with = |basket: PredictedDuration| {
        let mut figures = shop();
        let key = ("GET /basket".into(), "rtt=40ms".into());
        figures.predicted.insert(key, basket);
        figures
    };
    let before = shop_with(bounds(100, 400));
    let judged = |now: PredictedDuration| {
        let budget = budgets(&[], &["GET /basket=+50ms@40ms"], &[]);
        let verdicts = judge(&budget, &shop_with(now), Some(&before)).expect("a judgement");
        let [verdict] = verdicts.try_into().expect("one");
        (verdict.judgement(), verdict.not_judged.unwrap_or_default())
    };
    assert_eq!(judged(bounds(100, 400)).0, Judgement::NotJudged, "the same run");
    assert_eq!(judged(median(150)).0, Judgement::Kept);
    for now in [median(151), median(450), bounds(440, 2_000)] {
        let (judgement, why) = judged(now);
        assert_eq!(judgement, Judgement::NotJudged, "{now:?}");
        assert!(
            why.contains("the baseline's prediction is between 100 ms and 400 ms"),
            "{why}"
        );
    }
    assert_eq!(judged(median(451)).0, Judgement::Broken);
    assert_eq!(judged(bounds(451, 2_000)).0, Judgement::Broken);
}

/// `/basket` has 31 round trips, 30 of them an N+1, and `/` has only 2.
fn shop() -> Figures {
    let link: Arc<str> = "rtt=40ms".into();
    Figures {
        turns: BTreeMap::from([("GET /".into(), 2), ("GET /basket".into(), 31)]),
        predicted: BTreeMap::from([
            (("GET /".into(), link.clone()), median(90)),
            (("GET /basket".into(), link), median(1300)),
        ]),
        held: BTreeMap::from([
            (
                ("GET /basket".into(), None),
                (Duration::from_millis(4), "update stock".into()),
            ),
            (
                ("GET /basket".into(), Some("rtt=40ms".into())),
                (Duration::from_millis(520), "update stock".into()),
            ),
        ]),
        findings: vec![finding(FindingKind::NPlusOne, "GET /basket", "SELECT ?", 30)],
        seen: Seen::default(),
    }
}

fn budgets(turns: &[&str], predicted: &[&str], forbidden: &[&str]) -> Vec<Budget> {
    let turns = turns.iter().map(|text| Budget::turns(text).expect("turns"));
    let predicted = predicted
        .iter()
        .map(|text| Budget::predicted(text).expect("a time"));
    let forbidden = forbidden
        .iter()
        .flat_map(|text| Budget::forbid(text).expect("kinds"));
    turns.chain(predicted).chain(forbidden).collect()
}

fn verdicts(budgets: &[Budget], before: Option<&Figures>) -> Vec<(String, &'static str, bool)> {
    let verdicts = judge(budgets, &shop(), before).expect("a judgement");
    verdicts
        .iter()
        .map(|verdict| {
            (
                verdict.operation_name.to_string(),
                verdict.measure.name(),
                verdict.judgement() == Judgement::Kept,
            )
        })
        .collect()
}

#[test]
fn each_budget_is_kept_or_broken_by_each_name() {
    let told = verdicts(&budgets(&["20"], &["200ms@40ms"], &["n+1,row-by-row"]), None);
    let told: Vec<(&str, &str, bool)> = told
        .iter()
        .map(|(name, budget, kept)| (name.as_str(), *budget, *kept))
        .collect();
    assert_eq!(
        told,
        [
            ("GET /", "max-round-trips", true),
            ("GET /", "max-predicted", true),
            ("GET /", "forbid", true),
            ("GET /", "forbid", true),
            ("GET /basket", "max-round-trips", false),
            ("GET /basket", "max-predicted", false),
            ("GET /basket", "forbid", false),
            ("GET /basket", "forbid", true),
        ]
    );
}

#[test]
fn what_is_broken_comes_with_the_remedy_of_its_finding() {
    let verdicts = judge(&budgets(&["GET /basket=20"], &[], &[]), &shop(), None).expect("a judgement");
    let [broken] = verdicts.try_into().expect("one");
    assert_eq!(
        broken.measure,
        BudgetMeasure::Turns {
            allowed: 20,
            found: 31
        }
    );
    assert_eq!(
        broken.remedy.as_deref(),
        Some("n+1 (SELECT ?): Ask for all of them at once.")
    );
}

#[test]
fn a_named_budget_takes_the_place_of_the_one_for_all() {
    let kept = |turns: &[&str]| {
        verdicts(&budgets(turns, &[], &[]), None)
            .iter()
            .all(|told| told.2)
    };
    assert!(!kept(&["20"]));
    assert!(kept(&["20", "GET /b*=31"]));
    assert!(kept(&["GET /b*=31", "20"]), "whatever the order");
    assert!(
        !kept(&["20", "GET /b*=31", "GET /bas*=30"]),
        "the last one counts"
    );
}

#[test]
fn a_budget_that_cannot_be_broken_is_refused() {
    let refusal =
        |budgets: &[Budget], now: &Figures| judge(budgets, now, None).expect_err("refused").to_string();
    let unmatched = refusal(&budgets(&["GET /chekout=3"], &[], &[]), &shop());
    assert!(
        unmatched.contains("'GET /', 'GET /basket'") && unmatched.contains("GET /chekout=3"),
        "{unmatched}"
    );
    assert!(refusal(&budgets(&["3"], &[], &[]), &Figures::default()).contains("no operation"));
    assert!(refusal(&budgets(&["+3"], &[], &[]), &shop()).contains("--baseline"));
}

#[test]
fn a_budget_that_nothing_could_be_held_against_is_not_kept() {
    let unpredicted = Figures {
        predicted: BTreeMap::new(),
        ..shop()
    };
    let verdicts = judge(&budgets(&[], &["200ms@40ms"], &[]), &unpredicted, None).expect("verdicts");
    let judgements: Vec<Judgement> = verdicts.iter().map(BudgetVerdict::judgement).collect();
    assert_eq!(judgements, [Judgement::NotJudged, Judgement::NotJudged]);

    let renamed = Figures {
        turns: BTreeMap::from([("GET /shop".into(), 2)]),
        ..Figures::default()
    };
    let fault = judge(&budgets(&["+0"], &[], &[]), &shop(), Some(&renamed));
    let fault = fault.expect_err("nothing is the same").to_string();
    assert!(
        fault.contains("the baseline has none of these operations"),
        "{fault}"
    );
}

#[test]
fn budgets_may_count_from_a_baseline() {
    let mut before = shop();
    before.turns.insert("GET /basket".into(), 29);
    let kept = |budgets: &[Budget]| verdicts(budgets, Some(&before)).iter().all(|told| told.2);
    assert!(kept(&budgets(&["+2"], &["+0ms@40ms"], &[])));
    assert!(!kept(&budgets(&["+1"], &[], &[])));
    before.turns.remove("GET /basket");
    let told = verdicts(&budgets(&["+0"], &[], &[]), Some(&before));
    assert_eq!(
        told.len(),
        1,
        "what is new has nothing to be counted from: {told:?}"
    );
}

#[test]
fn changes_tell_turns_times_and_new_findings() {
    let mut before = shop();
    before.findings.clear();
    before.turns.remove("GET /");
    before.turns.insert("GET /old".into(), 4);
    let link = LinkDescription::with_rtt(Duration::from_millis(40));
    let [home, basket, old] = changes(&before, &shop(), &link).try_into().expect("three names");
    assert_eq!((&*home.operation_name, home.turns), ("GET /", [None, Some(2)]));
    assert_eq!(basket.turns, [Some(31), Some(31)]);
    assert_eq!(
        basket.new_findings,
        [(FindingKind::NPlusOne, Some("SELECT ?".into()))]
    );
    assert!(!basket.is_none());
    assert_eq!((&*old.operation_name, old.turns), ("GET /old", [Some(4), None]));
}

fn held(text: &str, now: &Figures, before: Option<&Figures>) -> Result<Vec<BudgetVerdict>> {
    judge(&[Budget::held(text).expect("a budget")], now, before)
}

#[test]
fn transactions_have_a_budget_here_and_elsewhere() {
    let kept = |text: &str, before: Option<&Figures>| -> Vec<bool> {
        let verdicts = held(text, &shop(), before).expect("a judgement");
        let is_kept = |verdict: &BudgetVerdict| verdict.judgement() == Judgement::Kept;
        verdicts.iter().map(is_kept).collect()
    };
    // `/` keeps no transaction open.
    assert_eq!(kept("4ms", None), [true, true]);
    assert_eq!(kept("3ms", None), [true, false]);
    assert_eq!(kept("520ms@40ms", None), [true, true]);
    assert_eq!(kept("100ms@40ms", None), [true, false]);
    assert_eq!(kept("GET /b*=100ms@40ms", None), [false]);
    let mut before = shop();
    before
        .held
        .remove(&("GET /basket".into(), Some("rtt=40ms".into())));
    before.held.remove(&("GET /basket".into(), None));
    assert_eq!(
        kept("+519ms@40ms", Some(&before)),
        [true, false],
        "there was none before"
    );
    assert_eq!(kept("+0ms@40ms", Some(&shop())), [true, true]);
}

#[test]
fn transactions_that_could_not_be_predicted_keep_no_budget() {
    let verdicts = held("100ms@10ms", &shop(), None).expect("verdicts");
    let judgements: Vec<Judgement> = verdicts.iter().map(BudgetVerdict::judgement).collect();
    // There is no prediction for 10 ms; `/` keeps no transaction open.
    assert_eq!(judgements, [Judgement::Kept, Judgement::NotJudged]);
}

#[test]
fn the_remedy_of_turns_is_none_that_saves_held_time_alone() {
    let mut now = shop();
    now.findings = vec![Finding {
        saves_turns: 0,
        remedy: "Write last.".to_owned(),
        ..finding(FindingKind::HeldTransaction, "GET /basket", "update stock", 30)
    }];
    let remedy = |budget: Budget| {
        let verdicts = judge(&[budget], &now, None).expect("a judgement");
        let broken = verdicts
            .into_iter()
            .find(|verdict| verdict.judgement() == Judgement::Broken);
        broken.expect("it is broken").remedy
    };
    assert_eq!(remedy(Budget::turns("20").expect("turns")), None);
    let of_held = remedy(Budget::held("3ms").expect("a time")).expect("a remedy");
    assert!(of_held.contains("Write last."), "{of_held}");
}

/// 96 concurrent requests with guessed statements.
fn guessed_requests(wrong: u64, unrated: u64) -> Vec<model::OperationGroup> {
    let evidence = model::Evidence {
        round_trips: 200,
        guessed: 180,
        doubted: wrong * 1_000,
        unrated,
        ..model::Evidence::default()
    };
    vec![model::OperationGroup {
        name: "GET /keys".into(),
        kind: model::OperationKind::Http,
        count: 96,
        turns: 300,
        most_turns: 5,
        spread: model::Distribution::default(),
        median_range: None,
        attribution: model::Attribution::default(),
        setup: Duration::ZERO,
        assigned: model::Assignments::default(),
        evidence,
    }]
}

/// A finding in some of the requests of [`guessed_requests`].
fn found_in(kind: FindingKind, operations_with_it: u64, operations: &[model::OperationGroup]) -> Finding {
    let found = Finding {
        operations: operations_with_it,
        ..finding(kind, "GET /keys", "SELECT ?", 10)
    };
    Finding {
        owners: model::FindingOwners::new(&found, operations),
        ..found
    }
}

fn guessed(kind: FindingKind, operations_with_it: u64, others: u64) -> Figures {
    let operations = guessed_requests(others, 0);
    Figures::from_outcome(&ReadOutcome {
        findings: vec![found_in(kind, operations_with_it, &operations)],
        operations,
        ..ReadOutcome::default()
    })
}

#[test]
fn guesses_that_nothing_rated_are_not_known_owners() {
    let owners = |unrated| found_in(FindingKind::Reconnect, 90, &guessed_requests(0, unrated)).owners;
    assert_eq!(owners(0), model::FindingOwners::Known);
    assert_eq!(owners(180), model::FindingOwners::Guessed(None));
}

#[test]
fn a_loop_in_few_operations_may_be_made_of_others_statements() {
    let forbidden = budgets(&[], &[], &["n+1"]);
    for (with_a_loop, expected) in [
        (2, Judgement::NotJudged),
        (48, Judgement::Broken),
        (96, Judgement::Broken),
    ] {
        let figures = guessed(FindingKind::NPlusOne, with_a_loop, 60);
        let verdicts = judge(&forbidden, &figures, None).expect("a judgement");
        assert_eq!(verdicts[0].judgement(), expected, "in {with_a_loop} of 96");
    }
    let allowed = guessed(FindingKind::NPlusOne, 2, 60).allowed();
    let allowed = judge(&forbidden, &allowed, None).expect("a judgement");
    assert_eq!(allowed[0].judgement(), Judgement::Broken);
}

#[test]
fn a_comparison_of_statements_needs_most_of_an_operation_s_own() {
    let forbidden = budgets(&[], &[], &["repeated-read"]);
    for (others, expected) in [(60, Judgement::NotJudged), (30, Judgement::Broken)] {
        let figures = guessed(FindingKind::RepeatedRead, 96, others);
        let verdicts = judge(&forbidden, &figures, None).expect("a judgement");
        assert_eq!(verdicts[0].judgement(), expected, "{others} of 200 are others'");
    }
}

fn lossy(operations: u64, lost: [u64; 3]) -> Figures {
    let group = model::OperationGroup {
        count: operations,
        evidence: model::Evidence {
            round_trips: operations * 3,
            lost,
            ..model::Evidence::default()
        },
        ..guessed_requests(0, 0).remove(0)
    };
    Figures::from_outcome(&ReadOutcome {
        operations: vec![group],
        ..ReadOutcome::default()
    })
}

#[test]
fn a_loop_may_hide_in_any_lost_request_but_not_in_few_lost_replies() {
    let forbidden = budgets(&[], &[], &["n+1"]);
    for (operations, lost, expected) in [
        (1_000, [0, 0, 0], Judgement::Kept),
        (1_000, [50, 0, 0], Judgement::Kept),
        (1_000, [51, 0, 0], Judgement::NotJudged),
        (1_000, [0, 1, 0], Judgement::NotJudged),
        (1_000, [0, 0, 1], Judgement::NotJudged),
    ] {
        let verdicts = judge(&forbidden, &lossy(operations, lost), None).expect("a judgement");
        assert_eq!(verdicts[0].judgement(), expected, "{lost:?}");
    }
    let allowed = lossy(1, [0, 0, 1]).allowed();
    let verdicts = judge(&forbidden, &allowed, None).expect("a judgement");
    assert_eq!(verdicts[0].judgement(), Judgement::Kept);
}

#[test]
fn a_lost_part_of_a_request_hides_no_round_trip() {
    for (lost, expected) in [
        ([0, 1, 0], Judgement::Kept),
        ([0, 0, 1], Judgement::NotJudged),
        ([1, 0, 0], Judgement::NotJudged),
    ] {
        let verdicts = judge(&budgets(&["5"], &[], &[]), &lossy(1, lost), None).expect("a judgement");
        assert_eq!(verdicts[0].judgement(), expected, "{lost:?}");
        let broken = judge(&budgets(&["4"], &[], &[]), &lossy(1, lost), None).expect("a judgement");
        assert_eq!(broken[0].judgement(), Judgement::Broken);
    }
}
