//! Records are lossless for every value of the model.

use model::{
    Assigned, AtLevel, Attribution, Conditions, ConnectionId, ConnectionOutcome, ConnectionTotals, Decoding,
    Distribution, EndedBy, Endpoint, Evidence, Exchange, HostProcess, Lost, NotSeen, PerDirection, Phase,
    PoolerTime, Protocol, RecognisedStatement, RequestId, RequestTraits, RttSource, SampleTotals, SpanId,
    Step, Summary, Tags, TextSource, Timestamp, TransactionState, Warning, WarningKind,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use report::{JsonWriter, Record, RecordEncoder, RecordLine, RecordReader, RecordWriter, RecordingWriter};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tables::{RecordRow, TableName, TableReader, TableRows, TableWriter};

mod samples;

proptest! {
    #[test]
    fn records_come_back_exactly(records in vec(record(), 0..20)) {
        let mut writer = JsonWriter::new(Vec::new());
        for record in &records {
            write(record, &mut writer);
        }
        let bytes = writer.into_inner().expect("memory takes it");
        prop_assert_eq!(read_records(&bytes), records);
    }

    #[test]
    fn records_come_back_from_tables(records in vec(record(), 1..20)) {
        let mut writer = RecordWriter::encoding(Tables::default());
        for record in &records {
            write(record, &mut writer);
        }
        let expected: Vec<Record> = records.into_iter().map(as_in_tables).collect();
        prop_assert_eq!(read_records(&writer.into_encoder().lines()), expected);
    }

    #[test]
    fn recordings_come_back_exactly(
        conditions in conditions(),
        exchanges in vec((exchange(), protocol()), 0..20),
        summary in summary(),
    ) {
        let mut writer = RecordingWriter::new(Vec::new(), &conditions).expect("memory takes it");
        for (exchange, protocol) in &exchanges {
            writer.records().exchange(exchange, *protocol, None).expect("memory takes it");
        }
        let bytes = writer.finish(&summary).expect("memory takes it");
        let mut expected = vec![Record::Conditions(conditions)];
        expected.extend(exchanges.into_iter().map(|(exchange, protocol)| Record::Exchange {
            exchange: exchange.into(),
            protocol,
            operation: None,
        }));
        expected.push(Record::Summary(Box::new(summary)));
        prop_assert!(report::is_recording(&bytes));
        prop_assert_eq!(read_records(&bytes), expected);
    }

    #[test]
    fn spans_follow_each_other_to_the_end_of_an_exchange(exchange in exchange(), protocol in protocol()) {
        let mut writer = JsonWriter::new(Vec::new());
        writer.exchange(&exchange, protocol, None).expect("memory takes it");
        let bytes = writer.into_inner().expect("memory takes it");
        let record: serde_json::Value = serde_json::from_slice(&bytes).expect("it is JSON");
        let span = |key| record.get(key).and_then(serde_json::Value::as_i64).unwrap_or(0);
        let end = exchange.at.as_nanos()
            .wrapping_add_signed(span("request_ns"))
            .wrapping_add_signed(span("first_byte_ns"))
            .wrapping_add_signed(span("reply_ns"));
        if exchange.more.last().unwrap_or(&exchange.first).reply_ended.is_some() {
            prop_assert_eq!(end, exchange.ended().as_nanos());
        }
    }
}

#[test]
fn equal_fingerprints_share_one_allocation() {
    let mut writer = JsonWriter::new(Vec::new());
    for _ in 0..2 {
        let exchange = Exchange {
            fingerprint: Some("SELECT ?".into()),
            ..plain_exchange()
        };
        writer
            .exchange(&exchange, Protocol::Mysql, None)
            .expect("memory takes it");
    }
    let bytes = writer.into_inner().expect("memory takes it");
    let fingerprints: Vec<Arc<str>> = read_records(&bytes)
        .into_iter()
        .filter_map(|record| match record {
            Record::Exchange { exchange, .. } => exchange.fingerprint,
            _ => None,
        })
        .collect();
    assert_eq!(fingerprints.len(), 2);
    assert!(Arc::ptr_eq(&fingerprints[0], &fingerprints[1]));
}

#[derive(Default)]
struct Tables {
    row: RecordRow,
    rows: BTreeMap<TableName, TableRows>,
    count: u64,
}

impl RecordEncoder for Tables {
    fn encode<B: Serialize>(&mut self, line: &RecordLine<'_, B>) -> io::Result<()> {
        self.row.fill(line.name(), line.body(), line, self.count)?;
        self.count += 1;
        let table = self.row.table();
        let rows = self.rows.entry(table).or_insert_with(|| TableRows::new(table));
        rows.push(&self.row);
        Ok(())
    }
}

impl Tables {
    /// All rows in order of their numbers, written as a file and read again.
    fn lines(self) -> Vec<u8> {
        let mut lines = BTreeMap::new();
        for (table, rows) in self.rows {
            let mut file = TableWriter::new(table, "run", Vec::new()).expect("memory takes it");
            file.write(&rows).expect("memory takes it");
            let bytes = bytes::Bytes::from(file.finish().expect("memory takes it"));
            let read = TableReader::new(table, bytes).and_then(|reader| reader.rows(0));
            let read = read.expect("what was written is read");
            assert_eq!(read.count(), rows.count());
            for row in 0..read.count() {
                let mut line = Vec::new();
                read.line(row, &mut line);
                line.push(b'\n');
                lines.insert(read.sequence(row), line);
            }
        }
        lines.into_values().flatten().collect()
    }
}

/// Tables leave out the second half of a digest, literals, and empty tags.
fn as_in_tables(record: Record) -> Record {
    match record {
        Record::Exchange {
            mut exchange,
            protocol,
            operation,
        } => {
            let half = |digest: Option<u64>| digest.map(|digest| digest >> 32 << 32);
            exchange.asked.request_digest = half(exchange.asked.request_digest);
            exchange.asked.rows_digest = half(exchange.asked.rows_digest);
            exchange.literal = None;
            exchange.tags = exchange.tags.filter(|tags| **tags != Tags::default());
            Record::Exchange {
                exchange,
                protocol,
                operation,
            }
        }
        record => record,
    }
}

#[test]
fn every_key_of_an_exchange_has_a_column() {
    let mut writer = RecordWriter::encoding(Tables::default());
    writer
        .exchange(&samples::exchange(), Protocol::Postgres, None)
        .expect("memory takes it");
    assert_eq!(writer.encoder().row.text("more"), None);
}

fn write<E: RecordEncoder>(record: &Record, writer: &mut RecordWriter<E>) {
    match record {
        Record::Conditions(conditions) => writer.conditions(conditions),
        Record::Opened {
            connection,
            at,
            client,
            server,
        } => writer.opened(*connection, *at, *client, *server),
        Record::Started {
            connection,
            at,
            fingerprint,
            request,
        } => writer.started(*connection, *at, fingerprint.as_ref(), *request),
        Record::Begun { connection, at } => writer.begun(*connection, *at),
        Record::Left { connection, at } => writer.left(*connection, *at),
        Record::Exchange {
            exchange,
            protocol,
            operation,
        } => writer.exchange(exchange, *protocol, *operation),
        Record::Connection(connection) => writer.connection(connection),
        Record::Warning(warning) => writer.warning(warning),
        Record::Recognised(found) => writer.recognised(found),
        Record::Summary(summary) => writer.summary(summary),
        Record::Other { name } => panic!("no {name} is made here"),
    }
    .expect("memory takes it");
}

fn read_records(bytes: &[u8]) -> Vec<Record> {
    RecordReader::new(bytes)
        .expect("memory can be read")
        .collect::<Result<_, _>>()
        .expect("all records are good")
}

fn record() -> impl Strategy<Value = Record> {
    let (connection, at) = (any::<u32>().prop_map(ConnectionId), timestamp());
    prop_oneof![
        conditions().prop_map(Record::Conditions),
        (connection.clone(), at.clone(), endpoint(), endpoint()).prop_map(
            |(connection, at, client, server)| {
                Record::Opened {
                    connection,
                    at,
                    client,
                    server,
                }
            }
        ),
        (
            connection.clone(),
            at.clone(),
            option::of(text()),
            option::of(any::<u128>())
        )
            .prop_map(|(connection, at, fingerprint, request)| Record::Started {
                connection,
                at,
                fingerprint: fingerprint.map(Arc::from),
                request: request.map(RequestId),
            }),
        (connection.clone(), at.clone()).prop_map(|(connection, at)| Record::Begun { connection, at }),
        (connection, at).prop_map(|(connection, at)| Record::Left { connection, at }),
        (exchange(), protocol(), option::of(any::<u64>())).prop_map(|(exchange, protocol, operation)| {
            Record::Exchange {
                exchange: exchange.into(),
                protocol,
                operation,
            }
        }),
        connection_outcome().prop_map(Record::Connection),
        (proptest::sample::select(WarningKind::ALL), text())
            .prop_map(|(kind, text)| Record::Warning(Warning::new(kind, text))),
        (text(), text(), any::<bool>()).prop_map(|(unseen, text, same)| {
            Record::Recognised(RecognisedStatement {
                unseen: unseen.into(),
                text: text.into(),
                source: match same {
                    true => TextSource::SameConnection,
                    false => TextSource::AnotherConnection,
                },
            })
        }),
        summary().prop_map(|summary| Record::Summary(Box::new(summary))),
    ]
}

/// Control characters, quotes, every plane of Unicode.
fn text() -> impl Strategy<Value = String> {
    vec(any::<char>(), 0..12).prop_map(String::from_iter)
}

fn span() -> impl Strategy<Value = Duration> {
    any::<u64>().prop_map(Duration::from_nanos)
}

fn timestamp() -> impl Strategy<Value = Timestamp> + Clone {
    any::<u64>().prop_map(Timestamp::from_nanos)
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (any::<std::net::IpAddr>(), any::<u16>()).prop_map(|(address, port)| Endpoint { address, port })
}

fn protocol() -> impl Strategy<Value = Protocol> {
    prop::sample::select(vec![
        Protocol::Postgres,
        Protocol::Mysql,
        Protocol::Http,
        Protocol::Tls,
        Protocol::Unknown,
    ])
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let optional = || option::of(text());
    (
        (text(), text(), text(), text()),
        (
            optional(),
            optional(),
            optional(),
            option::of(any::<u64>()),
            optional(),
            any::<bool>(),
            optional(),
        ),
    )
        .prop_map(
            |(texts, (host, kernel, link, seed, calibration, generated, spared))| Conditions {
                version: texts.0,
                command_line: texts.1,
                host,
                kernel,
                clock: texts.2,
                observation_point: texts.3,
                link,
                seed,
                calibration,
                spared,
                generated,
            },
        )
}

fn step() -> impl Strategy<Value = Step> {
    let reply = || option::of(timestamp());
    (
        (timestamp(), timestamp(), reply(), reply()),
        (any::<u64>(), any::<u64>(), any::<bool>()),
        (span(), span(), span(), span()),
        (option::of(span()), option::of(span())),
    )
        .prop_map(|(times, (request_bytes, reply_bytes, turn), spans, rtts)| Step {
            request_started: times.0,
            request_ended: times.1,
            reply_started: times.2,
            reply_ended: times.3,
            request_bytes,
            reply_bytes,
            turn,
            client_inside_request: spans.0,
            server: spans.1,
            server_margin: model::Margin::between(spans.1, [spans.2.min(spans.1), spans.3.max(spans.1)]),
            server_inside_reply: spans.2,
            client_side_rtt: rtts.0,
            server_side_rtt: rtts.1,
            recovery: spans.3,
        })
}

/// Every second exchange is typical: described by its first step.
fn exchange() -> impl Strategy<Value = Exchange> {
    let transaction = option::of(prop::sample::select(vec![
        TransactionState::Idle,
        TransactionState::Open,
        TransactionState::Failed,
    ]));
    let phase = prop::sample::select(vec![
        Phase::Connect,
        Phase::Tls,
        Phase::Login,
        Phase::Work,
        Phase::Close,
    ]);
    let numbers = (
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
    );
    let shared = || option::of(text().prop_map(Arc::<str>::from));
    (
        (numbers, any::<u64>(), any::<u64>(), option::of(any::<u64>())),
        (
            phase,
            timestamp(),
            step(),
            vec(step(), 0..3),
            transaction,
            asked(),
        ),
        (shared(), shared(), shared(), option::of(tags())),
        any::<bool>(),
    )
        .prop_map(
            |(numbers, (phase, at, first, more, transaction, asked), texts, usual)| {
                let (counts, request_bytes, reply_bytes, rows) = numbers;
                let exchange = Exchange {
                    connection: ConnectionId(counts.0),
                    phase,
                    at,
                    turns: counts.1,
                    request_bytes,
                    reply_bytes,
                    request_messages: counts.2,
                    reply_messages: counts.3,
                    rows,
                    executions: counts.4,
                    first,
                    more,
                    fingerprint: texts.0,
                    not_seen: NotSeen::ALL.into_iter().nth((counts.0 % 5) as usize),
                    lost: Lost::ALL.into_iter().nth((counts.1 % 4) as usize),
                    asked,
                    transaction,
                    error: texts.1,
                    literal: texts.2,
                    tags: texts.3.map(Arc::new),
                    levels: usual.then(|| made_levels(request_bytes, reply_bytes)),
                    pooler: usual.then(|| {
                        Box::new(PoolerTime {
                            waiting: Duration::from_nanos(request_bytes),
                            processing: Duration::from_nanos(reply_bytes),
                            network: Duration::from_nanos(17),
                        })
                    }),
                };
                if usual { as_usual(exchange) } else { exchange }
            },
        )
}

fn tags() -> impl Strategy<Value = Tags> {
    let shared = || option::of(text().prop_map(Arc::<str>::from));
    (
        option::of((
            any::<u128>().prop_map(RequestId),
            option::of(any::<u64>().prop_map(SpanId)),
        )),
        (shared(), shared(), shared()),
        (shared(), shared(), shared()),
    )
        .prop_map(
            |(id, (route, controller, action), (application, framework, db_driver))| Tags {
                request: id.map(|(request, _)| request),
                span: id.and_then(|(_, span)| span),
                route,
                controller,
                action,
                application,
                framework,
                db_driver,
            },
        )
}

fn made_levels(request_bytes: u64, reply_bytes: u64) -> Arc<[AtLevel]> {
    [0, 9]
        .map(|level| AtLevel {
            level,
            tunnel_bytes: PerDirection::new(request_bytes, reply_bytes / (u64::from(level) + 1)),
            compressing: PerDirection::new(Duration::from_nanos(1), Duration::from_nanos(reply_bytes)),
            turning_back: PerDirection::new(Duration::from_nanos(2), Duration::from_nanos(3)),
        })
        .into()
}

fn asked() -> impl Strategy<Value = RequestTraits> {
    let limit = || option::of(any::<u32>());
    (any::<[u32; 5]>(), (limit(), limit()), option::of(any::<u64>())).prop_map(
        |(counts, (fetch_rows, fetch_bytes), request_digest)| RequestTraits {
            prepares: counts[0],
            prepared_executions: counts[1],
            fetches: counts[2],
            closes: counts[3],
            fetch_rows,
            fetch_bytes,
            sets: counts[4],
            returns_rows: counts[0] % 2 == 1,
            on_stream: counts[1] % 2 == 1,
            request_digest,
            rows_digest: request_digest.map(|digest| !digest),
            start: None,
        },
    )
}

fn as_usual(exchange: Exchange) -> Exchange {
    Exchange {
        at: exchange.first.request_started,
        turns: u32::from(exchange.first.turn),
        request_bytes: exchange.first.request_bytes,
        reply_bytes: exchange.first.reply_bytes,
        more: Vec::new(),
        ..exchange
    }
}

fn connection_outcome() -> impl Strategy<Value = ConnectionOutcome> {
    let pair = || {
        (any::<u64>(), any::<u64>())
            .prop_map(|(to_server, to_client)| PerDirection::new(to_server, to_client))
    };
    let totals = (
        pair(),
        option::of(pair()),
        option::of(pair()),
        option::of(any::<u64>()),
        pair(),
        any::<(bool, bool)>(),
    )
        .prop_map(
            |(payload_bytes, packets, wire_bytes, retransmitted_packets, unseen_bytes, seen)| {
                ConnectionTotals {
                    payload_bytes,
                    packets,
                    wire_bytes,
                    retransmitted_packets,
                    unseen_bytes,
                    seen: PerDirection::new(seen.0, seen.1),
                }
            },
        );
    let decoding =
        (protocol(), any::<bool>(), option::of(text())).prop_map(|(protocol, encrypted, opaque)| Decoding {
            protocol,
            encrypted,
            opaque,
        });
    let rtt = || option::of(span());
    (
        (
            any::<u32>(),
            endpoint(),
            endpoint(),
            timestamp(),
            span(),
            [process(), process()],
        ),
        (decoding, option::of(text()), totals),
        (
            option::of(text()),
            proptest::collection::btree_map(text(), text(), 0..3),
        ),
        (any::<u64>(), any::<u64>(), any::<u64>()),
        (
            rtt(),
            rtt(),
            rtt(),
            option::of(proptest::sample::select(&RttSource::ALL[..])),
            option::of(proptest::sample::select(&EndedBy::ALL[..])),
        ),
    )
        .prop_map(
            |(who, (decoding, server_version, totals), (driver, settings), counts, rtts)| ConnectionOutcome {
                id: ConnectionId(who.0),
                client: who.1,
                server: who.2,
                processes: who.5.into(),
                at: who.3,
                duration: who.4,
                decoding,
                server_version,
                driver: driver.map(Arc::from),
                settings: settings
                    .into_iter()
                    .map(|(name, value)| (Arc::from(name), Arc::from(value)))
                    .collect(),
                turns: counts.0,
                exchanges: counts.1,
                statements: counts.2,
                rtt: rtts.0,
                client_side_rtt: rtts.1,
                server_side_rtt: rtts.2,
                rtt_source: rtts.3,
                ended_by: rtts.4,
                totals,
            },
        )
}

fn process() -> impl Strategy<Value = Option<Arc<HostProcess>>> {
    let process = (text(), any::<u32>(), option::of(text()));
    option::of(process.prop_map(|(name, number, container)| {
        Arc::new(HostProcess {
            name,
            number,
            container,
        })
    }))
}

fn summary() -> impl Strategy<Value = Summary> {
    let figure = || option::of(span());
    let spread = (
        any::<u64>(),
        (figure(), figure(), figure()),
        (figure(), figure(), figure(), figure()),
    )
        .prop_map(|(count, (min, max, mean), (p50, p90, p95, p99))| Distribution {
            count,
            min,
            max,
            mean,
            p50,
            p90,
            p95,
            p99,
        });
    let attribution =
        (span(), span(), span(), span(), span(), span(), span()).prop_map(|parts| Attribution {
            client: parts.0,
            server: parts.1,
            server_margin: model::Margin::between(parts.1, [parts.2.min(parts.1), parts.3.max(parts.1)]),
            round_trip: parts.2,
            transfer: parts.3,
            recovery: parts.4,
            unknown: parts.5,
            pooler: parts.6,
        });
    (
        any::<(u64, u64, u64, u64, u64)>(),
        (
            any::<(u64, u64)>(),
            span(),
            option::of(any::<u64>()),
            option::of(sample_totals()),
        ),
        prop_oneof![Just(Attribution::default()), attribution],
        span(),
        prop_oneof![Just(Distribution::default()), spread],
    )
        .prop_map(
            |(counts, (payload, duration, packets, samples), attribution, setup, spread)| Summary {
                dropped_exchanges: counts.0 / 2,
                evidence: Evidence {
                    round_trips: counts.0,
                    guessed: counts.1,
                    outside_requests: counts.2 / 2,
                    unrated: if counts.2 % 3 == 0 { counts.1 } else { 0 },
                    doubted: 0,
                    untimed: counts.2,
                    not_seen: [counts.0 % 2, counts.1 % 2, counts.2 % 2, 3],
                    lost: [counts.0 % 2, counts.1 % 2, counts.2 % 2],
                },
                assigned: [
                    (Assigned::Identifier, counts.0 % 7),
                    (Assigned::Order, counts.0 % 3),
                ]
                .into_iter()
                .collect(),
                turns: counts.0,
                exchanges: counts.1,
                connections: counts.2,
                operations: counts.3,
                statements: counts.4,
                payload_bytes: PerDirection::new(payload.0, payload.1),
                duration,
                attribution,
                setup,
                spread,
                packets,
                samples,
            },
        )
}

fn sample_totals() -> impl Strategy<Value = SampleTotals> {
    let counts = any::<(u64, u64, u64, u64)>();
    (
        counts,
        (0..1_000_000_u32).prop_map(|eighths| f64::from(eighths) / 8.0),
        option::of(span()),
        option::of(span()),
    )
        .prop_map(|(counts, per_second, mdev, floor)| SampleTotals {
            sent: counts.0,
            answered: counts.1,
            lost: counts.2,
            errors: counts.3,
            per_second,
            mdev,
            floor,
        })
}

fn plain_exchange() -> Exchange {
    Exchange {
        connection: ConnectionId(0),
        phase: Phase::Work,
        at: Timestamp::from_nanos(5),
        turns: 0,
        request_bytes: 0,
        reply_bytes: 0,
        request_messages: 1,
        reply_messages: 0,
        rows: None,
        executions: 0,
        first: Step {
            request_started: Timestamp::from_nanos(5),
            request_ended: Timestamp::from_nanos(5),
            reply_started: None,
            reply_ended: None,
            request_bytes: 0,
            reply_bytes: 0,
            turn: false,
            client_inside_request: Duration::ZERO,
            server: Duration::ZERO,
            server_margin: model::Margin::default(),
            server_inside_reply: Duration::ZERO,
            client_side_rtt: None,
            server_side_rtt: None,
            recovery: Duration::ZERO,
        },
        more: Vec::new(),
        fingerprint: None,
        asked: RequestTraits::default(),
        transaction: None,
        error: None,
        literal: None,
        tags: None,
        levels: None,
        pooler: None,
        not_seen: None,
        lost: None,
    }
}
