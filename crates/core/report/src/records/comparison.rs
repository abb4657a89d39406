//! The `comparison` record.

use model::{ComparedOperation, OperationGroup, Share};

record! {
    ComparisonRecord(pair: &'a ComparedOperation) {
        kind: pair.kind.name(),
        operation_name: &pair.name,
        operations_before: pair.groups[0].as_ref().map_or(0, |group| group.count),
        operations: pair.groups[1].as_ref().map_or(0, |group| group.count),
        p50_before_ns: pair.groups[0].as_ref().and_then(|group| group.spread.p50),
        p50_low_before_ns: range(pair, 0).map(|[low, _]| low),
        p50_high_before_ns: range(pair, 0).map(|[_, high]| high),
        p50_ns: pair.groups[1].as_ref().and_then(|group| group.spread.p50),
        p50_low_ns: range(pair, 1).map(|[low, _]| low),
        p50_high_ns: range(pair, 1).map(|[_, high]| high),
        turns_before: pair.groups[0].as_ref().map(turns),
        turns: pair.groups[1].as_ref().map(turns),
        network_before_share: pair.groups[0].as_ref().and_then(network),
        network_share: pair.groups[1].as_ref().and_then(network),
        beyond_scatter: pair.is_beyond_scatter(),
    }
}

fn range(pair: &ComparedOperation, run: usize) -> Option<[std::time::Duration; 2]> {
    pair.groups[run].as_ref()?.median_range
}

fn turns(group: &OperationGroup) -> f64 {
    group.turns as f64 / group.count.max(1) as f64
}

fn network(group: &OperationGroup) -> Option<f64> {
    let parts = &group.attribution;
    Share::from_parts(parts.network(), parts.total()).map(Share::as_fraction)
}
