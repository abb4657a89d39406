#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::tns::TnsDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, TnsDecoder::new));
