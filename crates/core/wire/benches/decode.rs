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

fn exchange(stream: &mut Stream, request: &[u8], reply: &[u8]) -> u64 {
    let mut bytes = 0;
    let mut sink = |message: &Message<'_>| bytes += message.bytes;
    stream.feed(AT, Direction::ClientToServer, black_box(request), &mut sink);
    for part in black_box(reply).chunks(64 * 1024) {
        stream.feed(AT, Direction::ServerToClient, part, &mut sink);
    }
    bytes
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
            let mut sink = |message: &Message<'_>| bytes += message.bytes;
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
        bencher.iter(|| exchange(&mut stream, &request, &reply));
    });
    group.finish();
}

fn bulk(criterion: &mut Criterion) {
    let data = message(backend::COPY_DATA, &[b'x'; 1 << 20]);
    let part = message(backend::COPY_DATA, &[b'x'; 16 * 1024]).repeat(64);
    let row = message(
        backend::DATA_ROW,
        &[b"\0\x01\0\0\x03\xf2", &[b'x'; 1010][..]].concat(),
    );
    let mut group = criterion.benchmark_group("postgres");
    let mut stream = started();
    for (name, bytes) in [
        ("copy data of 1 MiB in feeds of 64 KiB", data),
        ("1 MiB in copy data of 16 KiB, in feeds of 64 KiB", part),
        ("1 MiB in rows of 1 KiB, in feeds of 64 KiB", row.repeat(1024)),
    ] {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| exchange(&mut stream, b"", &bytes))
        });
    }
    group.finish();
}

fn pipelines(criterion: &mut Criterion) {
    let requests = b"*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000001\r\n$3\r\nxxx\r\n".repeat(16);
    let replies = b"+OK\r\n".repeat(16);
    let mut group = criterion.benchmark_group("redis");
    group.throughput(Throughput::Elements(16));
    let mut stream = Stream::new(6379);
    group.bench_function("SET, 16 at once", |bencher| {
        bencher.iter(|| exchange(&mut stream, &requests, &replies));
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
        exchange(&mut stream, &request, &reply);
        assert_eq!(stream.protocol(), model::Protocol::Mongodb);
        group.bench_function(name, |bencher| {
            bencher.iter(|| exchange(&mut stream, &request, &reply));
        });
    }
    group.finish();
}

/// Type, flags; stream 1, or 0 of SETTINGS.
fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    [
        &length[1..],
        &[kind, flags, 0, 0, 0, u8::from(kind != 4)],
        payload,
    ]
    .concat()
}

/// Gives all frames of `bytes` another stream.
fn renumber(bytes: &mut [u8], stream: u32) {
    let mut rest = bytes;
    while let [0, high, low, _, _, number @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        number[..4].copy_from_slice(&stream.to_be_bytes());
        rest = &mut number[4 + length..];
    }
}

/// A gRPC call with fields as clients send them after the first call, all from the tables, and a
/// reply with `frames` of data.
fn calls(criterion: &mut Criterion) {
    let named = |name: &str, value: &str| {
        let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        [vec![0x40], text(name), text(value)].concat()
    };
    let first = [
        named(":path", "/shop.Cart/Get"),
        named("content-type", "application/grpc"),
    ];
    let status = named("grpc-status", "0");
    let mut group = criterion.benchmark_group("http2");
    for (name, frames, width) in [
        ("exchange of a gRPC call (5 frames)", 1, 20),
        ("1 MiB in frames of 16 KiB", 64, 16_384),
    ] {
        let mut stream = Stream::new(50051);
        let mut sink = |_: &Message<'_>| {};
        let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &frame(4, 0, b"")[..]].concat();
        let learned = [&[0x83, 0x86][..], &first.concat()].concat();
        let opened = [preface, frame(1, 5, &learned)].concat();
        stream.feed(AT, Direction::ClientToServer, &opened, &mut sink);
        let opened = [frame(4, 0, b""), frame(1, 5, &[&[0x88][..], &status].concat())].concat();
        stream.feed(AT, Direction::ServerToClient, &opened, &mut sink);
        let mut request = [
            frame(1, 4, &[0x83, 0x86, 0xbf, 0xbe]),
            frame(0, 1, b"\0\0\0\0\x03abc"),
        ]
        .concat();
        let data = frame(0, 0, &vec![0; width]).repeat(frames);
        let mut reply = [frame(1, 4, &[0x88]), data, frame(1, 5, &[0xbe])].concat();
        group.throughput(Throughput::Bytes((request.len() + reply.len()) as u64));
        let mut number = 1;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                number += 2;
                renumber(&mut request, number);
                renumber(&mut reply, number);
                exchange(&mut stream, &request, &reply)
            });
        });
        assert_eq!(
            (stream.protocol(), stream.decoding().opaque),
            (model::Protocol::Http2, None)
        );
    }
    group.finish();
}

/// Requests of boto3 and curl with all their fields.
fn stores(criterion: &mut Criterion) {
    let key = r#"{"TableName": "Orders", "Key": {"id": {"S": "1"}}}"#;
    let get_item = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept-Encoding: identity\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n\
         Content-Type: application/x-amz-json-1.0\r\nUser-Agent: Boto3/1.44.8 md/Botocore#1.44.8 ua/2.1 os/linux lang/python#3.11\r\n\
         X-Amz-Date: 20261127T045133Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=AK/20261127/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=211f4d5952c75707a6efdb3c963b9e7fd245a0a0c38feb3d8b32b4\r\n\
         amz-sdk-invocation-id: 01a7729f-1c81-42a7-b857-751a6547fd40\r\namz-sdk-request: attempt=1; max=4\r\nContent-Length: {}\r\n\r\n{key}",
        key.len()
    );
    let select = "select a, b from t where id = 1";
    let post = format!(
        "POST /?database=shop HTTP/1.1\r\nHost: 127.0.0.1:8123\r\nX-ClickHouse-User: me\r\nContent-Length: {}\r\n\r\n{select}",
        select.len()
    );
    let page = "GET /products/17?color=red HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nUser-Agent: python-requests/2.32.3\r\n\
         Accept-Encoding: gzip, deflate\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n";
    let scan = get_item.replace("GetItem", "Scan");
    let reply_of = |body: Vec<u8>| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: Fri, 27 Nov 2026 04:51:33 GMT\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body].concat()
    };
    let reply = |length| reply_of(vec![b'x'; length]);
    let items = r#"{"id": {"S": "1"}, "name": {"S": "a shoe"}, "price": {"N": "17"}}, "#.repeat(15_000);
    let items = reply_of(format!(r#"{{"Items": [{items}{{}}], "Count": 15001}}"#).into_bytes());
    let lines = reply_of(b"17\ta shoe\t2026-11-27 04:51:33\n".repeat(1 << 15));
    let mut group = criterion.benchmark_group("http");
    for (name, protocol, request, reply) in [
        (
            "exchange of GetItem (DynamoDB)",
            model::Protocol::Dynamodb,
            get_item.clone(),
            reply(40),
        ),
        (
            "exchange of a select (ClickHouse)",
            model::Protocol::Clickhouse,
            post.clone(),
            reply(40),
        ),
        (
            "1 MiB in feeds of 64 KiB (DynamoDB)",
            model::Protocol::Dynamodb,
            get_item,
            reply(1 << 20),
        ),
        (
            "1 MiB of items in feeds of 64 KiB (DynamoDB)",
            model::Protocol::Dynamodb,
            scan,
            items,
        ),
        (
            "1 MiB of lines in feeds of 64 KiB (ClickHouse)",
            model::Protocol::Clickhouse,
            post,
            lines,
        ),
        (
            "exchange of a page (no store)",
            model::Protocol::Http,
            page.to_owned(),
            reply(40),
        ),
        (
            "1 MiB in feeds of 64 KiB (no store)",
            model::Protocol::Http,
            page.to_owned(),
            reply(1 << 20),
        ),
    ] {
        group.throughput(Throughput::Bytes((request.len() + reply.len()) as u64));
        let mut stream = Stream::new(8000);
        exchange(&mut stream, request.as_bytes(), &reply);
        assert_eq!((stream.protocol(), stream.decoding().opaque), (protocol, None));
        group.bench_function(name, |bencher| {
            bencher.iter(|| exchange(&mut stream, request.as_bytes(), &reply));
        });
    }
    group.finish();
}

criterion_group!(
    benches, rows, exchanges, bulk, pipelines, documents, calls, stores
);
criterion_main!(benches);
