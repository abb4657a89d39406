//! Replays 1,000,000 exchanges on four targets; the target is under ten seconds.

#[path = "../tests/made/mod.rs"]
mod made;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use made::{Made, in_sequence};
use model::Operation;
use predict::{PredictionTarget, Predictor};
use std::hint::black_box;
use std::time::Duration;

const EXCHANGES: usize = 100_000;

fn targets() -> Vec<PredictionTarget> {
    [
        "rtt=0ms",
        "rtt=10ms rate=10mbit",
        "rtt=40ms rate=100mbit",
        "rtt=120ms",
    ]
    .map(|link| PredictionTarget {
        link: link.parse().expect("a link"),
        clients: 1,
    })
    .to_vec()
}

fn predict(operation: &Operation) -> usize {
    let mut predictor = Predictor::new(targets(), Box::new(|_| true));
    predictor.add(operation);
    predictor.finish().len()
}

fn operation(reply_bytes: u64) -> Operation {
    let query = Made::query(80, reply_bytes)
        .server(Duration::from_micros(150))
        .client_before(Duration::from_micros(30));
    in_sequence(Duration::from_micros(50), &vec![query; EXCHANGES])
}

fn replays(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("exchanges on four targets");
    group
        .throughput(Throughput::Elements(EXCHANGES as u64))
        .sample_size(10);
    for reply_bytes in [200, 8_000, 100_000] {
        let operation = operation(reply_bytes);
        group.bench_function(format!("replies of {reply_bytes} bytes"), |bencher| {
            bencher.iter(|| predict(black_box(&operation)));
        });
    }
    group.finish();
}

fn only_delaying() -> [PredictionTarget; 3] {
    ["rtt=10ms", "rtt=40ms", "rtt=120ms"].map(|link| PredictionTarget {
        link: link.parse().expect("a link"),
        clients: 1,
    })
}

/// As pgbench's statements, eight connections in turns.
fn statements(criterion: &mut Criterion) {
    let made = (0..EXCHANGES).map(|number| {
        let query = Made::query(80, 200).on(number as u32 % 8);
        let mut one = in_sequence(
            Duration::from_micros(50),
            &[query.server(Duration::from_micros(150))],
        );
        (one.id, one.at) = (
            number as u64,
            one.at.after(Duration::from_micros(60) * number as u32),
        );
        one
    });
    let operations: Vec<Operation> = made.collect();
    let mut group = criterion.benchmark_group("operations of one exchange on three targets");
    group
        .throughput(Throughput::Elements(EXCHANGES as u64))
        .sample_size(10);
    group.bench_function("small", |bencher| {
        bencher.iter(|| {
            let mut predictor = Predictor::new(only_delaying().to_vec(), Box::new(|_| true));
            operations.iter().for_each(|operation| predictor.add(operation));
            predictor.finish().len()
        });
    });
    group.finish();
}

fn session(criterion: &mut Criterion) {
    let operation = operation(200);
    let mut group = criterion.benchmark_group("exchanges of one operation on three targets");
    group
        .throughput(Throughput::Elements(EXCHANGES as u64))
        .sample_size(10);
    group.bench_function("small", |bencher| {
        bencher.iter(|| {
            let mut predictor = Predictor::new(only_delaying().to_vec(), Box::new(|_| true));
            predictor.add(black_box(&operation));
            predictor.finish().len()
        });
    });
    group.finish();
}

criterion_group!(benches, replays, statements, session);
criterion_main!(benches);
