#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::informix::InformixDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, InformixDecoder::new));
