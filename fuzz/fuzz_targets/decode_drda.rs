#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::drda::DrdaDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, DrdaDecoder::new));
