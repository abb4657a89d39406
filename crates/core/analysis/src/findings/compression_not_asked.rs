//! A driver can compress but did not request it.
//!
//! KingbaseES's JDBC driver requests it in the start-up message (`comm_compress` of 8.6,
//! `compress_level` of 9.0) if its property `zipLevel` is set. The property is case-sensitive:
//! `ziplevel` is silently ignored and looks like no property on the wire. So only the missing
//! request can be reported.

use super::ledger::{Ledger, Waste};
use model::{ConnectionOutcome, FindingKind};
use std::sync::Arc;

pub(super) fn detect_waste(outcome: &ConnectionOutcome, ledger: &mut Ledger) {
    let can_compress = outcome
        .driver
        .as_deref()
        .is_some_and(|driver| driver.contains("Kingbase8 JDBC"));
    let asked = outcome
        .settings
        .iter()
        .any(|(name, value)| ASKING.contains(&&**name) && &**value != "0");
    if can_compress && !asked {
        let name: Arc<str> = format!("connection to {}", outcome.server).into();
        let waste = Waste {
            count: 1,
            ..Waste::new(
                FindingKind::CompressionNotAsked,
                outcome.id,
                outcome.decoding.protocol,
            )
        };
        ledger.note_named(waste, &name, None);
    }
}

const ASKING: [&str; 2] = ["comm_compress", "compress_level"];
