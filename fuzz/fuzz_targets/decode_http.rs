#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::http::HttpDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, HttpDecoder::new));
