//! The view of `ping --rows`: rows of one packet each.

use super::paragraph::paragraph;
use super::style::{Ink, Style};
use super::{counted, duration_or_dash};
use model::{RowTrain, format_duration};
use std::fmt::Write;

pub fn rows_view(train: &RowTrain, style: &Style) -> String {
    let mut view = String::new();
    let sizes = format!(
        "{}, {} of payload each: {} of filler and its framing; {} with headers of IP and TCP.",
        counted(train.rows, "row"),
        exact(train.segment.as_bytes()),
        exact(train.filler.as_bytes()),
        exact(train.wire_bytes().as_bytes())
    );
    paragraph(&sizes, "", Ink::Plain, style, &mut view);
    let (packets, ink) = packets(train);
    paragraph(&packets, "", ink, style, &mut view);
    for line in times(train) {
        paragraph(&line, "", Ink::Plain, style, &mut view);
    }
    view
}

fn times(train: &RowTrain) -> Vec<String> {
    let gaps = &train.gaps;
    let mut lines = vec![
        format!(
            "Round-trip time {} (shortest of a few statements; kernel {}); first row after {}.",
            duration_or_dash(train.round_trip),
            duration_or_dash(train.kernel_min_rtt),
            format_duration(train.first_row)
        ),
        format!(
            "Gaps between rows: mean {}, min {}, median {}, p90 {}, p99 {}, max {}.",
            duration_or_dash(gaps.mean),
            duration_or_dash(gaps.min),
            duration_or_dash(gaps.p50),
            duration_or_dash(gaps.p90),
            duration_or_dash(gaps.p99),
            duration_or_dash(gaps.max)
        ),
    ];
    if let Some(rate) = train.rate() {
        let between = train
            .rate_between_pauses()
            .filter(|_| train.pauses > 0 && train.shared_stamps * 2 < train.rows);
        let between = between.map_or_else(String::new, |rate| format!(", {rate} by the median gap"));
        lines.push(format!(
            "Rate {rate}{between}: {} rows in {}.",
            gaps.count,
            format_duration(train.span)
        ));
    }
    if train.pauses > 0 {
        lines.push(format!(
            "{} of half a round trip or more: the server waited for acknowledgements, sent a packet again, or had no row ready.",
            counted(train.pauses, "gap")
        ));
    }
    if train.shared_stamps > 0 {
        lines.push(format!(
            "{} came together with the one before: single gaps say little then, their mean is right.",
            counted(train.shared_stamps, "row")
        ));
    }
    lines
}

/// Whether every row is exactly one full packet.
fn packets(train: &RowTrain) -> (String, Ink) {
    let Some(packets) = train.packets else {
        return (
            "The kernel does not count packets: whether each row was one is not known.".to_owned(),
            Ink::Warning,
        );
    };
    if !train.is_exact() {
        let text = format!(
            "Not one packet a row: {} for {} (packets sent again, or rows that shared one).",
            counted(packets, "packet"),
            counted(train.rows, "row")
        );
        return (text, Ink::Warning);
    }
    let mut text = "Every row was exactly one packet".to_owned();
    match train.own_segment.filter(|own| *own > train.segment) {
        Some(own) => {
            let _ = write!(
                text,
                ", though packets hold {} here: the server sends no more at a time",
                exact(own.as_bytes())
            );
        }
        None => text.push_str(", and a full one"),
    }
    match train.corrections {
        0 => {}
        count => {
            let _ = write!(text, " (size found after {})", counted(count, "correction"));
        }
    }
    text.push('.');
    (text, Ink::Faint)
}

/// Exact bytes, without rounding.
fn exact(bytes: u64) -> String {
    format!("{bytes} B")
}
