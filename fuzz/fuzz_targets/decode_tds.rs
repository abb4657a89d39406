#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::tds::TdsDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, TdsDecoder::new));
