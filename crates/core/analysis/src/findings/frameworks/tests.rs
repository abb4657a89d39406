//! Real statements of frameworks and others: each is recognised correctly or not at all.

use super::*;
use crate::fingerprint::{Dialect, Fingerprints};

const DJANGO: &str = include_str!("statements/django.sql");
const SQLALCHEMY: &str = include_str!("statements/sqlalchemy.sql");
const SEQUELIZE: &str = include_str!("statements/sequelize.sql");
const HIBERNATE_5: &str = include_str!("statements/hibernate5.sql");
const HIBERNATE_6: &str = include_str!("statements/hibernate6.sql");
const ACTIVE_RECORD: &str = include_str!("statements/activerecord.sql");
const PRISMA: &str = include_str!("statements/prisma.sql");
const OTHERS: &str = include_str!("statements/others.sql");

const RECORDED: [(&str, Framework); 7] = [
    (DJANGO, Framework::Django),
    (SQLALCHEMY, Framework::SqlAlchemy),
    (SEQUELIZE, Framework::Sequelize),
    (HIBERNATE_5, Framework::Hibernate),
    (HIBERNATE_6, Framework::Hibernate),
    (ACTIVE_RECORD, Framework::ActiveRecord),
    (PRISMA, Framework::Prisma),
];

fn fingerprints(texts: &str) -> Vec<Fingerprint> {
    let mut fingerprints = Fingerprints::default();
    let texts = texts.split("\n\n").skip(1).map(str::trim);
    let found: Vec<_> = texts
        .map(|text| fingerprints.statement(text.as_bytes(), Dialect::Standard))
        .collect();
    assert!(found.len() > 3, "statements are separated by empty lines");
    found
}

fn evidence(fingerprints: &[Fingerprint]) -> Evidence {
    let mut evidence = Evidence::default();
    for (number, text) in (0..).zip(fingerprints) {
        evidence.statement(number, style(text));
    }
    evidence
}

#[test]
fn each_framework_is_recognised_by_its_statements() {
    for (texts, framework) in RECORDED {
        let fingerprints = fingerprints(texts);
        let found = evidence(&fingerprints).framework(None, None);
        assert_eq!(found, Some((framework, Certainty::Style)), "{framework:?}");
    }
}

#[test]
fn no_statement_is_taken_for_another_frameworks() {
    for (texts, framework) in RECORDED {
        for text in fingerprints(texts) {
            let other = match style(&text) {
                Some(Sign::Sure(found) | Sign::Typical(found)) => found != framework,
                None => false,
            };
            assert!(!other, "{framework:?}: {text} is {:?}", style(&text));
        }
    }
}

#[test]
fn what_is_written_by_hand_or_by_others_is_no_frameworks() {
    let others = fingerprints(OTHERS);
    for text in &others {
        assert_eq!(style(text), None, "{text}");
    }
    assert_eq!(evidence(&others).framework(None, None), None);
}

/// Fewer recognised reads would be a regression.
#[test]
fn most_reads_show_their_framework() {
    for (texts, least) in [
        (DJANGO, 11),
        (SQLALCHEMY, 8),
        (SEQUELIZE, 10),
        (HIBERNATE_5, 8),
        (HIBERNATE_6, 8),
    ] {
        let fingerprints = fingerprints(texts);
        let shown = fingerprints.iter().filter(|text| style(text).is_some()).count();
        assert!(
            shown >= least,
            "{shown} of {}: {}",
            fingerprints.len(),
            fingerprints[0]
        );
    }
}

#[test]
fn two_frameworks_on_one_connection_are_none() {
    let both = [fingerprints(DJANGO), fingerprints(HIBERNATE_6)].concat();
    assert_eq!(evidence(&both).framework(None, None), None);
}

#[test]
fn one_typical_statement_is_not_enough() {
    let text: Fingerprint = r#"select "app_book"."id", "app_book"."title" from "app_book""#.into();
    assert_eq!(style(&text), Some(Sign::Typical(Framework::Django)));
    assert_eq!(evidence(&[text]).framework(None, None), None);
}

#[test]
fn a_name_counts_more_than_a_style_and_an_orm_more_than_its_driver() {
    let mut evidence = evidence(&fingerprints(DJANGO));
    evidence.tags(&Tags {
        db_driver: Some("pgx".into()),
        ..Tags::default()
    });
    assert_eq!(
        evidence.framework(None, None),
        Some((Framework::Go, Certainty::Named))
    );
    evidence.tags(&Tags {
        framework: Some("sequelize:6".into()),
        db_driver: Some("pgx".into()),
        ..Tags::default()
    });
    assert_eq!(
        evidence.framework(None, None),
        Some((Framework::Sequelize, Certainty::Named))
    );
    let driver = Evidence::default().framework(Some("Go-MySQL-Driver"), None);
    assert_eq!(driver, Some((Framework::Go, Certainty::Named)));
}

#[test]
fn a_statement_written_by_hand_within_a_framework_is_not_its_own() {
    let django = evidence(&fingerprints(DJANGO));
    let by_hand: Fingerprint = "select v from t where id = ?".into();
    assert_eq!(django.framework(None, Some(&by_hand)), None);
    let hibernate = evidence(&fingerprints(HIBERNATE_6));
    assert_eq!(hibernate.framework(None, Some(&by_hand)), None);
    let insert: Fingerprint = "insert into author (name, id) values (?, ?)".into();
    assert!(hibernate.framework(None, Some(&insert)).is_some());
}
