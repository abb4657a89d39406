#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::redis::RedisDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, RedisDecoder::new));
