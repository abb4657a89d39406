//! Cost of decoding per small message, per exchange, per byte of bulk data.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::{Direction, Message, Timestamp};
use std::hint::black_box;
use wire::Stream;
use wire::postgres::messages::{backend, frontend};

const AT: Timestamp = Timestamp::from_nanos(1);

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short body");
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn started() -> Stream {
    let mut stream = Stream::new(5432);
    let startup = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
    stream.feed(AT, Direction::ClientToServer, startup, &mut |_| {});
    let ready = [
        message(backend::AUTHENTICATION, &[0; 4]),
        message(backend::READY_FOR_QUERY, b"I"),
    ]
    .concat();
    stream.feed(AT, Direction::ServerToClient, &ready, &mut |_| {});
    stream
}

fn rows(criterion: &mut Criterion) {
    let row = message(backend::DATA_ROW, b"\0\x01\0\0\0\x0412345678");
    let feed: Vec<u8> = row.iter().copied().cycle().take(row.len() * 3000).collect();
    let mut group = criterion.benchmark_group("postgres");
    group.throughput(Throughput::Elements(3000));
    let mut stream = started();
    group.bench_function("rows of 17 bytes", |bencher| {
        bencher.iter(|| {
            let mut bytes = 0;
            let mut sink = |message: Message<'_>| bytes += message.bytes;
            stream.feed(AT, Direction::ServerToClient, black_box(&feed), &mut sink);
            bytes
        });
    });
    group.finish();
}

fn exchanges(criterion: &mut Criterion) {
    let request = message(frontend::QUERY, b"select 1\0");
    let columns = b"\0\x01?column?\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
    let row = message(backend::DATA_ROW, b"\0\x01\0\0\0\x011");
    let end = [
        message(backend::COMMAND_COMPLETE, b"SELECT 1\0"),
        message(backend::READY_FOR_QUERY, b"I"),
    ]
    .concat();
    let reply = [message(backend::ROW_DESCRIPTION, columns), row, end].concat();
    let mut group = criterion.benchmark_group("postgres");
    group.throughput(Throughput::Elements(1));
    let mut stream = started();
    group.bench_function("exchange of select 1 (5 messages)", |bencher| {
        bencher.iter(|| {
            let mut bytes = 0;
            let mut sink = |message: Message<'_>| bytes += message.bytes;
            stream.feed(AT, Direction::ClientToServer, black_box(&request), &mut sink);
            stream.feed(AT, Direction::ServerToClient, black_box(&reply), &mut sink);
            bytes
        });
    });
    group.finish();
}

fn bulk(criterion: &mut Criterion) {
    let data = message(backend::COPY_DATA, &[b'x'; 1 << 20]);
    let mut group = criterion.benchmark_group("postgres");
    group.throughput(Throughput::Bytes(data.len() as u64));
    let mut stream = started();
    group.bench_function("copy data of 1 MiB in feeds of 64 KiB", |bencher| {
        bencher.iter(|| {
            let mut bytes = 0;
            let mut sink = |message: Message<'_>| bytes += message.bytes;
            for part in black_box(&data).chunks(64 * 1024) {
                stream.feed(AT, Direction::ServerToClient, part, &mut sink);
            }
            bytes
        });
    });
    group.finish();
}

fn pipelines(criterion: &mut Criterion) {
    let requests = b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$3\r\nxxx\r\n".repeat(16);
    let replies = b"+OK\r\n".repeat(16);
    let mut group = criterion.benchmark_group("redis");
    group.throughput(Throughput::Elements(16));
    let mut stream = Stream::new(6379);
    group.bench_function("SET, 16 at once", |bencher| {
        bencher.iter(|| {
            let mut bytes = 0;
            let mut sink = |message: Message<'_>| bytes += message.bytes;
            stream.feed(AT, Direction::ClientToServer, black_box(&requests), &mut sink);
            stream.feed(AT, Direction::ServerToClient, black_box(&replies), &mut sink);
            bytes
        });
    });
    group.finish();
}

/// A reply with the number of the request, and `rows` documents of `width` bytes.
fn batch(rows: usize, width: usize) -> Vec<u8> {
    let nested = |kind: u8, name: &str, inner: &[u8]| {
        let length = u32::try_from(inner.len() + 5).expect("a short document");
        [
            &[kind][..],
            name.as_bytes(),
            b"\0",
            &length.to_le_bytes(),
            inner,
            b"\0",
        ]
        .concat()
    };
    let text = [
        b"\x05text\0",
        &(width as u32).to_le_bytes()[..],
        b"\0",
        &vec![b'x'; width],
    ]
    .concat();
    let rows: Vec<u8> = (0..rows)
        .flat_map(|row| nested(3, &row.to_string(), &text))
        .collect();
    let cursor = [
        nested(4, "firstBatch", &rows),
        b"\x12id\0\0\0\0\0\0\0\0\0".to_vec(),
    ]
    .concat();
    let fields = [nested(3, "cursor", &cursor), b"\x08ok\0\x01".to_vec()].concat();
    let document = &nested(3, "", &fields)[2..];
    let length = (document.len() + 21) as u32;
    let header: Vec<u8> = [length, 9, 1, 2013, 0]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    [&header[..], b"\0", document].concat()
}

fn documents(criterion: &mut Criterion) {
    let mut request = Vec::new();
    wire::mongodb::write_command(1, "find", &mut request);
    let mut group = criterion.benchmark_group("mongodb");
    for (name, reply) in [
        ("exchange of one document", batch(1, 20)),
        (
            "1 MiB in documents of 1 KiB, in feeds of 64 KiB",
            batch(1000, 1024),
        ),
    ] {
        group.throughput(Throughput::Bytes((request.len() + reply.len()) as u64));
        let mut stream = Stream::new(27017);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut bytes = 0;
                let mut sink = |message: Message<'_>| bytes += message.bytes;
                stream.feed(AT, Direction::ClientToServer, black_box(&request), &mut sink);
                for part in black_box(&reply).chunks(64 * 1024) {
                    stream.feed(AT, Direction::ServerToClient, part, &mut sink);
                }
                bytes
            });
        });
        assert_eq!(stream.protocol(), model::Protocol::Mongodb);
    }
    group.finish();
}

criterion_group!(benches, rows, exchanges, bulk, pipelines, documents);
criterion_main!(benches);
