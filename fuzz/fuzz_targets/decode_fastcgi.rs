#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::fastcgi::FastcgiDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, FastcgiDecoder::new));
