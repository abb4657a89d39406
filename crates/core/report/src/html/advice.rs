//! The page of `tunnel advise`: a map of levels by rates, the cost of each level, and the bill.

use super::markup::{DASH, counted, number, time, turns};
use super::old;
use super::old::{Escaped, small_print};
use model::{Advice, BitRate, BreakEven, ByteCount, Conditions, LevelAdvice, Warning, format_duration};
use std::fmt::Write;
use std::io;
use std::time::Duration;

pub fn write_advice(
    advice: &Advice,
    conditions: &Conditions,
    warnings: &[Warning],
    out: &mut impl io::Write,
) -> io::Result<()> {
    let mut html = String::with_capacity(1 << 15);
    let title = format!("{} through a tunnel", advice.source);
    old::head(&title, &lead(advice), &mut html);
    old::warnings(warnings, &mut html);
    map_section(advice, &mut html);
    levels_section(advice, &mut html);
    old::end(html, &[], conditions, out)
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

fn map_section(advice: &Advice, out: &mut String) {
    out.push_str(
        "<section aria-labelledby=\"h-map\">\n<h2 id=\"h-map\">Gain of each level, by the rate of the link</h2>\n\
         <p>How much shorter (green) or longer (red) a mean operation is than through a tunnel without compression. A ring marks the fastest of a \
         column.</p>\n",
    );
    drawing(advice, out);
    small_print(
        "Predicted: bytes and codec time of every exchange as compressed here, over a link without loss or other users, by one client. \
         Processor time was measured on this machine; on a slower one levels stop to pay earlier.",
        out,
    );
    out.push_str("</section>\n");
}

/// One column per rate, one row per level.
fn drawing(advice: &Advice, out: &mut String) {
    let columns = advice.rates.len().clamp(1, MAX_RATES);
    let (cell, row) = ((WIDTH - LABEL) / columns as f64, 34.0);
    let height = HEAD + row * advice.levels.len() as f64;
    let _ = write!(
        out,
        "<figure class=\"map\" tabindex=\"0\"><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"time saved by level and rate\">"
    );
    for (column, rate) in advice.rates.iter().take(MAX_RATES).enumerate() {
        let x = LABEL + cell * (column as f64 + 0.5);
        let _ = write!(out, "<text class=\"head\" x=\"{x:.1}\" y=\"18\">{rate}</text>");
    }
    for (index, level) in advice.levels.iter().enumerate() {
        let y = HEAD + row * index as f64;
        let _ = write!(
            out,
            "<text class=\"side\" x=\"0\" y=\"{:.1}\">{} · {}</text>",
            y + row / 2.0,
            level.level,
            Escaped(&level.codec)
        );
        for column in 0..advice.rates.len().min(MAX_RATES) {
            let place = [LABEL + cell * column as f64, y, cell - 3.0, row - 3.0];
            square(advice, level, column, place, out);
        }
    }
    out.push_str("</svg></figure>\n");
}

fn square(advice: &Advice, level: &LevelAdvice, column: usize, place: [f64; 4], out: &mut String) {
    let [x, y, width, height] = place;
    let shade = shade(advice, level, column);
    let class = match shade {
        _ if level.level == 0 => "off",
        shade if shade < 0.0 => "loss",
        _ => "gain",
    };
    let _ = write!(
        out,
        "<g class=\"{class}\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"3\" \
         fill-opacity=\"{:.2}\"/>",
        Escaped(&words(advice, level, column)),
        (shade.abs() * FULL).max(0.05)
    );
    if advice.best(column).is_some_and(|best| best.level == level.level) {
        let _ = write!(
            out,
            "<rect class=\"best\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\"/>",
            x + 1.5,
            y + 1.5,
            width - 3.0,
            height - 3.0
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
        x + width / 2.0,
        y + height / 2.0,
        figure(advice, level, column)
    );
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

fn levels_section(advice: &Advice, out: &mut String) {
    out.push_str(
        "<section aria-labelledby=\"h-levels\">\n<h2 id=\"h-levels\">Cost of each level</h2>\n<table class=\"stack\">\n\
         <thead><tr><th scope=\"col\">level</th><th scope=\"col\" class=\"n\">bytes an operation</th><th scope=\"col\" class=\"n\">of payload</th>\
         <th scope=\"col\" class=\"n\">compress</th><th scope=\"col\" class=\"n\">decompress</th><th scope=\"col\" class=\"n\">break-even rate</th>",
    );
    if let Some(price) = advice.price {
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"n\">a million operations at {price} a GB</th>"
        );
        if advice.span.is_some() {
            out.push_str("<th scope=\"col\" class=\"n\">30 days at this pace</th>");
        }
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    bill_row("now", advice, out);
    for level in &advice.levels {
        level_row(advice, level, out);
    }
    out.push_str("</tbody></table>\n");
    let noise = advice.levels.iter().filter_map(|level| level.noise);
    let noise = noise
        .map(|noise| noise.as_fraction() * 100.0)
        .fold(f64::NAN, f64::max);
    let noise = match noise.is_nan() {
        true => String::new(),
        false => format!(" Passes over the same bytes were within {noise:.0} % of each other."),
    };
    small_print(
        &format!(
            "CPU: compress and decompress, both ends and both directions, for a mean operation.{noise} Above the break-even rate a tunnel \
             without compression is faster. Bytes of the tunnel include the headers of its frames and the overhead of encryption; packet \
             headers are in neither figure."
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn bill_row(name: &str, advice: &Advice, out: &mut String) {
    let bytes = ByteCount::from_bytes(advice.payload() / advice.operations.max(1));
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{name}</th><td class=\"n\" data-label=\"bytes an operation\">{bytes}</td>\
         <td class=\"n\" data-label=\"of payload\">100 %</td><td class=\"n\">{DASH}</td><td class=\"n\">{DASH}</td><td class=\"n\">{DASH}</td>"
    );
    bill(advice, advice.payload(), out);
    out.push_str("</tr>\n");
}

fn level_row(advice: &Advice, level: &LevelAdvice, out: &mut String) {
    let operations = advice.operations.max(1);
    let [compressing, decompressing] = level.processor.map(|span| match span.is_zero() {
        true => DASH.to_owned(),
        false => time(span.div_f64(operations as f64)),
    });
    let part = match advice.payload() {
        0 => DASH.to_owned(),
        payload => format!("{:.1} %", level.bytes() as f64 / payload as f64 * 100.0),
    };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{} <span class=\"kind\">{}</span></th><td class=\"n\" data-label=\"bytes an operation\">{}</td>\
         <td class=\"n\" data-label=\"of payload\">{part}</td><td class=\"n\" data-label=\"compress\">{compressing}</td>\
         <td class=\"n\" data-label=\"decompress\">{decompressing}</td><td class=\"n\" data-label=\"break-even rate\">{}</td>",
        level.level,
        Escaped(&level.codec),
        ByteCount::from_bytes(level.bytes() / operations),
        level.break_even.map_or_else(|| DASH.to_owned(), break_even),
    );
    bill(advice, level.bytes(), out);
    out.push_str("</tr>\n");
}

fn bill(advice: &Advice, bytes: u64, out: &mut String) {
    let costs = [
        ("a million operations", advice.cost_per_million(bytes)),
        ("30 days", advice.cost_per_month(bytes)),
    ];
    for (label, cost) in costs {
        if let Some(cost) = cost {
            let _ = write!(
                out,
                "<td class=\"n\" data-label=\"{label}\">{}</td>",
                number(cost)
            );
        }
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
const HEAD: f64 = 30.0;
/// The records hold all rates.
const MAX_RATES: usize = 10;
