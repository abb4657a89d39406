//! Much compressible data on a slow link.
//!
//! Claimed only if the link's rate and the compressed sizes (`--compressed-sizes`) are known. Saved
//! is the transfer time of the bytes minus that of compressed bytes and compression, at the best
//! level.

use super::ledger::Waste;
use super::loops::Evidence;
use super::operation_view::OperationView;
use model::{BitRate, FindingKind};
use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum saving, as a fraction of the uncompressed time.
const MIN_SAVING_DIVISOR: u32 = 5;

pub(super) fn detect_waste(view: &mut OperationView<'_>, rate: BitRate) {
    let mut plain = Duration::ZERO;
    let mut at_level: BTreeMap<u8, Duration> = BTreeMap::new();
    let mut first = None;
    let mut exchanges = 0;
    for step in view.operation.steps.iter().filter(|step| step.is_dependency()) {
        let exchange = &step.exchange;
        let Some(levels) = &exchange.levels else { continue };
        exchanges += 1;
        first.get_or_insert((exchange.connection, step.protocol));
        plain += rate.time_for(exchange.request_bytes + exchange.reply_bytes);
        for level in levels.iter() {
            let bytes: u64 = level.tunnel_bytes.iter().sum();
            let computing: Duration = level.compressing.iter().chain(&level.turning_back).sum();
            *at_level.entry(level.level).or_default() += rate.time_for(bytes) + computing;
        }
    }
    let (Some((connection, protocol)), Some(&best)) = (first, at_level.values().min()) else {
        return;
    };
    let spares = plain.saturating_sub(best);
    if spares * MIN_SAVING_DIVISOR >= plain && !spares.is_zero() {
        view.record_waste(Waste {
            count: exchanges,
            spares,
            evidence: Evidence::Sure,
            ..Waste::new(FindingKind::NoCompression, connection, protocol)
        });
    }
}
