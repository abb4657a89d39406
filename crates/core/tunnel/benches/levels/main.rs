//! The table of docs/tunnel.md, by `cargo bench -p longwire-tunnel --bench levels`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    clippy::unwrap_used,
    reason = "a benchmark times and prints"
)]

mod rows;

use std::time::{Duration, Instant};
use tunnel::{CompressionLevel, Compressor, Decompressor, MAX_CHUNK_BYTES};

/// Payload bytes of each kind.
const BYTES: usize = 16 * 1024 * 1024;
const ROUNDS: usize = 3;

fn main() {
    let result = rows::result(1);
    let kinds = [
        (
            "40 clients, the same 500 rows",
            rows::interleave(&result, 40, BYTES),
        ),
        (
            "500 rows, never the same",
            chunks(&rows::fill(BYTES, rows::result)),
        ),
        ("texts as of posts", chunks(&rows::fill(BYTES, rows::posts))),
        ("numbers and times", chunks(&rows::fill(BYTES, rows::numbers))),
        ("random bytes", chunks(&rows::fill(BYTES, rows::random))),
    ];
    println!(
        "Bytes over compressed bytes, MB/s compressing, MB/s turning back; best of {ROUNDS} rounds; chunks of 32 KiB"
    );
    println!(
        "500 rows: {} bytes, by zlib level 2 to {:.1} : 1",
        result.len(),
        zlib(&result)
    );
    for (name, chunks) in kinds {
        println!("\n{name}");
        for level in CompressionLevel::ALL.into_iter().skip(1) {
            let best = (0..ROUNDS)
                .map(|_| measure(&chunks, level))
                .min_by_key(|run| run.compress)
                .unwrap();
            let bytes: usize = chunks.iter().map(Vec::len).sum();
            let speed = |time: Duration| bytes as f64 / time.as_secs_f64() / 1e6;
            println!(
                "{level}  {:7.2}  {:6.0}  {:6.0}",
                bytes as f64 / best.bytes as f64,
                speed(best.compress),
                speed(best.turn_back)
            );
        }
    }
}

struct Run {
    bytes: usize,
    compress: Duration,
    turn_back: Duration,
}

fn measure(chunks: &[Vec<u8>], level: CompressionLevel) -> Run {
    let (mut near, mut far) = (Compressor::new(), Decompressor::new());
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    let mut run = Run {
        bytes: 0,
        compress: Duration::ZERO,
        turn_back: Duration::ZERO,
    };
    for chunk in chunks {
        bytes.clear();
        out.clear();
        let began = Instant::now();
        let coding = near.compress(chunk, level, &mut bytes).unwrap();
        let between = Instant::now();
        far.decompress(coding, &bytes, &mut out).unwrap();
        run.turn_back += between.elapsed();
        run.compress += between - began;
        run.bytes += bytes.len();
        assert!(out == *chunk);
    }
    run
}

fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.chunks(MAX_CHUNK_BYTES).map(<[u8]>::to_vec).collect()
}

fn zlib(bytes: &[u8]) -> f64 {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(2));
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    bytes.len() as f64 / encoder.finish().unwrap().len() as f64
}
