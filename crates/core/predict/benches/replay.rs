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

criterion_group!(benches, replays);
criterion_main!(benches);
