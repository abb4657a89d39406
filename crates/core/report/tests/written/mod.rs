//! One line of every type of records with every possible key.

use model::{
    BudgetMeasure, PerDirection, PredictedDuration, Protocol, RequestId, SparedExecutions, SparingOutcome,
    Timestamp,
};
use std::sync::Arc;
use std::time::Duration;

fn reconnect() -> model::FindingKey {
    model::FindingKey {
        kind: model::FindingKind::Reconnect,
        fingerprint: None,
        operation_name: Arc::from("GET /orders"),
    }
}

fn written_of_connections_and_sparing() -> [String; 10] {
    use crate::samples::{conditions, connection, endpoint, line, sparing};
    [
        line(|writer| writer.sparing(&sparing())),
        line(|writer| {
            writer.sparing(&SparingOutcome {
                unreadable: 1,
                executions: SparedExecutions::default(),
                finding: Some(reconnect()),
                ..sparing()
            })
        }),
        line(|writer| {
            writer.sparing(&SparingOutcome {
                rtt: std::time::Duration::from_millis(10),
                ..sparing()
            })
        }),
        line(|writer| {
            writer.not_predicted(&report::outcome::NotPredicted {
                operation_name: "GET /search".into(),
                operations: 40,
                refused: "about 61 % of its round trips are its own, most likely, and 80 % have to be".into(),
            })
        }),
        line(|writer| writer.conditions(&conditions())),
        line(|writer| {
            writer.conditions(&model::Conditions {
                calibration: Some("longwire-calibration.json".to_owned()),
                generated: true,
                spared: Some("n+1".to_owned()),
                ..conditions()
            })
        }),
        line(|writer| {
            writer.opened(
                connection().id,
                crate::samples::START,
                endpoint(1, 40_312),
                endpoint(2, 5432),
            )
        }),
        line(|writer| {
            writer.started(
                connection().id,
                Timestamp::from_nanos(1_790_000_000_052_000_000),
                Some(&Arc::from("GET /page")),
                Some(RequestId(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c)),
            )
        }),
        line(|writer| {
            writer.begun(
                model::ConnectionId(4),
                Timestamp::from_nanos(1_790_000_000_060_000_000),
            )
        }),
        line(|writer| {
            writer.left(
                model::ConnectionId(4),
                Timestamp::from_nanos(1_790_000_000_061_000_000),
            )
        }),
    ]
}

fn written_of_evidence() -> [String; 3] {
    use crate::samples::{exchange, line, operation_step};
    [
        line(|writer| {
            let guessed = model::OperationStep {
                assigned: Some(model::Assigned::Order),
                probability: model::Share::of_counts(93, 100),
                ..operation_step()
            };
            writer.step(&guessed, 17)
        }),
        line(|writer| {
            let encrypted = model::Exchange {
                fingerprint: None,
                not_seen: Some(model::NotSeen::Encrypted),
                lost: Some(model::Lost::Requests),
                ..exchange()
            };
            writer.exchange(&encrypted, Protocol::Postgres, None)
        }),
        line(|writer| {
            let mut summary = crate::samples::summary();
            summary.evidence = evidence();
            writer.summary(&summary)
        }),
    ]
}

const fn evidence() -> model::Evidence {
    model::Evidence {
        round_trips: 27,
        guessed: 9,
        outside_requests: 1,
        unrated: 0,
        doubted: 400,
        untimed: 2,
        not_seen: [3, 2, 1, 4],
        lost: [2, 1, 3],
    }
}

/// One line of every type with every possible key.
#[expect(clippy::too_many_lines, reason = "a list")]
pub fn written() -> Vec<String> {
    use crate::samples::{
        connection, copy, exchange, line, operation, operation_step, prediction, statement, summary, warning,
    };
    let written = [
        line(|writer| writer.step(&operation_step(), 17)),
        line(|writer| writer.exchange(&copy(), Protocol::Postgres, None)),
        line(|writer| writer.connection(&connection())),
        line(|writer| writer.connection(&crate::samples::opaque_connection())),
        line(|writer| {
            writer.statement(&statement(
                "SELECT name, price FROM article WHERE id = ?",
                6_000,
                6_000,
            ))
        }),
        line(|writer| writer.operation(&operation())),
        line(|writer| {
            let mut prediction = prediction("GET /article/?", 40, 27.6, Some("10Mbit/s"));
            prediction.operations = 1_000;
            prediction.spread = crate::samples::spread(1_000, 1_113_892);
            writer.prediction(&prediction)
        }),
        line(|writer| {
            let mut prediction = prediction("GET /article/?", 40, 27.6, Some("10Mbit/s"));
            prediction.measured = Some(crate::samples::measured(9, 1_102_371));
            prediction.order = Some(crate::samples::order(model::OrderKind::AtOnce));
            (prediction.clients, prediction.workers) = (8, Some(4));
            prediction.warming_up = 40;
            writer.prediction(&prediction)
        }),
        line(|writer| writer.finding(&crate::samples::finding())),
        line(|writer| writer.finding(&crate::samples::doubtful_finding())),
        line(|writer| writer.finding(&crate::samples::unrated_finding())),
        line(|writer| writer.link(&crate::samples::link())),
        line(|writer| {
            writer.lab_point(
                11,
                &crate::samples::lab().settings,
                &crate::samples::lab().points[0],
            )
        }),
        line(|writer| writer.lab_slope(&crate::samples::lab().slopes[0])),
        line(|writer| writer.lab(&crate::samples::lab())),
        line(|writer| writer.warning(&warning())),
        line(|writer| {
            let mut summary = summary();
            summary.spread = crate::samples::spread(1_000, 281_000);
            writer.summary(&summary)
        }),
        line(|writer| writer.rows(&crate::samples::rows())),
        line(|writer| writer.database_link(&crate::samples::database_link())),
        line(|writer| writer.sample(&crate::samples::sample())),
        line(|writer| writer.intermediary(&crate::samples::intermediary())),
        line(|writer| {
            let sample = crate::samples::sample();
            writer.leg(&sample.target, 1, sample.at, &crate::samples::leg())
        }),
        line(|writer| {
            let mut sample = crate::samples::sample();
            (sample.number, sample.duration, sample.server) = (4, None, None);
            sample.error = Some("server: no complete reply within 5 s".into());
            writer.sample(&sample)
        }),
        line(|writer| writer.echo(&crate::samples::echo())),
        line(|writer| writer.estimate(&crate::samples::estimate())),
        line(|writer| writer.calibrated(&crate::samples::calibrated())),
        line(|writer| {
            writer.calibrated(&model::CalibratedRest {
                factor: None,
                refused: Some("too few: 12 of 30 requests, 2 of 4 rounds".into()),
                ..crate::samples::calibrated()
            })
        }),
        line(|writer| writer.bulk(&crate::samples::bulk())),
        line(|writer| writer.exchange(&exchange(), Protocol::Postgres, None)),
    ];
    written_of_connections_and_sparing()
        .iter()
        .chain(&written_of_evidence())
        .chain(&written)
        .chain(&written_of_transactions())
        .chain(&written_of_samples())
        .chain(&written_of_poolers())
        .chain(&written_of_ranges())
        .flat_map(|lines| lines.lines().map(str::to_owned))
        .collect()
}

fn written_of_transactions() -> [String; 3] {
    use crate::samples::line;
    [
        line(|writer| writer.held(&crate::samples::held()[0])),
        line(|writer| {
            let mut held = crate::samples::held().remove(0);
            (held.count, held.spread) = (1_000, crate::samples::spread(1_000, 4_100));
            writer.held(&held)
        }),
        line(|writer| {
            let mut held = crate::samples::held_predictions().remove(1);
            held.rate = PerDirection::splat(model::BitRate::parse("10Mbit/s").ok());
            held.link = "rtt=40ms rate=10mbit".into();
            writer.held_prediction(&held)
        }),
    ]
}

fn written_of_poolers() -> [String; 6] {
    use crate::samples::{line, micros};
    let pooled = model::Attribution {
        pooler: micros(17),
        ..model::Attribution::default()
    };
    [
        line(|writer| {
            let mut exchange = crate::samples::exchange();
            exchange.pooler = Some(Box::new(model::PoolerTime {
                waiting: micros(15),
                processing: micros(2),
                network: micros(40),
            }));
            writer.exchange(&exchange, Protocol::Postgres, None)
        }),
        line(|writer| {
            let mut operation = crate::samples::operation();
            operation.attribution = pooled;
            writer.operation(&operation)
        }),
        line(|writer| {
            let mut unlike = crate::samples::prediction("GET /article/?", 40, 27.6, None);
            unlike.low = std::time::Duration::ZERO;
            writer.prediction(&unlike)
        }),
        line(|writer| {
            let mut prediction = crate::samples::prediction("GET /article/?", 40, 27.6, None);
            prediction.attribution = pooled;
            writer.prediction(&prediction)
        }),
        line(|writer| {
            let mut held = crate::samples::held().remove(0);
            held.attribution = pooled;
            writer.held(&held)
        }),
        line(|writer| {
            let mut summary = crate::samples::summary();
            summary.attribution = pooled;
            writer.summary(&summary)
        }),
    ]
}

fn written_of_ranges() -> [String; 6] {
    use crate::samples::{line, micros};
    let server_margin = model::Margin {
        below: micros(120),
        above: micros(15),
    };
    let ranged = model::Attribution {
        server: micros(241),
        server_margin,
        ..model::Attribution::default()
    };
    [
        line(|writer| {
            let mut exchange = crate::samples::copy();
            exchange.first.server_margin = server_margin;
            writer.exchange(&exchange, Protocol::Postgres, None)
        }),
        line(|writer| {
            let mut statement = crate::samples::statement("SELECT 1", 1, 1);
            statement.server_margin = server_margin;
            statement.text_source = Some(model::TextSource::SameConnection);
            writer.statement(&statement)
        }),
        line(|writer| writer.recognised(&crate::samples::recognised())),
        line(|writer| {
            let mut operation = crate::samples::operation();
            operation.attribution = ranged;
            writer.operation(&operation)
        }),
        line(|writer| {
            let mut held = crate::samples::held().remove(0);
            held.attribution = ranged;
            writer.held(&held)
        }),
        line(|writer| {
            let mut summary = crate::samples::summary();
            summary.attribution = ranged;
            writer.summary(&summary)
        }),
    ]
}

fn written_of_samples() -> [String; 15] {
    [
        crate::samples::line(|writer| writer.tune(&crate::samples::tune())),
        crate::samples::line(|writer| {
            let mut pairs = crate::samples::comparison().operations.into_iter();
            pairs.try_for_each(|pair| writer.comparison(&pair))
        }),
        crate::samples::line(|writer| writer.check(&crate::samples::checked())),
        crate::samples::line(|writer| {
            let mut report = crate::samples::checked();
            report.verdicts.truncate(1);
            for verdict in &mut report.verdicts {
                verdict.measure = BudgetMeasure::Predicted {
                    link: "rtt=40ms".into(),
                    allowed: Duration::from_millis(200),
                    found: Some(PredictedDuration::Bounds {
                        low: Duration::from_millis(400),
                        high: Duration::from_millis(1_700),
                    }),
                };
            }
            writer.check(&report)
        }),
        crate::samples::line(|writer| writer.plan(&crate::samples::planned())),
        crate::samples::line(|writer| writer.program(&crate::samples::program())),
        crate::samples::line(|writer| {
            writer.summary(&model::Summary {
                turns: 1_005,
                exchanges: 1_002,
                connections: 3,
                duration: std::time::Duration::from_secs(1_003),
                spread: crate::samples::spread(1_000, 40_300),
                samples: Some(crate::samples::totals()),
                ..model::Summary::default()
            })
        }),
        crate::samples::line(|writer| writer.load_interval(&crate::samples::load_interval())),
        crate::samples::line(|writer| writer.load(&crate::samples::load_report())),
        crate::samples::line(|writer| writer.split(&crate::samples::split())),
        crate::samples::line(|writer| writer.elsewhere(&crate::samples::elsewhere())),
        crate::samples::line(|writer| writer.elsewhere(&crate::samples::not_predicted())),
        crate::samples::line(|writer| writer.advice(&crate::samples::advice())),
        crate::samples::line(|writer| {
            writer.notice(
                crate::samples::START,
                "the near end 10.0.0.1:40312 is connected (1 lane)",
            )
        }),
        crate::samples::line(|writer| writer.tunnel("far", &crate::samples::tunnel())),
    ]
}
