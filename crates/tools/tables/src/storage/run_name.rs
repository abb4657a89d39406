//! Name of a run, shared by its files.

use crate::date::day;

/// Name of a run by the time of its first record and its `origin`: equal input has the same name on
/// any machine.
pub fn run_name(at_ns: u64, origin: &[&str]) -> String {
    // FNV-1a (Fowler, Noll, Vo), 64 bits: the standard library's hashes may change between
    // versions.
    let bytes = origin.iter().flat_map(|text| text.bytes().chain([0]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let seconds = at_ns / NANOS;
    let [hours, minutes, rest] = [seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60];
    let date = day(at_ns).replace('-', "");
    format!(
        "{date}T{hours:02}{minutes:02}{rest:02}.{:09}Z-{hash:016x}",
        at_ns % NANOS
    )
}

const NANOS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_time_and_origin() {
        let name = run_name(1_795_436_130_000_000_007, &["web1", "a.pcap"]);
        // `printf 'web1\0a.pcap\0'` hashed with another implementation of FNV-1a.
        assert_eq!(name, "20261123T121530.000000007Z-159e333b1f8fa971");
        assert_ne!(run_name(0, &["a", "bc"]), run_name(0, &["ab", "c"]));
    }
}
