#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::tls::TlsDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, TlsDecoder::new));
