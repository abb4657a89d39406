//! What a tunnel's decompressor makes of anything: an error, or at most a chunk. What a compressor makes comes back.
//!
//! An input is a sequence of steps: a byte, a two-byte length, most significant first, and so many bytes. Bits 0-3 of the byte are a
//! level, bit 4 forgets first, bit 5 hands the bytes themselves to a decompressor, as stored or (bit 6) Zstandard.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tunnel::{Coding, Compressor, Decompressor, CompressionLevel, MAX_CHUNK_OVERHEAD, MAX_CHUNK_BYTES};

fuzz_target!(|input: &[u8]| {
    let (mut near, mut far) = (Compressor::new(), Decompressor::new());
    let mut hostile = Decompressor::new();
    let mut rest = input;
    while let [flags, high, low, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (bytes, behind) = behind.split_at(length.min(MAX_CHUNK_BYTES).min(behind.len()));
        rest = behind;
        if flags & 0x20 != 0 {
            let coding = if flags & 0x40 == 0 { Coding::Stored } else { Coding::Zstd };
            check_hostile(&mut hostile, coding, flags & 0x10 != 0, bytes);
        } else {
            check_own(&mut near, &mut far, *flags, bytes);
        }
    }
});

fn check_hostile(far: &mut Decompressor, coding: Coding, forgets: bool, bytes: &[u8]) {
    if forgets {
        far.forget();
    }
    let mut out = Vec::new();
    if far.decompress(coding, bytes, &mut out).is_ok() {
        assert!(out.len() <= MAX_CHUNK_BYTES);
    }
    assert!(out.capacity() <= 4 * MAX_CHUNK_BYTES);
}

fn check_own(near: &mut Compressor, far: &mut Decompressor, flags: u8, chunk: &[u8]) {
    if flags & 0x10 != 0 {
        near.forget();
        far.forget();
    }
    let level = CompressionLevel::from_number(flags & 0xf).unwrap_or(CompressionLevel::OFF);
    let (mut bytes, mut out) = (Vec::new(), Vec::new());
    let coding = near.compress(chunk, level, &mut bytes).expect("a chunk");
    assert!(bytes.len() <= chunk.len() + MAX_CHUNK_OVERHEAD);
    far.decompress(coding, &bytes, &mut out).expect("what a compressor made");
    assert!(out == chunk);
}
