//! The view of `calibrate`.

use super::escape::printable;
use super::paragraph::wrapped;
use super::screen::Screen;
use super::style::{Ink, Style};
use super::table::Table;
use model::{CalibratedRest, Calibration, Side, format_duration};
use std::time::Duration;

pub fn calibration_view(calibration: &Calibration, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.put(&wrapped(&answer(calibration), "", Ink::Heading, style));
    let mut table = Table::new([
        "side",
        "longer rest",
        "computes",
        "longer by",
        "times assumed",
        "requests",
    ]);
    for rest in &calibration.rests {
        table.row([
            name(rest.side).to_owned(),
            format_duration(rest.longer),
            measured(rest, format_duration(rest.work)),
            measured(rest, signed(rest.additional_ns)),
            factor(rest),
            rest.samples.to_string(),
        ]);
    }
    let mut notes = wrapped(NOTE, "  ", Ink::Faint, style);
    for (side, reasons) in Side::ALL.map(|side| (side, refusals(calibration, side))) {
        if !reasons.is_empty() {
            let text = format!("not usable for the {}: {}", name(side), reasons.join(", "));
            notes += &wrapped(&text, "  ", Ink::Faint, style);
        }
    }
    screen.table("rests", "", &table, &notes);
    screen.finish("")
}

fn answer(calibration: &Calibration) -> String {
    let sides = Side::ALL.map(|side| {
        let is_usable = |rest: &&CalibratedRest| rest.side == side && rest.factor.is_some();
        let last = calibration.rests.iter().rfind(is_usable);
        last.map_or_else(
            || format!("the {}'s computing is not known", name(side)),
            |rest| {
                format!(
                    "the {} computes {} in place of {} after a rest that is {} longer",
                    name(side),
                    format_duration(longer(rest)),
                    format_duration(rest.work),
                    format_duration(rest.longer)
                )
            },
        )
    });
    format!("{}: {}", printable(&calibration.work), sides.join(", "))
}

fn longer(rest: &CalibratedRest) -> Duration {
    let nanos = (rest.work.as_nanos() as i64).saturating_add(rest.additional_ns);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or_default())
}

fn refusals(calibration: &Calibration, side: Side) -> Vec<String> {
    let refused = calibration.rests.iter().filter(|rest| rest.side == side);
    let refused = refused.filter_map(|rest| {
        let reason = rest.refused.as_deref()?;
        Some(format!("{} {}", format_duration(rest.longer), printable(reason)))
    });
    refused.collect()
}

const fn name(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
    }
}

fn measured(rest: &CalibratedRest, figure: String) -> String {
    match rest.samples {
        0 => super::DASH.to_owned(),
        _ => figure,
    }
}

fn signed(nanos: i64) -> String {
    let span = format_duration(Duration::from_nanos(nanos.unsigned_abs()));
    if nanos < 0 { format!("-{span}") } else { span }
}

fn factor(rest: &CalibratedRest) -> String {
    rest.factor.map_or_else(
        || super::DASH.to_owned(),
        |factor| {
            format!(
                "{:.2} ({:.1}-{:.1})",
                factor.factor, factor.factor_low, factor.factor_high
            )
        },
    )
}

const NOTE: &str = "times assumed: the added time over the allowance without a calibration, with its 10th \
                    and 90th percentile. Requests: those with that rest; as many had none.";
