//! Round trips of compressor and decompressor in any order of chunks, levels and resets; and no
//! input makes a decompressor panic or exceed a chunk.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use proptest::collection::vec;
use proptest::prelude::*;
use tunnel::{
    Coding, CompressError, CompressionLevel, Compressor, Decompressor, MAX_CHUNK_BYTES, MAX_CHUNK_OVERHEAD,
};

#[derive(Debug, Clone)]
enum Step {
    Chunk { level: u8, bytes: Vec<u8> },
    Forget,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn what_was_compressed_comes_back(steps in vec(step(), 1..24)) {
        let mut near = Compressor::new();
        let mut far = Decompressor::new();
        for step in steps {
            match step {
                Step::Forget => {
                    near.forget();
                    far.forget();
                }
                Step::Chunk { level, bytes } => carry(&mut near, &mut far, level, &bytes),
            }
        }
    }

    #[test]
    fn foreign_bytes_are_refused_or_bounded(
        before in vec(any::<u8>(), 0..2_000),
        chunks in vec(vec(any::<u8>(), 0..3_000), 1..8),
    ) {
        let mut near = Compressor::new();
        let mut far = Decompressor::new();
        carry(&mut near, &mut far, 1, &before);
        carry(&mut near, &mut far, 2, &before);
        for bytes in chunks {
            turn_back_anything(&mut far, Coding::Zstd, &bytes);
        }
    }

    #[test]
    fn damaged_chunks_are_refused_or_bounded(
        chunks in vec((1u8..=9, text(4_000)), 1..10),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let mut near = Compressor::new();
        let mut far = Decompressor::new();
        for (level, chunk) in chunks {
            let mut bytes = Vec::new();
            let coding = near.compress(&chunk, CompressionLevel::from_number(level).unwrap(), &mut bytes).unwrap();
            if let Some(byte) = (!bytes.is_empty()).then(|| at.index(bytes.len())).and_then(|at| bytes.get_mut(at)) {
                *byte ^= flip;
            }
            turn_back_anything(&mut far, coding, &bytes);
        }
    }
}

#[test]
fn every_chunk_size_at_every_level_comes_back() {
    let mut near = Compressor::new();
    let mut far = Decompressor::new();
    let text: Vec<u8> = (0..MAX_CHUNK_BYTES)
        .map(|at| b"select note from orders "[at % 24] ^ u8::from(at % 7 == 0))
        .collect();
    for size in [
        0,
        1,
        2,
        12,
        13,
        14,
        127,
        128,
        4_096,
        MAX_CHUNK_BYTES - 1,
        MAX_CHUNK_BYTES,
    ] {
        for level in 0..=9 {
            carry(&mut near, &mut far, level, &text[..size]);
        }
    }
}

#[test]
fn more_than_a_chunk_is_refused_by_both() {
    let mut out = Vec::new();
    let large = vec![7; MAX_CHUNK_BYTES + 1];
    assert_eq!(
        Compressor::new().compress(&large, CompressionLevel::OFF, &mut out),
        Err(CompressError::TooLarge)
    );
    assert_eq!(
        Decompressor::new().decompress(Coding::Stored, &large, &mut out),
        Err(CompressError::TooLarge)
    );
    assert!(out.is_empty());
}

/// 1 MiB of zeros in a few dozen bytes.
#[test]
fn a_bomb_is_refused() {
    let bomb = zstd::encode_all(&vec![0; 1 << 20][..], 3).unwrap();
    let mut out = Vec::new();
    assert_eq!(
        Decompressor::new().decompress(Coding::Zstd, &bomb, &mut out),
        Err(CompressError::TooLarge)
    );
    assert!(out.capacity() < 4 * MAX_CHUNK_BYTES, "{}", out.capacity());
}

#[test]
fn a_frame_with_a_larger_window_is_refused() {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    std::io::Write::write_all(&mut encoder, b"text").unwrap();
    let frame = encoder.finish().unwrap();
    let refused = Decompressor::new().decompress(Coding::Zstd, &frame, &mut Vec::new());
    assert_eq!(refused, Err(CompressError::Damaged));
}

#[test]
fn what_was_forgotten_is_not_referred_to() {
    let secret: Vec<u8> = (0..4_000u32)
        .flat_map(|at| at.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    for level in 1..=9 {
        let mut near = Compressor::new();
        let mut first = Vec::new();
        near.compress(&secret, CompressionLevel::from_number(level).unwrap(), &mut first)
            .unwrap();
        near.forget();
        let mut again = Vec::new();
        let coding = near
            .compress(&secret, CompressionLevel::from_number(level).unwrap(), &mut again)
            .unwrap();
        assert!(
            again.len() > secret.len() * 9 / 10,
            "level {level}: {} bytes",
            again.len()
        );
        let mut out = Vec::new();
        Decompressor::new().decompress(coding, &again, &mut out).unwrap();
        assert!(out == secret, "level {level}");
    }
}

/// At levels with a long memory, a row that another connection has fetched is nearly free.
#[test]
fn repeated_rows_find_each_other_through_other_traffic() {
    let mut noise = 1u32;
    let mut random = |length: usize| -> Vec<u8> {
        let next = || {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        };
        std::iter::repeat_with(next).take(length).collect()
    };
    let row = random(8_000);
    for level in [2, 5, 6] {
        let mut near = Compressor::new();
        near.compress(
            &row,
            CompressionLevel::from_number(level).unwrap(),
            &mut Vec::new(),
        )
        .unwrap();
        for _ in 0..16 {
            near.compress(
                &random(MAX_CHUNK_BYTES),
                CompressionLevel::from_number(level).unwrap(),
                &mut Vec::new(),
            )
            .unwrap();
        }
        let mut again = Vec::new();
        near.compress(&row, CompressionLevel::from_number(level).unwrap(), &mut again)
            .unwrap();
        assert!(
            again.len() < row.len() / 10,
            "level {level}: {} bytes",
            again.len()
        );
    }
}

/// Compresses, checks the bound, decompresses and compares.
fn carry(near: &mut Compressor, far: &mut Decompressor, level: u8, chunk: &[u8]) {
    let mut bytes = b"before".to_vec();
    let coding = near
        .compress(chunk, CompressionLevel::from_number(level).unwrap(), &mut bytes)
        .unwrap();
    assert!(bytes.starts_with(b"before"));
    assert!(bytes.len() - 6 <= chunk.len() + MAX_CHUNK_OVERHEAD);
    let mut out = b"kept".to_vec();
    far.decompress(coding, &bytes[6..], &mut out).unwrap();
    assert!(out[4..] == *chunk, "level {level}, {} bytes", chunk.len());
}

fn turn_back_anything(far: &mut Decompressor, coding: Coding, bytes: &[u8]) {
    let mut out = Vec::new();
    if far.decompress(coding, bytes, &mut out).is_ok() {
        assert!(out.len() <= MAX_CHUNK_BYTES);
    }
    assert!(out.capacity() <= 4 * MAX_CHUNK_BYTES);
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Forget),
        8 => (0u8..=9, chunk()).prop_map(|(level, bytes)| Step::Chunk { level, bytes }),
    ]
}

fn chunk() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => text(2_000),
        2 => vec(any::<u8>(), 0..300),
        1 => (any::<u8>(), 0..=MAX_CHUNK_BYTES).prop_map(|(byte, length)| vec![byte; length]),
        1 => text(MAX_CHUNK_BYTES / 8),
    ]
}

/// Words, so that chunks have much in common.
fn text(words: usize) -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        Just("order "),
        Just("customer "),
        Just("note "),
        Just("2026-11-21 "),
        Just("\0\0\0\x0b")
    ];
    vec(word, 0..words / 2).prop_map(|words| {
        let mut text = words.concat().into_bytes();
        text.truncate(MAX_CHUNK_BYTES);
        text
    })
}
