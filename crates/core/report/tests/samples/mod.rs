//! Values of a small run of `read`: a shop page that fetches its articles one by one over a link of
//! 10 ms.

#![allow(dead_code, reason = "each test uses a part of it")]

use model::{
    Advice, Assigned, AtLevel, Attribution, BitRate, BoundBy, BoundsMargin, BoundsScale, BreakEven,
    BrokenBudget, BudgetMeasure, BudgetVerdict, BulkOutcome, ByteCount, Change, Conditions, ConnectionId,
    ConnectionOutcome, ConnectionTotals, DatabaseLinkOutcome, Decoding, Direction, Distribution, EchoOutcome,
    EndedBy, Endpoint, Evidence, Exchange, Finding, FindingKind, FindingOwners, ForbiddenWaste, HeldBack,
    HeldPrediction, HeldTransactions, HoldingStatement, HostProcess, Interval, LevelAdvice,
    LinkDirectionOutcome, LinkOutcome, LinkRows, MarginSource, MeasuredCells, MeasuredDurations, Operation,
    OperationGroup, OperationKind, OperationStep, Order, OrderKind, OrderOfMoves, PerDirection, PerSide,
    Phase, PlacedOperation, PlacedService, PlacedTransaction, PlacementOutcome, PlanFix, PlanLink,
    PlanMeasure, PlanMove, PlanOutcome, PredictedDuration, PredictedExamples, PredictedOperation, Prediction,
    ProgramBest, ProgramRun, ProgramTuned, Protocol, RecognisedStatement, Remedied, RequestId, RequestTraits,
    RoundTripSource, RowTrain, RttSource, Sample, SampleTotals, Saving, Share, SpanId, SparedExecutions,
    SparedOperation, SparingOutcome, SplitBase, SplitForecast, SplitOutcome, SplitPrediction, SplitRefusal,
    StatementOutcome, Step, Summary, Tags, TextSource, Timestamp, TransactionState, TunnelDirection,
    TunnelTotals, Unexplained, Warning, WarningKind,
};
use report::outcome::{
    CheckReport, DemoOutcome, ExplainOutcome, ExplainedExchange, LoadFailure, LoadInterval, LoadReport,
    LoadScript, LoadWork, ProgramReport, TuneReport,
};
use report::{JsonWriter, ReadOutcome};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

pub const START: Timestamp = Timestamp::from_nanos(1_790_000_000_000_000_000);

pub fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

pub fn endpoint(last: u8, port: u16) -> Endpoint {
    Endpoint {
        address: Ipv4Addr::new(10, 0, 0, last).into(),
        port,
    }
}

pub fn conditions() -> Conditions {
    Conditions {
        version: "0.1.0".to_owned(),
        command_line: "longwire watch postgres://shop:***@10.0.0.2:5432/shop".to_owned(),
        host: Some("web1".to_owned()),
        kernel: Some("Linux 6.1.0".to_owned()),
        clock: "kernel receive timestamps".to_owned(),
        observation_point: "relay on 127.0.0.1:40001".to_owned(),
        link: Some("delay 5ms rate 10Mbit/s".to_owned()),
        seed: Some(7),
        calibration: None,
        spared: None,
        generated: false,
    }
}

pub fn connection() -> ConnectionOutcome {
    ConnectionOutcome {
        id: ConnectionId(3),
        client: endpoint(1, 40_312),
        server: endpoint(2, 5432),
        processes: PerSide::new(
            Some(process("php-fpm8.2", 4711, Some(CONTAINER))),
            Some(process("postgres", 812, Some(CONTAINER))),
        ),
        at: START,
        duration: micros(2_912_345),
        decoding: Decoding {
            protocol: Protocol::Postgres,
            encrypted: false,
            opaque: None,
        },
        server_version: Some("15.14 (Debian 15.14-0+deb12u1)".to_owned()),
        driver: Some("PostgreSQL JDBC Driver".into()),
        settings: vec![("client_encoding".into(), "UTF8".into())],
        turns: 227,
        exchanges: 227,
        statements: 224,
        rtt: Some(micros(10_040)),
        client_side_rtt: Some(micros(31)),
        server_side_rtt: Some(micros(10_009)),
        rtt_source: Some(RttSource::Measured),
        ended_by: Some(EndedBy::ClientFin),
        totals: ConnectionTotals {
            payload_bytes: PerDirection::new(19_402, 401_118),
            packets: Some(PerDirection::new(236, 512)),
            wire_bytes: Some(PerDirection::new(35_126, 434_914)),
            retransmitted_packets: Some(2),
            unseen_bytes: PerDirection::default(),
            seen: PerDirection::splat(true),
        },
    }
}

fn process(name: &str, number: u32, container: Option<&str>) -> Arc<HostProcess> {
    Arc::new(HostProcess {
        name: name.to_owned(),
        number,
        container: container.map(str::to_owned),
    })
}

const CONTAINER: &str = "0d1f7c3a9b2e";

/// Half of it was not captured, the rest is encrypted.
pub fn opaque_connection() -> ConnectionOutcome {
    ConnectionOutcome {
        id: ConnectionId(4),
        client: endpoint(1, 40_313),
        server: endpoint(2, 5432),
        processes: PerSide::default(),
        decoding: Decoding {
            protocol: Protocol::Postgres,
            encrypted: true,
            opaque: Some("the client asked for TLS and the server agreed".to_owned()),
        },
        server_version: None,
        turns: 12,
        exchanges: 12,
        statements: 0,
        rtt: None,
        client_side_rtt: None,
        server_side_rtt: None,
        rtt_source: None,
        ended_by: None,
        totals: ConnectionTotals {
            payload_bytes: PerDirection::new(1_833, 0),
            packets: None,
            wire_bytes: None,
            retransmitted_packets: None,
            unseen_bytes: PerDirection::new(96, 0),
            seen: PerDirection::new(true, false),
        },
        ..connection()
    }
}

pub fn step(request_started: Timestamp) -> Step {
    let request_ended = request_started.after(micros(4));
    let reply_started = request_ended.after(micros(10_250));
    Step {
        request_started,
        request_ended,
        reply_started: Some(reply_started),
        reply_ended: Some(reply_started.after(micros(90))),
        request_bytes: 66,
        reply_bytes: 1_812,
        turn: true,
        client_inside_request: Duration::ZERO,
        server: micros(241),
        server_margin: model::Margin::default(),
        server_inside_reply: Duration::ZERO,
        client_side_rtt: Some(micros(31)),
        server_side_rtt: Some(micros(10_009)),
        recovery: Duration::ZERO,
    }
}

pub fn exchange() -> Exchange {
    Exchange {
        connection: ConnectionId(3),
        phase: Phase::Work,
        at: START.after(micros(52_000)),
        turns: 1,
        request_bytes: 66,
        reply_bytes: 1_812,
        request_messages: 1,
        reply_messages: 5,
        rows: Some(2),
        executions: 1,
        first: step(START.after(micros(52_000))),
        more: Vec::new(),
        fingerprint: Some("SELECT name, price FROM article WHERE id = ?".into()),
        asked: RequestTraits {
            prepares: 1,
            prepared_executions: 1,
            fetch_rows: Some(100),
            fetch_bytes: Some(32_767),
            request_digest: Some(0x00c0_ffee),
            rows_digest: Some(0x0000_beef),
            returns_rows: true,
            on_stream: true,
            ..RequestTraits::default()
        },
        transaction: Some(TransactionState::Idle),
        error: None,
        literal: None,
        tags: Some(Arc::new(Tags {
            request: Some(RequestId(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c)),
            span: Some(SpanId(0xb7ad_6b71_6920_3331)),
            route: Some(Arc::from("/articles/<int:pk>")),
            controller: Some(Arc::from("articles")),
            action: Some(Arc::from("show")),
            application: Some(Arc::from("shop")),
            framework: Some(Arc::from("django:5.1")),
            db_driver: Some(Arc::from("django.db.backends.postgresql")),
        })),
        levels: None,
        pooler: None,
        not_seen: None,
        lost: None,
    }
}

pub fn at_level() -> AtLevel {
    AtLevel {
        level: 2,
        tunnel_bytes: PerDirection::new(96, 812),
        compressing: PerDirection::new(micros(2), micros(21)),
        turning_back: PerDirection::new(micros(1), micros(9)),
    }
}

pub fn advice() -> Advice {
    let rates = [3_600_000, 1_000_000_000].map(|rate| BitRate::from_bits_per_second(rate).expect("not zero"));
    let level = |level, codec: &str, bytes, micros_of: [u64; 2]| LevelAdvice {
        level,
        codec: codec.to_owned(),
        tunnel_bytes: bytes,
        processor: [0; 2].map(|_| micros(u64::from(level) * 700)),
        noise: None,
        durations: micros_of.map(micros).to_vec(),
        break_even: None,
    };
    Advice {
        source: "shop.pcap".to_owned(),
        operations: 40,
        replayed: 40,
        exchanges: 80,
        turns: 80,
        payload_bytes: PerDirection::new(5_600, 204_000),
        span: Some(Duration::from_secs(60)),
        rtt: micros(20_000),
        rtt_asked: true,
        rates: rates.to_vec(),
        levels: vec![
            level(0, "off", PerDirection::new(6_400, 205_000), [52_100, 40_090]),
            LevelAdvice {
                noise: Share::from_parts(micros(2), micros(100)),
                break_even: Some(BreakEven::At(rates[1])),
                ..level(2, "zstd 1", PerDirection::new(3_100, 41_000), [42_300, 40_110])
            },
        ],
        price: "0.09".parse().ok(),
    }
}

/// A failed COPY with two round trips, an error, and its text kept on request.
pub fn copy() -> Exchange {
    let second = Step {
        client_inside_request: micros(150),
        ..step(START.after(micros(80_000)))
    };
    Exchange {
        turns: 2,
        request_bytes: 132,
        reply_bytes: 3_624,
        rows: None,
        more: vec![second],
        fingerprint: Some("COPY article FROM stdin".into()),
        transaction: Some(TransactionState::Failed),
        error: Some("22P04".into()),
        literal: Some("copy article from stdin".into()),
        levels: Some([at_level()].into()),
        ..exchange()
    }
}

pub fn attribution(client: u64, server: u64, round_trip: u64, transfer: u64, recovery: u64) -> Attribution {
    Attribution {
        client: micros(client),
        server: micros(server),
        server_margin: model::Margin::default(),
        pooler: Duration::ZERO,
        round_trip: micros(round_trip),
        transfer: micros(transfer),
        recovery: micros(recovery),
        unknown: Duration::ZERO,
    }
}

pub fn operation() -> Operation {
    Operation {
        id: 17,
        kind: OperationKind::Http,
        name: "GET /article/?".into(),
        at: START.after(micros(52_000)),
        duration: micros(280_412),
        steps: vec![operation_step(); 27],
        turns: 27,
        connections: 2,
        attribution: attribution(3_120, 6_772, 270_520, 0, 0),
        setup: micros(30_120),
        client_after: micros(12),
        transactions: Vec::new(),
        after_reply: Vec::new(),
        continues: false,
    }
}

pub fn operation_step() -> OperationStep {
    OperationStep {
        exchange: exchange(),
        protocol: Protocol::Postgres,
        after: None,
        after_start: false,
        client_before: micros(118),
        also_after: Vec::new(),
        reply_after: None,
        reply_also_after: Vec::new(),
        assigned: Some(Assigned::Identifier),
        probability: None,
        outside_requests: false,
        is_call: false,
    }
}

pub fn spread(count: u64, middle: u64) -> Distribution {
    let known = |samples: u64, figure: u64| (count >= samples).then(|| micros(figure));
    Distribution {
        count,
        min: Some(micros(middle * 3 / 4)),
        max: Some(micros(middle * 3)),
        mean: Some(micros(middle * 21 / 20)),
        p50: Some(micros(middle)),
        p90: known(100, middle * 3 / 2),
        p95: known(200, middle * 7 / 4),
        p99: known(1000, middle * 5 / 2),
    }
}

pub fn statement(fingerprint: &str, calls: u64, turns: u64) -> StatementOutcome {
    StatementOutcome {
        fingerprint: fingerprint.into(),
        calls,
        turns,
        fetches: 0,
        fetch_rows: Some(100),
        fetch_bytes: Some(32_767),
        rows: Some(calls * 2),
        request_bytes: calls * 66,
        reply_bytes: calls * 1_812,
        total: micros(turns * 10_340),
        server: micros(calls * 241),
        server_margin: model::Margin::default(),
        network: micros(turns * 10_099),
        errors: 0,
        spread: spread(calls, 10_310),
        text_source: None,
    }
}

pub fn intermediary() -> model::Intermediary {
    model::Intermediary {
        target: "postgres://app@127.0.0.1:15432/shop".into(),
        near_round_trip: micros(45),
        round_trip: micros(40_950),
        server_reported: true,
    }
}

pub fn recognised() -> RecognisedStatement {
    RecognisedStatement {
        unseen: "(prepared article_by_id)".into(),
        text: "select name from article where id = $1".into(),
        source: TextSource::AnotherConnection,
    }
}

pub fn group(name: &str, kind: OperationKind, count: u64, turns: u64) -> OperationGroup {
    OperationGroup {
        name: name.into(),
        kind,
        count,
        turns,
        most_turns: turns.checked_div(count).unwrap_or(0),
        spread: spread(count, turns / count * 10_400),
        median_range: (count > 5).then(|| [10_100, 10_700].map(|each| micros(turns / count * each))),
        attribution: attribution(
            count * 3_120,
            turns * 241,
            turns * 10_040,
            count * 400,
            count * 100,
        ),
        setup: micros(count * 30_120),
        assigned: model::Assignments::default(),
        evidence: Evidence {
            round_trips: turns,
            ..Evidence::default()
        },
    }
}

pub fn order(kind: OrderKind) -> Order {
    Order {
        kind,
        looked_at: 250,
        at_once: 118,
    }
}

pub fn prediction(name: &str, rtt_millis: u64, turns: f64, rate: Option<&str>) -> Prediction {
    let middle = 9_892 + (turns * rtt_millis as f64 * 1000.0) as u64;
    Prediction {
        operation_name: name.into(),
        operations: 250,
        warming_up: 0,
        rtt: Duration::from_millis(rtt_millis),
        rate: PerDirection::splat(rate.and_then(|rate| BitRate::parse(rate).ok())),
        link: match rate {
            Some(_) => format!("rtt={rtt_millis}ms rate=10mbit").into(),
            None => format!("rtt={rtt_millis}ms").into(),
        },
        clients: 1,
        workers: None,
        duration: micros(middle),
        low: micros(middle * 9 / 10),
        high: micros(middle * 11 / 10),
        margins: vec![BoundsMargin {
            source: MarginSource::Computing,
            seconds: [middle as f64 * 1e-7; 2],
        }],
        unscaled: [micros(middle * 9 / 10), micros(middle * 11 / 10)],
        scale: BoundsScale {
            class: "one client, computing",
            factor: 1.0,
            measured: Some(MeasuredCells {
                count: 120,
                applications: 8,
                inside_percent: 89,
            }),
        },
        spread: spread(250, middle),
        per_second: 1e6 / middle as f64,
        turns,
        slope: turns,
        order: None,
        bound_by: BoundBy::RoundTrips,
        attribution: attribution(780_000, 1_693_000, 67_500_000 * rtt_millis / 10, 100_000, 0),
        unexplained: Some(Unexplained {
            median_ns: -21_000,
            share: 0.004,
        }),
        examples: Some(examples(turns as u64, middle)),
        measured: None,
    }
}

/// A typical operation, and one of twice the duration.
fn examples(turns: u64, middle: u64) -> PredictedExamples {
    let one = |factor: u64| PredictedOperation {
        measured: micros(factor * turns * 10_400),
        predicted: micros(factor * middle),
        unexplained_ns: -21_000,
        turns: factor * turns,
        without: None,
    };
    PredictedExamples {
        typical: one(1),
        longest: one(2),
        alike: Share::of_counts(1, 1).expect("a share"),
    }
}

pub fn measured(rounds: u64, middle: u64) -> MeasuredDurations {
    MeasuredDurations {
        operations: rounds,
        duration: micros(middle),
        spread: spread(rounds, middle),
        per_second: 1e6 / middle as f64,
        errors: 0,
    }
}

pub fn link() -> LinkOutcome {
    let direction = |packets, rate, realised| LinkDirectionOutcome {
        packets,
        wire_bytes: packets * 700,
        rate: BitRate::parse(rate).ok(),
        realised_rate: BitRate::parse(realised).ok(),
        ..LinkDirectionOutcome::default()
    };
    LinkOutcome {
        name: "client-server".to_owned(),
        asked: "rtt=40ms rate=2Mbit/s/10Mbit/s loss=0.1%".to_owned(),
        rtt: Duration::from_millis(40),
        rtt_error_p50_ns: Some(31_200),
        rtt_error_p99_ns: Some(214_000),
        directions: PerDirection::new(
            LinkDirectionOutcome {
                dropped_by_loss: 3,
                ..direction(4_120, "2Mbit/s", "2Mbit/s")
            },
            LinkDirectionOutcome {
                dropped_by_queue: 17,
                dropped_by_loss: 5,
                ..direction(7_031, "10Mbit/s", "9.97Mbit/s")
            },
        ),
        floor: Some(micros(62)),
    }
}

pub fn sparing() -> SparingOutcome {
    let mut orders = SparedOperation::new("GET /orders".into());
    orders.max_removed = 38;
    for step in 0..30 {
        orders.with.add(micros(841_000 + 70 * step));
        orders.without.add(micros(95_000 + 70 * step));
    }
    SparingOutcome {
        spared: "n+1".to_owned(),
        rtt: Duration::from_millis(20),
        promised: Some(Duration::from_millis(751)),
        executions: SparedExecutions {
            all: 600,
            removable: 570,
            spared: 570,
            not_at_rest: 0,
        },
        operations: vec![orders],
        ..SparingOutcome::default()
    }
}

pub fn tunnel() -> TunnelTotals {
    let way = |payload_bytes, tunnel_bytes, chunks| TunnelDirection {
        payload_bytes,
        tunnel_bytes,
        chunks,
        ..TunnelDirection::default()
    };
    TunnelTotals {
        ways: PerDirection::new(
            way(41_000, 43_900, 410),
            TunnelDirection {
                stored_chunks: 12,
                payload_bytes_at: [3_900, 0, 0, 0, 0, 0, 13_996_100, 0, 0, 0],
                codec_time: Duration::from_millis(91),
                stalls: 14,
                stalled: Duration::from_millis(2_104),
                reader_stalls: 2,
                ..way(14_000_000, 1_000_000, 430)
            },
        ),
        streams: 37,
        open_streams: 4,
        broken_streams: 1,
        refused_streams: 0,
        lanes: 2,
        lane_losses: 1,
        refused_peers: 3,
        processor: Duration::from_millis(1_500),
        elapsed: Duration::from_secs(60),
    }
}

pub fn warning() -> Warning {
    Warning::new(
        WarningKind::PayloadMissing,
        "shop.pcap: 96 bytes of 10.0.0.1:40313 -> 10.0.0.2:5432 were cut by the snap length: capture with tcpdump -s 0",
    )
}

pub fn summary() -> Summary {
    Summary {
        evidence: Evidence {
            round_trips: 6_700,
            ..Evidence::default()
        },
        assigned: [
            (Assigned::Identifier, 120),
            (Assigned::Only, 80),
            (Assigned::Order, 4),
        ]
        .into_iter()
        .collect(),
        turns: 6_989,
        exchanges: 6_989,
        connections: 6,
        operations: 253,
        statements: 6_700,
        payload_bytes: PerDirection::new(461_274, 12_664_068),
        duration: micros(72_912_345),
        attribution: attribution(789_360, 1_684_349, 70_169_560, 101_200, 25_300),
        setup: micros(7_620_360),
        spread: spread(253, 281_000),
        packets: Some(15_120),
        dropped_exchanges: 12,
        samples: None,
    }
}

pub fn sample() -> Sample {
    Sample {
        number: 3,
        target: "postgres://app@10.0.0.2:5432/shop".into(),
        at: Timestamp::from_nanos(1_790_000_003_000_000_000),
        intended_at: Some(Timestamp::from_nanos(1_790_000_003_000_000_000)),
        duration: Some(micros(40_312)),
        server: Some(micros(41)),
        first: false,
        turns: Some(1),
        kernel_rtt: Some(micros(40_105)),
        error: None,
    }
}

pub fn leg() -> model::Leg {
    model::Leg {
        name: "tls request".into(),
        phase: Phase::Tls,
        duration: micros(40_217),
        turns: 1,
        payload_bytes: PerDirection::new(8, 1),
        remedy: Some(
            "sslnegotiation=direct: TLS begins without asking (client and server 17 or later)".into(),
        ),
        saves_turns: 1,
    }
}

pub fn totals() -> SampleTotals {
    SampleTotals {
        sent: 1_003,
        answered: 1_001,
        lost: 2,
        errors: 1,
        per_second: 0.998,
        mdev: Some(micros(212)),
        floor: Some(micros(58)),
    }
}

pub fn echo() -> EchoOutcome {
    EchoOutcome {
        request_bytes: 16,
        reply_bytes: 16,
        streams: 64,
        spin: false,
        polled: 0,
        spread: spread(302_140, 412),
        elapsed: micros(2_000_000),
        per_second: 151_070.0,
        client_processor: micros(1_610_000),
        server_processor: Some(micros(1_580_000)),
        other_clients: 0,
        kernel_rtt: Some(micros(7)),
        retransmitted: 0,
        errors: 0,
    }
}

pub fn calibrated() -> model::CalibratedRest {
    model::CalibratedRest {
        side: model::Side::Client,
        longer: millis(5),
        samples: 410,
        work: micros(412),
        additional_ns: 64_000,
        factor: Some(model::CalibratedFactor {
            factor: 0.15,
            factor_low: 0.02,
            factor_high: 0.31,
        }),
        refused: None,
    }
}

/// Every key has a value.
pub fn estimate() -> model::Estimate {
    let row_bytes = ByteCount::from_bytes(322);
    let rows = model::RowTransfer {
        rows: 32_000,
        row_bytes,
        buffer: ByteCount::from_bytes(4096),
    };
    model::Estimate {
        link: "rtt=10ms".into(),
        rtt: millis(10),
        rows: Some(rows),
        packets: Some(10_667),
        operation: model::KnownOperation {
            work: Some(millis(11_000)),
            round_trips: 2667.0,
            payload: rows.payload(),
            clients: 2,
            think: Duration::ZERO,
        },
        round_trips: millis(26_670),
        transfer: millis(854),
        compressing: millis(3),
        waiting: millis(4),
        sent: row_bytes,
        is_compressed: true,
    }
}

pub fn interval(middle: u64) -> Interval {
    Interval {
        median: micros(middle),
        low: micros(middle * 95 / 100),
        high: micros(middle * 106 / 100),
        rounds: 5,
    }
}

pub fn split() -> SplitOutcome {
    SplitOutcome {
        clients: 64,
        transactions: 182_400,
        errors: 0,
        spread: spread(36_480, 1_700),
        turns: 1.0,
        payload_bytes: PerDirection::new(14.0, 66.0),
        round_trip: interval(400),
        source: RoundTripSource::Echo,
        transaction: interval(1_760),
        client: interval(20),
        network: interval(400),
        server: interval(1_340),
    }
}

pub fn elsewhere() -> SplitPrediction {
    SplitPrediction {
        place: "rtt=5ms".into(),
        base: SplitBase::Emulated,
        round_trip: micros(5_000),
        clients: 64,
        forecast: Ok(SplitForecast {
            transaction: micros(5_080),
            low: micros(4_826),
            high: micros(5_384),
            unscaled: [micros(4_953), micros(5_232)],
            scale: BoundsScale {
                class: "several clients, mostly network",
                factor: 2.0,
                measured: Some(MeasuredCells {
                    count: 64,
                    applications: 5,
                    inside_percent: 91,
                }),
            },
            bound_by: BoundBy::RoundTrips,
        }),
        measured: Some(interval(5_120)),
    }
}

pub fn not_predicted() -> SplitPrediction {
    SplitPrediction {
        base: SplitBase::Direct,
        forecast: Err(SplitRefusal::Wide {
            low: micros(4_000),
            high: micros(16_000),
        }),
        measured: None,
        ..elsewhere()
    }
}

pub fn bulk() -> BulkOutcome {
    BulkOutcome {
        direction: Direction::ClientToServer,
        payload_bytes: 23_812_500,
        elapsed: micros(2_000_000),
        rate: BitRate::from_bits_per_second(95_250_000),
        retransmitted: Some(3),
        idle: spread(1_000, 10_100),
        loaded: spread(1_200, 41_300),
        client_processor: micros(80_000),
        server_processor: Some(micros(110_000)),
    }
}

pub fn finding() -> Finding {
    Finding {
        kind: FindingKind::NPlusOne,
        fingerprint: Some("SELECT name, price FROM article WHERE id = ?".into()),
        operation_name: "GET /article/?".into(),
        operations: 250,
        owners: FindingOwners::Known,
        dependent: Some(false),
        count: 6_000,
        turns: 6_000,
        saves_turns: 5_750,
        saves_turns_most: 5_750,
        savings: [10, 40]
            .map(|rtt| Saving {
                rtt: Duration::from_millis(rtt),
                saves: Duration::from_millis(rtt * 5_750),
                bounds: Some([5_000, 6_000].map(|turns| Duration::from_millis(rtt * turns))),
                remedied: Some(Remedied {
                    duration: Duration::from_millis(2 * rtt + 3),
                    low: Duration::from_millis(2 * rtt + 1),
                    high: Duration::from_millis(2 * rtt + 9),
                }),
            })
            .to_vec(),
        driver: Some("PostgreSQL JDBC Driver".into()),
        remedy: "Ask for all rows at once: a join, or WHERE id = ANY (?) with an array.".to_owned(),
    }
}

/// In few of the operations, with guessed round trips.
pub fn doubtful_finding() -> Finding {
    Finding {
        operations: 3,
        saves_turns_most: 5_990,
        owners: FindingOwners::Doubtful(Share::of_fraction(0.92)),
        ..finding()
    }
}

/// With owners guessed without a probability.
pub fn unrated_finding() -> Finding {
    Finding {
        owners: FindingOwners::Guessed(None),
        ..finding()
    }
}

/// Transactions of a page that buys: one reads before it writes.
pub fn held() -> Vec<HeldTransactions> {
    let one = |name: &str, count: u64, turns: u64, took: u64| HeldTransactions {
        name: name.into(),
        operation_name: "PUT /basket".into(),
        count,
        writing: count,
        writes: 2 * count,
        turns: turns * count,
        most_turns: turns + 1,
        turns_after_write: (turns - 1) * count,
        spread: spread(count, took),
        median: micros(took),
        rows_held: Some(micros(took * 3 / 4)),
        attribution: attribution(
            100 * count,
            300 * count,
            (took - 400) * count * 9 / 10,
            (took - 400) * count / 10,
            0,
        ),
    };
    vec![
        one(
            "UPDATE article SET stock = stock - ? WHERE id = ?",
            120,
            13,
            4_100,
        ),
        HeldTransactions {
            writing: 0,
            writes: 0,
            turns_after_write: 0,
            rows_held: None,
            ..one("SELECT name, price FROM article WHERE id = ?", 3, 4, 1_300)
        },
    ]
}

pub fn held_predictions() -> Vec<HeldPrediction> {
    let at = |held: &HeldTransactions, rtt: u64| {
        let there = |turns: u64, here: Duration| here + Duration::from_millis(rtt * turns / held.count);
        HeldPrediction {
            name: held.name.clone(),
            operation_name: held.operation_name.clone(),
            replays: held.count,
            rtt: Duration::from_millis(rtt),
            rate: PerDirection::default(),
            link: format!("rtt={rtt}ms").into(),
            median: there(held.turns, held.median),
            rows_held: held.rows_held.map(|here| there(held.turns_after_write, here)),
            longest: there(held.turns, held.median * 2),
        }
    };
    let held = held();
    held.iter()
        .flat_map(|one| [10, 40].map(|rtt| at(one, rtt)))
        .collect()
}

pub fn read_outcome() -> ReadOutcome {
    let page = "GET /article/?";
    ReadOutcome {
        conditions: conditions(),
        connections: vec![opaque_connection(), connection()],
        statements: vec![
            statement("COMMIT", 250, 250),
            statement("SELECT name, price FROM article WHERE id = ?", 6_000, 6_000),
            statement(
                "SELECT article_id, count(*) AS orders, sum(quantity) FROM order_line JOIN article USING (article_id) \
                 WHERE order_line.placed_at > ? GROUP BY article_id ORDER BY orders DESC LIMIT ?",
                250,
                250,
            ),
            statement("SELECT '\u{1b}[2J'", 1, 1),
            statement("BEGIN", 249, 249),
            statement("SELECT 表 FROM 商品", 150, 150),
            statement("SHOW server_version", 6, 6),
        ],
        operations: vec![
            group("PUT /basket", OperationKind::Http, 3, 87),
            group(page, OperationKind::Http, 250, 6_902),
        ],
        recognised: Vec::new(),
        warnings: vec![warning()],
        strays: None,
        unmoved: Vec::new(),
        predictions: [("PUT /basket", 29.0), (page, 27.6)]
            .into_iter()
            .flat_map(|(name, turns)| [10, 40].map(|rtt| prediction(name, rtt, turns, None)))
            .collect(),
        held: held(),
        held_predictions: held_predictions(),
        findings: vec![finding()],
        links: Vec::new(),
        sparing: Vec::new(),
        summary: summary(),
    }
}

pub fn demo() -> DemoOutcome {
    let [chatty, joined] = ["page, 1 + N look-ups", "page, one join"];
    let predictions = [(chatty, 27.0), (joined, 3.0)]
        .into_iter()
        .flat_map(|(name, turns)| [0, 10, 40, 120].map(|rtt| prediction(name, rtt, turns, None)));
    let mut predictions: Vec<Prediction> = predictions.collect();
    for (place, took) in [(1, 282_100), (2, 1_094_700), (5, 39_400), (6, 129_300)] {
        predictions[place].measured = Some(measured(9, took));
    }
    let at = |rtt| LinkOutcome {
        rtt: Duration::from_millis(rtt),
        ..link()
    };
    DemoOutcome {
        pages: 40,
        rows: 12,
        chatty: chatty.into(),
        joined: joined.into(),
        outcome: ReadOutcome {
            statements: vec![
                statement("SELECT name FROM author WHERE id = ?", 480, 480),
                statement("SELECT * FROM product JOIN author USING (author_id)", 40, 40),
            ],
            operations: vec![
                group(chatty, OperationKind::Connection, 40, 1_080),
                group(joined, OperationKind::Connection, 40, 120),
            ],
            findings: vec![Finding {
                fingerprint: Some("SELECT name FROM author WHERE id = ?".into()),
                operation_name: chatty.into(),
                operations: 40,
                count: 480,
                turns: 480,
                saves_turns: 440,
                saves_turns_most: 440,
                ..finding()
            }],
            predictions,
            ..read_outcome()
        },
        links: vec![at(10), at(40)],
        page: Some("longwire-demo.html".to_owned()),
    }
}

pub fn explanation() -> ExplainOutcome {
    let steps = (0..24).map(|number: u32| ExplainedExchange {
        assigned: (number > 0).then_some(Assigned::Identifier),
        probability: None,
        name: match number {
            0 => "connect".to_owned(),
            _ => "SELECT name, price FROM article WHERE id = ?".to_owned(),
        },
        connection: ConnectionId(1),
        moved: number < 18,
        turns: 1,
        bytes: PerDirection::new(66, 1_812),
        started: micros(u64::from(number) * 40_300),
        completed: micros(u64::from(number) * 40_300 + 40_241),
    });
    ExplainOutcome {
        is_calibrated: false,
        operation_name: "GET /article/?".to_owned(),
        link: "delay 20ms".to_owned(),
        measured: micros(280_412),
        unexplained_ns: 420_000,
        predicted: micros(967_200),
        prediction: Some(prediction("GET /article/?", 40, 24.0, None)),
        steps: steps.collect(),
        assumptions: vec![(
            "Client and server take the same time as measured, at every distance.".to_owned(),
            "the measurement".to_owned(),
        )],
    }
}

pub fn line(write: impl FnOnce(&mut JsonWriter<Vec<u8>>) -> std::io::Result<()>) -> String {
    let mut writer = JsonWriter::new(Vec::new());
    write(&mut writer).expect("memory takes it");
    let bytes = writer.into_inner().expect("memory takes it");
    String::from_utf8(bytes)
        .expect("JSON is UTF-8")
        .trim_end()
        .to_owned()
}

pub fn lab() -> report::outcome::LabOutcome {
    use report::outcome::{LabDrift, LabOutcome, LabPoint, LabSlope, LabTimes};
    let mut prediction = prediction("request", 40, 27.2, None);
    let measured = measured(100, 1_099_312);
    prediction.measured = Some(measured.clone());
    let beside = vec![("workload.clients".to_owned(), "16".to_owned())];
    LabOutcome {
        name: "wordpress".to_owned(),
        operation: "request".to_owned(),
        settings: vec!["links.web-database.rtt".to_owned(), "workload.clients".to_owned()],
        points: vec![LabPoint {
            values: vec!["40ms".to_owned(), "16".to_owned()],
            measured: Some(measured),
            prediction: Some(prediction),
            is_baseline: false,
            against: Some(8),
            times: Some(LabTimes {
                median: 14.2,
                low: 13.9,
                high: 14.6,
            }),
            rounds: vec![lab_round()],
        }],
        slopes: vec![LabSlope {
            link: "web-database".to_owned(),
            beside: beside.clone(),
            measured: 27.25,
            predicted: Some(27.1),
            turns: Some(27.2),
            points: [0, 0, 0].map(|point| (millis(40), point)).to_vec(),
        }],
        drifts: vec![LabDrift {
            beside,
            first: millis(12),
            later: vec![millis(11), millis(13)],
        }],
        ..LabOutcome::default()
    }
}

/// The published experiment: a page with its visitor far away, then its database.
pub fn lab_of_two_legs() -> report::outcome::LabOutcome {
    use report::outcome::{LabOutcome, LabPoint, LabSlope};
    let legs = [
        (
            "client-web",
            4.0,
            &[(0, 12_300), (10, 51_800), (40, 173_300), (120, 491_900)][..],
        ),
        (
            "web-database",
            27.2,
            &[(0, 12_300), (10, 286_700), (40, 1_099_300)][..],
        ),
    ];
    let mut lab = LabOutcome {
        points: Vec::new(),
        slopes: Vec::new(),
        ..lab()
    };
    for (link, turns, measurements) in legs {
        let first = lab.points.len();
        let points = measurements.iter().zip(first..);
        let points: Vec<(Duration, usize)> = points.map(|((rtt, _), point)| (millis(*rtt), point)).collect();
        lab.points
            .extend(measurements.iter().map(|(rtt, median)| LabPoint {
                measured: Some(measured(100, *median)),
                prediction: Some(prediction("request", *rtt, turns, None)),
                ..LabPoint::default()
            }));
        lab.slopes.push(LabSlope {
            link: link.to_owned(),
            measured: turns + 0.02,
            predicted: Some(turns),
            turns: Some(turns),
            points,
            ..LabSlope::default()
        });
    }
    lab
}

fn lab_round() -> report::outcome::LabRound {
    use report::outcome::{LabProcessor, LabRound};
    let used = |service: &str, host: &str, time: u64| LabProcessor {
        service: service.to_owned(),
        host: host.to_owned(),
        time: millis(time),
    };
    let mut durations = model::DistributionBuilder::new();
    durations.add(millis(1_099));
    LabRound {
        measured: MeasuredDurations {
            spread: spread(1_000, 1_099_312),
            ..measured(1_000, 1_099_312)
        },
        durations,
        elapsed: millis(109_931),
        payload: PerDirection::new(8_900, 4_310_000).map(ByteCount::from_bytes),
        client_processor: millis(40),
        processors: vec![used("database", "database", 610), used("web", "web", 2_130)],
        links: vec![link()],
    }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn rows() -> RowTrain {
    RowTrain {
        rows: 2_000,
        packets: Some(2_000),
        segment: ByteCount::from_bytes(1_448),
        filler: ByteCount::from_bytes(1_432),
        largest_seen: ByteCount::from_bytes(1_448),
        own_segment: Some(ByteCount::from_bytes(1_448)),
        headers: ByteCount::from_bytes(52),
        corrections: 0,
        round_trip: Some(micros(40_120)),
        kernel_min_rtt: Some(micros(40_031)),
        first_row: micros(52_411),
        span: micros(23_988_000),
        gaps: Distribution {
            mean: Some(micros(12_000)),
            ..spread(1_999, 12_001)
        },
        pauses: 0,
        shared_stamps: 0,
    }
}

pub fn database_link() -> DatabaseLinkOutcome {
    DatabaseLinkOutcome {
        link: "branch".into(),
        through: "postgres_fdw".into(),
        connect: Some(micros(201_300)),
        first_call: Some(micros(163_020)),
        calls: Distribution {
            min: Some(micros(160_240)),
            ..spread(1_000, 160_610)
        },
        round_trips: spread(1_000, 40_120),
        turns_per_call: Some(4),
        calls_in_round_trips: Some(4.003),
        evidence: "a call takes 4.00 times as long as a round trip: START TRANSACTION, DECLARE, FETCH and CLOSE where it is 4"
            .to_owned(),
        rows: Some(LinkRows {
            rows: 500,
            calls: Distribution {
                min: Some(micros(281_050)),
                ..spread(5, 281_400)
            },
            turns: None,
        }),
        client_rtt: Some(micros(8_120)),
        failed: 0,
    }
}

pub fn load_interval() -> LoadInterval {
    LoadInterval {
        elapsed: Duration::from_secs(3),
        interval: Duration::from_secs(1),
        succeeded: 251,
        failed: 1,
        mean: Some(micros(11_300)),
        deviation: Some(micros(2_100)),
        lag: Some(micros(150)),
    }
}

/// Transactions of two scripts at a rate, of which some failed.
pub fn load_of_http() -> LoadReport {
    LoadReport {
        target: "http://web1:8080/a.html".to_owned(),
        work: LoadWork::Http { keep_alive: true },
        failed: 0,
        asked_per_second: None,
        begun: None,
        lag: None,
        not_begun: 0,
        scripts: Vec::new(),
        failures: Vec::new(),
        ..load_report()
    }
}

pub fn load_report() -> LoadReport {
    let script = |name: &str, weight, count| LoadScript {
        name: name.to_owned(),
        weight,
        spread: spread(count, 11_300),
    };
    LoadReport {
        target: "postgres://app@db1/bench".to_owned(),
        work: LoadWork::Sql {
            scripts: "multiple scripts".to_owned(),
            scale: Some("10".to_owned()),
            mode: "prepared",
            reconnect: false,
        },
        clients: 8,
        threads: 2,
        succeeded: 1_097,
        failed: 3,
        per_second: 249.7,
        asked_per_second: Some(250.0),
        spread: spread(1_097, 11_450),
        begun: Some(spread(1_097, 11_300)),
        deviation: Some(micros(2_100)),
        lag: Some(Distribution {
            count: 1_100,
            mean: Some(micros(150)),
            max: Some(micros(9_000)),
            ..Distribution::default()
        }),
        not_begun: 3,
        elapsed: micros(4_393_000),
        connecting: micros(42_000),
        turns: 2_200,
        payload_bytes: PerDirection::new(66_000, 82_500),
        processor: [micros(120_000), micros(310_000)],
        scripts: vec![script("read.sql", 9, 1_000), script("write.sql", 1, 97)],
        failures: vec![LoadFailure {
            text: "server: statement 2 failed: 40001 could not serialize access due to concurrent update"
                .to_owned(),
            count: 3,
        }],
        statements: Vec::new(),
    }
}

/// A program that fetches 2,000 rows, ten or a thousand at a time.
pub fn program() -> ProgramReport {
    let millis = |millis| Some(Duration::from_millis(millis));
    let spread = |[min, p50, max]: [u64; 3]| Distribution {
        count: 5,
        min: millis(min),
        max: millis(max),
        mean: millis(p50),
        p50: millis(p50),
        ..Distribution::default()
    };
    let tuned = |setting: &str, spans, connected, run: ProgramRun| ProgramTuned {
        setting: setting.into(),
        link: Some("rtt=10ms".into()),
        spread: spread(spans),
        connected: spread(connected),
        failed: 0,
        typical: Some(run),
    };
    ProgramReport {
        program: "java".to_owned(),
        server: "10.0.0.2:5432".to_owned(),
        rounds: 5,
        tuned: vec![
            tuned(
                "URL:defaultRowFetchSize=10",
                [2391, 2420, 2467],
                [2090, 2104, 2120],
                ProgramRun {
                    duration: Duration::from_millis(2420),
                    connected: millis(2104),
                    connections: 1,
                    turns: 206,
                    payload_bytes: PerDirection::new(9_120, 131_020),
                    packets: Some(PerDirection::new(214, 233)),
                    client_memory: Some(ByteCount::from_bytes(61_200_000)),
                },
            ),
            tuned(
                "URL:defaultRowFetchSize=1000",
                [391, 402, 420],
                [88, 90, 93],
                ProgramRun {
                    duration: Duration::from_millis(402),
                    connected: millis(90),
                    connections: 1,
                    turns: 8,
                    payload_bytes: PerDirection::new(812, 126_400),
                    packets: Some(PerDirection::new(30, 96)),
                    client_memory: Some(ByteCount::from_bytes(62_100_000)),
                },
            ),
        ],
        best: vec![ProgramBest {
            link: Some("rtt=10ms".into()),
            setting: "URL:defaultRowFetchSize=1000".into(),
            duration: Duration::from_millis(402),
            best: Duration::from_millis(398),
            worst_setting: "URL:defaultRowFetchSize=10".into(),
            worst: Duration::from_millis(2420),
            told_apart: true,
        }],
        unchanged: vec![vec!["URL:ziplevel=0".into(), "URL:ziplevel=9".into()]],
        warnings: Vec::new(),
    }
}

pub fn tune() -> TuneReport {
    let link: std::sync::Arc<str> = "rtt=10ms".into();
    let spread = model::Distribution {
        count: 5,
        min: Some(micros(2_932_000)),
        max: Some(micros(3_011_000)),
        p50: Some(micros(2_950_000)),
        ..model::Distribution::default()
    };
    let typical = model::TrialOutcome {
        duration: micros(2_950_000),
        span: None,
        rows: 32_000,
        turns: Some(252),
        window: None,
        packets: Some(PerDirection::new(7_420, 4_011)),
        payload_bytes: Some(PerDirection::new(10_560_000, 9_800)),
        wire_bytes: Some(PerDirection::new(11_049_720, 274_526)),
        client_memory: Some(model::ByteCount::from_bytes(131_072)),
        server_memory: Some(model::ByteCount::from_bytes(1_310_720)),
    };
    TuneReport {
        server: "db1:5432".to_owned(),
        product: Some("PostgreSQL 15.18".to_owned()),
        scratch: "longwire_tune_5f2ac0de".to_owned(),
        is_removed: true,
        rows: 32_000,
        select_rows: 117_158,
        row_bytes: Some(322),
        methods: vec![model::Method {
            job: model::Job::Insert,
            name: "multi-row statement".into(),
            parameter: Some(model::MethodParameter {
                name: "rows a statement".into(),
                unit: model::ParameterUnit::Rows,
                values: vec![32, 64, 128],
                default: None,
                spelling: "values (...), (...): {} rows".into(),
            }),
        }],
        tuned: vec![model::Tuned {
            job: model::Job::Insert,
            method: "multi-row statement".into(),
            value: Some(128),
            link: Some(std::sync::Arc::clone(&link)),
            source: model::TrialSource::Emulated,
            runs: 5,
            spread,
            typical,
        }],
        recommendations: vec![model::Recommendation {
            job: model::Job::Insert,
            link: Some(link),
            method: "copy".into(),
            value: Some(16_384),
            spelling: "copy ... from stdin, 16384 bytes a CopyData".to_owned(),
            duration: micros(190_000),
            best: micros(187_000),
            worst_method: "row by row".into(),
            worst: micros(323_000_000),
            runs: [31, 265],
            as_good: vec![model::ChosenSetting {
                method: "copy".into(),
                value: Some(65_536),
            }],
        }],
        ..TuneReport::default()
    }
}

/// A shop with orders that may not move, and one finding that would allow it.
pub fn planned() -> PlanOutcome {
    let statement = "SELECT name FROM article WHERE id = ?";
    let broken = BrokenBudget {
        operation_name: "GET /basket".into(),
        measure: PlanMeasure::Median,
        allowed: Duration::from_millis(100),
        found: Duration::from_millis(240),
    };
    let placed = |place: &str, moved, price, broken| PlacementOutcome {
        services: ["shop", "orders"]
            .map(|service| PlacedService {
                service: service.into(),
                place: if service == "shop" { "zurich" } else { place }.into(),
            })
            .to_vec(),
        moved,
        operations: vec![PlacedOperation {
            name: "GET /basket".into(),
            operations: 400,
            median: Some(Duration::from_millis(40)),
            low: Duration::from_millis(36),
            high: Duration::from_millis(46),
            p95: Some(Duration::from_millis(55)),
            per_second: 12.5,
        }],
        transactions: vec![PlacedTransaction {
            name: "UPDATE stock".into(),
            operation_name: "GET /basket".into(),
            median: Duration::from_millis(9),
        }],
        gigabytes: 120.5,
        price,
        broken,
    };
    let today = placed("zurich", 0, 300.0, Vec::new());
    PlanOutcome {
        title: "app.pcap".to_owned(),
        currency: "EUR".to_owned(),
        places: vec!["zurich".into(), "paris".into()],
        links: vec![PlanLink {
            between: ["zurich".into(), "paris".into()],
            link: "rtt=10ms".to_owned(),
            rtt: Duration::from_millis(10),
            price: 0.02,
        }],
        budgets: 1,
        today: today.clone(),
        asked: Vec::new(),
        cheapest: Some(today.clone()),
        predicted: vec![placed("paris", 1, 250.0, vec![broken.clone()])],
        possible: 2,
        price_at_least: 200.0,
        held_back: vec![HeldBack {
            service: "orders".into(),
            place: "paris".into(),
            broken,
            price_change: -50.0,
            statements: vec![HoldingStatement {
                fingerprint: Some(statement.into()),
                between: ["shop".into(), "orders".into()],
                turns: 18.5,
                share: Share::of_counts(3, 4).expect("a share"),
            }],
            fixes: vec![PlanFix {
                kind: FindingKind::NPlusOne,
                fingerprint: Some(statement.into()),
                saves: Duration::from_millis(170),
                remedy: "Ask for all of them at once.".to_owned(),
            }],
            fixed: Some(Duration::from_millis(70)),
            may_move: true,
        }],
        moves: vec![PlanMove {
            service: "orders".into(),
            from: "zurich".into(),
            to: "paris".into(),
            price: 250.0,
        }],
        order: OrderOfMoves::Found,
        warnings: vec![warning()],
    }
}

/// A page that fetches its articles one by one, against budgets of each kind.
/// A change beyond scatter, one within, one of few operations, and a name of each run.
pub fn comparison() -> report::outcome::ComparisonReport {
    let http = OperationKind::Http;
    let before = ReadOutcome {
        operations: vec![
            group("GET /article/?", http, 250, 50_250),
            group("GET /basket", http, 40, 1_160),
            group("PUT /basket", http, 3, 87),
            group("GET /old", http, 12, 24),
        ],
        warnings: Vec::new(),
        ..read_outcome()
    };
    let now = ReadOutcome {
        operations: vec![
            group("GET /article/?", http, 241, 723),
            group("GET /basket", http, 44, 1_276),
            group("PUT /basket", http, 4, 116),
            group("GET /<a>&\"b\"\u{1b}[0m", http, 12, 36),
        ],
        ..read_outcome()
    };
    let titles = ["before.pcap", "after.pcap"].map(str::to_owned);
    report::outcome::ComparisonReport::new(titles, [before, now])
}

const REMEDY: &str = "n+1 (SELECT name FROM article WHERE id = ?): Ask for all of them at once.";

pub fn checked() -> CheckReport {
    let statement = "SELECT name FROM article WHERE id = ?";
    CheckReport {
        title: "app.pcap".to_owned(),
        operations: vec![
            group("GET /basket", OperationKind::Http, 3, 93),
            group("GET /<a>&\"b\"\u{1b}[0m", OperationKind::Http, 1, 2),
        ],
        verdicts: verdicts(statement),
        allows_unseen: false,
        changes: vec![Change {
            operation_name: "GET /basket".into(),
            turns: [Some(4), Some(31)],
            link: "rtt=40ms".into(),
            predicted: [180, 1300].map(|millis| Some(Duration::from_millis(millis))),
            new_findings: vec![(FindingKind::NPlusOne, Some(statement.into()))],
        }],
        summary: summary(),
        warnings: Vec::new(),
    }
}

fn verdicts(statement: &str) -> Vec<BudgetVerdict> {
    let verdict = |name: &str, measure: BudgetMeasure, remedy: Option<String>| BudgetVerdict {
        operation_name: name.into(),
        measure,
        remedy,
        not_judged: None,
    };
    let predicted = |found: u64| BudgetMeasure::Predicted {
        link: "rtt=40ms".into(),
        allowed: Duration::from_millis(200),
        found: Some(PredictedDuration::Median {
            median: Duration::from_millis(found),
        }),
    };
    vec![
        verdict("GET /basket", predicted(1300), Some(REMEDY.to_owned())),
        verdict(
            "GET /basket",
            BudgetMeasure::Forbidden {
                kind: FindingKind::NPlusOne,
                found: Some(ForbiddenWaste {
                    fingerprint: Some(statement.into()),
                    count: 90,
                    turns: 90,
                    places: 2,
                }),
            },
            Some("Ask for all of them at once.".to_owned()),
        ),
        verdict(
            "GET /basket",
            BudgetMeasure::Held {
                link: Some("rtt=40ms".into()),
                transaction: Some("UPDATE article SET stock = stock - ? WHERE id = ?".into()),
                allowed: Duration::from_millis(100),
                found: Some(Duration::from_millis(524)),
            },
            Some("Write last, and commit at once.".to_owned()),
        ),
        verdict(
            "GET /<a>&\"b\"\u{1b}[0m",
            BudgetMeasure::Turns { allowed: 1, found: 2 },
            None,
        ),
        verdict(
            "GET /basket",
            BudgetMeasure::Turns {
                allowed: 40,
                found: 31,
            },
            None,
        ),
        BudgetVerdict {
            operation_name: "GET /secret".into(),
            measure: BudgetMeasure::Forbidden {
                kind: FindingKind::NPlusOne,
                found: None,
            },
            remedy: None,
            not_judged: Some(
                "statements of 12 of 12 round trips were not seen (encrypted); open TLS with --keys"
                    .to_owned(),
            ),
        },
    ]
}
