#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::mysql::MysqlDecoder;

fuzz_target!(|input: &[u8]| fuzz::check_decoder(input, MysqlDecoder::new));
