//! The page of `tunnel advise`: a map of levels by rates, the cost of each level, and the bill.

use super::markup::{DASH, cell, counted, number, px, section, small_print, table_head, time, turns};
use super::{header, notes};
use maud::{Markup, display, html};
use model::{Advice, BitRate, BreakEven, ByteCount, Conditions, LevelAdvice, Warning, format_duration};
use std::io;
use std::time::Duration;

pub fn write_advice(
    advice: &Advice,
    conditions: &Conditions,
    warnings: &[Warning],
    out: &mut impl io::Write,
) -> io::Result<()> {
    let title = format!("{} through a tunnel", advice.source);
    let lead = html! { p.lead { (lead(advice)) } };
    let sections = vec![
        notes::warnings(warnings),
        map_section(advice),
        levels_section(advice),
        notes::conditions_of_run(conditions),
    ];
    header::write(out, &title, lead, sections, None)
}

fn lead(advice: &Advice) -> String {
    let operations = advice.operations.max(1);
    let [up, down] = advice
        .payload_bytes
        .map(|bytes| ByteCount::from_bytes(bytes / operations))
        .into_array();
    format!(
        "{}, each of {} round trips, {up} to the server and {down} to the client on average. Round-trip time {}, {}.",
        counted(advice.operations, "operation"),
        turns(advice.turns as f64 / operations as f64),
        time(advice.rtt),
        if advice.rtt_asked {
            "as requested"
        } else {
            "as measured"
        },
    )
}

fn map_section(advice: &Advice) -> Markup {
    let content = html! {
        p {
            "How much shorter (green) or longer (red) a mean operation is than through a tunnel without compression. \
             A ring marks the fastest of a column."
        }
        (drawing(advice))
        (small_print(
            "Predicted: bytes and codec time of every exchange as compressed here, over a link without loss or other \
             users, by one client. Processor time was measured on this machine; on a slower one levels stop to pay \
             earlier."
        ))
    };
    section("map", "Gain of each level, by the rate of the link", content)
}

/// One column per rate, one row per level.
fn drawing(advice: &Advice) -> Markup {
    let rates = &advice.rates[..advice.rates.len().min(MAX_RATES)];
    let (width, height) = ((WIDTH - LABEL) / rates.len().max(1) as f64, 34.0);
    let x = |column: usize| LABEL + width * column as f64;
    let whole = HEAD + height * advice.levels.len() as f64;
    html! {
        figure.map tabindex="0" {
            svg viewBox={ "0 0 " (WIDTH) " " (whole) } role="img" aria-label="time saved by level and rate" {
                text.axis.side x="0" y="36" { "level and codec" }
                text.axis.side x=(px(LABEL)) y="12" { "rate of the link (bit/s)" }
                @for (column, rate) in rates.iter().enumerate() {
                    text.head x=(px(x(column) + width / 2.0)) y="36" { (display(rate)) }
                }
                @for (index, level) in advice.levels.iter().enumerate() {
                    @let y = HEAD + height * index as f64;
                    text.side x="0" y=(px(y + height / 2.0)) { (level.level) " · " (level.codec) }
                    @for column in 0..rates.len() {
                        (square(advice, level, column, [x(column), y, width - 3.0, height - 3.0]))
                    }
                }
            }
        }
    }
}

fn square(advice: &Advice, level: &LevelAdvice, column: usize, place: [f64; 4]) -> Markup {
    let [x, y, width, height] = place;
    let shade = shade(advice, level, column);
    let class = match shade {
        _ if level.level == 0 => "off",
        shade if shade < 0.0 => "loss",
        _ => "gain",
    };
    let opacity = format!("{:.2}", (shade.abs() * FULL).max(0.05));
    let is_best = advice.best(column).is_some_and(|best| best.level == level.level);
    html! {
        g class=(class) {
            title { (words(advice, level, column)) }
            rect x=(px(x)) y=(px(y)) width=(px(width)) height=(px(height)) rx="3" fill-opacity=(opacity) {}
            @if is_best {
                rect.best x=(px(x + 1.5)) y=(px(y + 1.5)) width=(px(width - 3.0)) height=(px(height - 3.0)) rx="3" {}
            }
            text x=(px(x + width / 2.0)) y=(px(y + height / 2.0)) { (figure(advice, level, column)) }
        }
    }
}

/// Saving as a share of the time without compression: 1 saves all of it, -1 at least doubles it.
fn shade(advice: &Advice, level: &LevelAdvice, column: usize) -> f64 {
    let off = advice.off().and_then(|off| off.durations.get(column));
    let (Some(saved), Some(off)) = (advice.saved_ns(level, column), off) else {
        return 0.0;
    };
    (saved as f64 / (off.as_nanos() as f64).max(1.0)).clamp(-1.0, 1.0)
}

fn figure(advice: &Advice, level: &LevelAdvice, column: usize) -> String {
    if level.level == 0 {
        return level
            .durations
            .get(column)
            .map_or_else(|| DASH.to_owned(), |takes| time(*takes));
    }
    let Some(saved) = advice.saved_ns(level, column) else {
        return DASH.to_owned();
    };
    let sign = if saved < 0 { "+" } else { "−" };
    format!("{sign}{}", time(Duration::from_nanos(saved.unsigned_abs())))
}

fn words(advice: &Advice, level: &LevelAdvice, column: usize) -> String {
    let takes = level.durations.get(column).copied().unwrap_or_default();
    let rate = advice
        .rates
        .get(column)
        .map(ToString::to_string)
        .unwrap_or_default();
    format!(
        "level {} at {rate}: {} an operation, {:.0} % of off's time saved",
        level.level,
        format_duration(takes),
        shade(advice, level, column) * 100.0
    )
}

fn levels_section(advice: &Advice) -> Markup {
    let content = html! {
        table.stack {
            (table_head("level", headings(advice)))
            tbody {
                (bill_row("now", advice))
                @for level in &advice.levels { (level_row(advice, level)) }
            }
        }
        p.small {
            "CPU: compress and decompress, both ends and both directions, for a mean operation."
            @if let Some(noise) = noise(advice) {
                " Passes over the same bytes were within " (format_args!("{noise:.0}")) " % of each other."
            }
            " Above the break-even rate a tunnel without compression is faster. Bytes of the tunnel include the \
             headers of its frames and the overhead of encryption; packet headers are in neither figure."
        }
    };
    section("levels", "Cost of each level", content)
}

fn headings(advice: &Advice) -> Vec<String> {
    let figures = [
        "bytes an operation",
        "of payload",
        "compress",
        "decompress",
        "break-even rate",
    ];
    let million = advice
        .price
        .map(|price| format!("a million operations at {price} a GB"));
    let month = advice
        .price
        .and(advice.span)
        .map(|_| "30 days at this pace".to_owned());
    figures
        .map(str::to_owned)
        .into_iter()
        .chain(million)
        .chain(month)
        .collect()
}

/// The widest, as a percentage.
fn noise(advice: &Advice) -> Option<f64> {
    let noise = advice.levels.iter().filter_map(|level| level.noise);
    noise.map(|noise| noise.as_fraction() * 100.0).reduce(f64::max)
}

fn bill_row(name: &str, advice: &Advice) -> Markup {
    let bytes = ByteCount::from_bytes(advice.payload() / advice.operations.max(1));
    html! {
        tr {
            th scope="row" { (name) }
            (cell("bytes an operation", display(bytes)))
            (cell("of payload", "100 %"))
            @for heading in ["compress", "decompress", "break-even rate"] { (cell(heading, DASH)) }
            (bill(advice, advice.payload()))
        }
    }
}

fn level_row(advice: &Advice, level: &LevelAdvice) -> Markup {
    let operations = advice.operations.max(1);
    let [compressing, decompressing] = level.processor.map(|span| match span.is_zero() {
        true => DASH.to_owned(),
        false => time(span.div_f64(operations as f64)),
    });
    let part = match advice.payload() {
        0 => DASH.to_owned(),
        payload => format!("{:.1} %", level.bytes() as f64 / payload as f64 * 100.0),
    };
    html! {
        tr {
            th scope="row" { (level.level) " " span.kind { (level.codec) } }
            (cell("bytes an operation", display(ByteCount::from_bytes(level.bytes() / operations))))
            (cell("of payload", part))
            (cell("compress", compressing))
            (cell("decompress", decompressing))
            (cell("break-even rate", level.break_even.map_or_else(|| DASH.to_owned(), break_even)))
            (bill(advice, level.bytes()))
        }
    }
}

fn bill(advice: &Advice, bytes: u64) -> Markup {
    html! {
        @if let Some(cost) = advice.cost_per_million(bytes) { (cell("a million operations", number(cost))) }
        @if let Some(cost) = advice.cost_per_month(bytes) { (cell("30 days", number(cost))) }
    }
}

fn break_even(rate: BreakEven) -> String {
    let words = |rate: BitRate| rate.to_string();
    match rate {
        BreakEven::Never => "never pays".to_owned(),
        BreakEven::At(rate) => words(rate),
        BreakEven::Above(rate) => format!("above {}", words(rate)),
    }
}

/// Maximum opacity at which figures stay readable, in both colour schemes.
const FULL: f64 = 0.55;
/// In user units of the SVG.
const WIDTH: f64 = 960.0;
const LABEL: f64 = 110.0;
const HEAD: f64 = 50.0;
/// The records hold all rates.
const MAX_RATES: usize = 10;
