//! Error messages of failed jobs.

use super::{bench, run, run_query, scratches, shape};
use model::{Job, Method};
use sys::StopToken;
use sys::Target;
use testbed::{MariaDb, Postgres};
use tune::{Error, Shape, Trial};

#[test]
fn a_workbench_that_cannot_be_prepared_says_why() {
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    a_schema_of_somebody_else_is_left_alone(&postgres, &mariadb);
    who_may_not_create_is_told_so(&postgres, &mariadb);
    a_table_that_is_none_is_told_and_nothing_is_left(&postgres, &mariadb);
}

fn a_schema_of_somebody_else_is_left_alone(postgres: &Postgres, mariadb: &MariaDb) {
    for url in [postgres.url(), mariadb.url()] {
        run_query(&url, "create schema longwire_tune_theirs");
        run_query(&url, "create table longwire_tune_theirs.origin (a int)");
        let stop = StopToken::never();
        let mut bench = bench(&url, "theirs", &stop);
        let error = bench.prepare(&shape()).unwrap_err();
        assert!(matches!(error, Error::ScratchExists { .. }), "{error}");
        assert!(error.hint().unwrap().contains("longwire_tune_theirs"));
        bench.clean_up().unwrap();
        assert_eq!(
            run_query(&url, "select count(*) from longwire_tune_theirs.origin"),
            "0"
        );
        run_query(&url, "drop table longwire_tune_theirs.origin");
        run_query(&url, "drop schema longwire_tune_theirs");
    }
}

fn who_may_not_create_is_told_so(postgres: &Postgres, mariadb: &MariaDb) {
    run_query(&postgres.url(), "create role poor login");
    run_query(&mariadb.url(), "create user poor@'%' identified by 'poor'");
    for (url, code) in [
        (
            format!("postgres://poor@127.0.0.1:{}/postgres", postgres.port()),
            "42501",
        ),
        (
            format!("mysql://poor:poor@127.0.0.1:{}/", mariadb.port()),
            "1044/42000",
        ),
    ] {
        let stop = StopToken::never();
        let mut bench = bench(&url, "mine", &stop);
        let error = bench.prepare(&shape()).unwrap_err();
        let Error::NoScratch { code: found, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(found, code);
        assert!(error.hint().unwrap().contains("grant"), "{error}");
        bench.clean_up().unwrap();
    }
}

fn a_table_that_is_none_is_told_and_nothing_is_left(postgres: &Postgres, mariadb: &MariaDb) {
    for url in [postgres.url(), mariadb.url()] {
        run_query(&url, "create table no_rows (a int)");
        for (like, expected) in [
            ("nowhere", "cannot be read"),
            ("no_rows", "no rows"),
            ("no_rows; drop table no_rows", "no name"),
        ] {
            let stop = StopToken::never();
            let mut bench = bench(&url, "mine", &stop);
            let shape = Shape {
                like: Some(like.to_owned()),
                ..shape()
            };
            let error = bench.prepare(&shape).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            bench.clean_up().unwrap();
            assert_eq!(scratches(&url), "0");
        }
    }
}

#[test]
fn what_is_not_there_is_told() {
    let stop = StopToken::never();
    let redis = Target::parse("redis://127.0.0.1/").unwrap();
    let error = tune::native(&redis, "x", &stop).err().unwrap();
    assert!(matches!(error, Error::Scheme { scheme: "redis" }), "{error}");

    let server = Postgres::start();
    let mut bench = bench(&server.url(), "mine", &stop);
    let method = Method {
        job: Job::Insert,
        name: "array bind".into(),
        parameter: None,
    };
    let trial = Trial {
        method: &method,
        value: None,
        address: None,
        watch: None,
    };
    let error = bench.run(&trial).unwrap_err();
    assert!(matches!(error, Error::NoSuchMethod { .. }), "{error}");
    let prepared = bench.prepare(&shape()).unwrap();
    let scratch = &prepared.scratch;
    bench.fill(Job::Select).unwrap();
    // Another client deletes a row, and then a table.
    run_query(
        &server.url(),
        &format!("delete from {scratch}.selected where longwire_k = 7"),
    );
    let error = run(
        bench.as_mut(),
        &prepared,
        (Job::Select, "whole result"),
        None,
        None,
    )
    .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Rows {
                expected: 450,
                found: 449,
                ..
            }
        ),
        "{error}"
    );
    run_query(&server.url(), &format!("drop table {scratch}.inserted"));
    let error = run(
        bench.as_mut(),
        &prepared,
        (Job::Insert, "pipeline"),
        Some(8),
        None,
    )
    .unwrap_err();
    assert!(
        matches!(&error, Error::Statement { code, .. } if code == "42P01"),
        "{error}"
    );
    drop(server);
    let error = bench.clean_up().unwrap_err();
    assert!(error.to_string().contains("is left on the server"), "{error}");
}
