//! The view of `tunnel advise`: levels by rates on one screen.

use super::paragraph::paragraph;
use super::prediction::number;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted};
use model::{Advice, BitRate, BreakEven, ByteCount, LevelAdvice, format_duration};
use std::fmt::Write;
use std::time::Duration;

pub fn advice_view(advice: &Advice, style: &Style) -> String {
    let mut out = String::new();
    if let Some(verdict) = verdict(advice) {
        paragraph(&verdict, "", Ink::Heading, style, &mut out);
        out.push('\n');
    }
    paragraph(&heading(advice), "", Ink::Heading, style, &mut out);
    map(advice, style, &mut out);
    let mut faint = |text: &str| paragraph(text, "  ", Ink::Faint, style, &mut out);
    faint("0 (off): time of a mean operation; others: less (-) or more (+) than off; * fastest at this rate");
    faint(&format!(
        "CPU: compress + decompress, both ends, per operation{}; off is faster above break-even",
        noise(advice)
    ));
    if advice.price.is_some() {
        money(advice, style, &mut out);
    }
    out
}

/// Whether and where compression saves time. Prices are left to the reader.
pub(crate) fn verdict(advice: &Advice) -> Option<String> {
    let gains: Vec<Gain<'_>> = (0..advice.rates.len())
        .filter_map(|rate| Gain::at(advice, rate))
        .collect();
    let most = gains
        .iter()
        .max_by(|one, other| one.share().total_cmp(&other.share()))?;
    let [level, off] = [most.saved, most.off].map(format_duration);
    if most.share() < WORTH {
        return Some(match most.saved.is_zero() {
            true => format!("A tunnel is not worth it: no level is faster than {off} an operation without."),
            false => format!(
                "A tunnel is not worth it: it saves at most {level} of {off} an operation (level {} at {}).",
                most.level,
                rate_text(most.rate)
            ),
        });
    }
    let rates = |pays: bool| {
        let rates = gains.iter().filter(|gain| (gain.share() >= WORTH) == pays);
        rates
            .map(|gain| rate_text(gain.rate))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let other = match rates(false) {
        none if none.is_empty() => String::new(),
        some => format!("; at {some} it is not worth it"),
    };
    Some(format!(
        "A tunnel pays at {}: at {}, level {} makes {off} an operation {}{other}.",
        rates(true),
        rate_text(most.rate),
        most.level,
        format_duration(most.off.saturating_sub(most.saved)),
    ))
}

struct Gain<'a> {
    rate: BitRate,
    level: &'a u8,
    off: Duration,
    saved: Duration,
}

impl<'a> Gain<'a> {
    fn at(advice: &'a Advice, rate: usize) -> Option<Self> {
        let best = advice.best(rate)?;
        Some(Self {
            rate: *advice.rates.get(rate)?,
            level: &best.level,
            off: *advice.off()?.durations.get(rate)?,
            saved: Duration::from_nanos(advice.saved_ns(best, rate)?.try_into().unwrap_or(0)),
        })
    }

    fn share(&self) -> f64 {
        self.saved.as_secs_f64() / self.off.as_secs_f64().max(1e-9)
    }
}

/// A gain below a tenth does not justify two more processes.
const WORTH: f64 = 0.1;

fn heading(advice: &Advice) -> String {
    let operations = advice.operations.max(1);
    let [up, down] = advice
        .payload_bytes
        .map(|bytes| ByteCount::from_bytes(bytes / operations))
        .into_array();
    let rtt = match advice.rtt_asked {
        true => format_duration(advice.rtt),
        false => format!("{} as measured", format_duration(advice.rtt)),
    };
    let replayed = match advice.replayed < advice.operations {
        true => format!(", {} replayed", advice.replayed),
        false => String::new(),
    };
    format!(
        "{}: {}{replayed}, each {} round trips, {up} up, {down} down; rtt {rtt}",
        super::escape::printable(&advice.source),
        counted(advice.operations, "operation"),
        number(advice.turns as f64 / operations as f64),
    )
}

fn map(advice: &Advice, style: &Style, out: &mut String) {
    let mut headings = vec![
        "level".to_owned(),
        "bytes".to_owned(),
        "CPU".to_owned(),
        "break-even".to_owned(),
    ];
    headings.extend(advice.rates.iter().map(|rate| rate_text(*rate)));
    let mut table = Table::new(headings);
    for level in &advice.levels {
        let mut cells = vec![
            level.level.to_string(),
            part(level.bytes(), advice.payload()),
            each(level.processor_time(), advice.operations),
            level.break_even.map_or_else(|| DASH.to_owned(), break_even),
        ];
        cells.extend((0..advice.rates.len()).map(|rate| cell(advice, level, rate)));
        table.row(cells);
    }
    table.render(style, out);
}

/// Without needless digits, as in `10 Mbit/s`.
fn rate_text(rate: BitRate) -> String {
    let text = rate.to_string();
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

fn break_even(rate: BreakEven) -> String {
    match rate {
        BreakEven::Never => "never pays".to_owned(),
        BreakEven::At(rate) => rate_text(rate),
        BreakEven::Above(rate) => format!("> {}", rate_text(rate)),
    }
}

fn part(bytes: u64, whole: u64) -> String {
    match whole {
        0 => DASH.to_owned(),
        whole => format!("{:.1} %", bytes as f64 / whole as f64 * 100.0),
    }
}

fn each(time: Duration, operations: u64) -> String {
    match time.is_zero() {
        true => DASH.to_owned(),
        false => format_duration(time.div_f64(operations.max(1) as f64)),
    }
}

fn cell(advice: &Advice, level: &LevelAdvice, rate: usize) -> String {
    let best = advice.best(rate).is_some_and(|best| best.level == level.level);
    let star = if best { "*" } else { " " };
    if level.level == 0 {
        let takes = level.durations.get(rate).copied();
        return format!("{}{star}", super::duration_or_dash(takes));
    }
    let Some(saved) = advice.saved_ns(level, rate) else {
        return DASH.to_owned();
    };
    let sign = if saved < 0 { "+" } else { "-" };
    format!(
        "{sign}{}{star}",
        format_duration(Duration::from_nanos(saved.unsigned_abs()))
    )
}

fn noise(advice: &Advice) -> String {
    let noise = advice.levels.iter().filter_map(|level| level.noise);
    let most = noise.max_by(|one, other| one.as_fraction().total_cmp(&other.as_fraction()));
    most.map_or_else(String::new, |most| {
        format!(" (varied by {:.0} %)", most.as_fraction() * 100.0)
    })
}

fn money(advice: &Advice, style: &Style, out: &mut String) {
    let Some(price) = advice.price else { return };
    let heading = format!("At {price} a GB, both directions counted");
    paragraph(&heading, "", Ink::Heading, style, out);
    let priced = |what: &str, cost: &dyn Fn(u64) -> Option<f64>, out: &mut String| {
        let Some(now) = cost(advice.payload()) else { return };
        let mut line = format!("{what}: now {}", amount(now));
        for level in &advice.levels {
            if let Some(then) = cost(level.bytes()) {
                let _ = write!(line, ", {} {}", level.level, amount(then));
            }
        }
        paragraph(&line, "  ", Ink::Plain, style, out);
    };
    priced(
        "a million operations",
        &|bytes| advice.cost_per_million(bytes),
        out,
    );
    priced("30 days at this pace", &|bytes| advice.cost_per_month(bytes), out);
}

/// Money with three digits and no currency.
fn amount(cost: f64) -> String {
    match cost {
        cost if cost >= 100.0 => format!("{cost:.0}"),
        cost if cost >= 10.0 => format!("{cost:.1}"),
        cost if cost >= 0.01 => format!("{cost:.2}"),
        cost => format!("{cost:.4}"),
    }
}
