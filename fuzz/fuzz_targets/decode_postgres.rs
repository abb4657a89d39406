#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::postgres::PostgresDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, PostgresDecoder::new));
