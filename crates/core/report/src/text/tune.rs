//! The view of `tune`.

use super::paragraph::{paragraph, wrapped};
use super::screen::{PAGE, Screen};
use super::style::{Extent, Ink, Style};
use super::table::Table;
use super::{DASH, counted};
use crate::outcome::{TuneReport, TuneRuns};
use model::{ByteCount, Job, Method, PerDirection, Recommendation, TrialSource, Tuned, format_duration};

/// Recommendations, then the measurements behind them.
pub fn tune_view(report: &TuneReport, style: &Style) -> String {
    let mut screen = Screen::below(SCHEMA_LINES, style);
    let state = heading(report, style);
    let closing = RUNS_LINES + screen.lines_of_warnings(&report.warnings);
    screen.keep(state.lines().count() + closing);
    recommended(report, style, &mut screen);
    screen.put(&state);
    screen.keep(closing);
    let jobs = Job::ALL.into_iter();
    for job in jobs.filter(|job| report.tuned.iter().any(|tuned| tuned.job == *job)) {
        screen.section("every way and setting", &job_view(report, job, style));
        screen.section("charts", &charts(report, job, style));
    }
    if style.extent == Extent::First {
        screen.omit("every way and setting");
    }
    screen.keep(0);
    screen.put(&format!(
        "\n{}",
        wrapped(&runs(&report.runs), "", Ink::Plain, style)
    ));
    screen.warnings(&report.warnings);
    screen.finish(PAGE)
}

fn heading(report: &TuneReport, style: &Style) -> String {
    let product = report.product.as_deref();
    let product = product.map_or_else(String::new, |product| format!("{product}, "));
    let state = match report.is_removed {
        true => "removed",
        false => "NOT REMOVED",
    };
    let heading = format!(
        "tuned on {}: {product}scratch schema {} ({state})",
        report.server, report.scratch
    );
    let line_before = if report.recommendations.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{line_before}{}", wrapped(&heading, "", Ink::Heading, style))
}

/// The best of each way, or every setting.
fn job_view(report: &TuneReport, job: Job, style: &Style) -> String {
    let mut out = format!("\n{}\n", style.paint(Ink::Heading, &report.work(job)));
    let mut table = Table::new([
        "way", "setting", "time", "x", "trips", "packets", "mean", "payload", "client", "server",
    ]);
    for place in report.places(job) {
        table.row([format!("{}:", place_words(place))]);
        for method in report.methods.iter().filter(|method| method.job == job) {
            let shown: Vec<&Tuned> = match style.extent {
                Extent::First => report.shown(method, place).into_iter().collect(),
                Extent::All => report.of_method(method, place),
            };
            shown
                .into_iter()
                .for_each(|tuned| table.row(cells(report, tuned)));
        }
    }
    table.render(style, &mut out);
    paragraph(&legend(report, job), "  ", Ink::Faint, style, &mut out);
    out
}

fn cells(report: &TuneReport, tuned: &Tuned) -> [String; 10] {
    let recommended = report.recommended(tuned.job, tuned.link.as_deref());
    let is_chosen = recommended.is_some_and(|one| one.method == tuned.method && one.value == tuned.value);
    let choice = match is_chosen {
        true => " *",
        false if report.is_within_reach(tuned) => " =",
        false => "",
    };
    let best = recommended.map(|one| one.best.as_secs_f64());
    let times = best.map(|best| tuned.median().as_secs_f64() / best.max(1e-9));
    let typical = &tuned.typical;
    let sum = |each: Option<PerDirection<u64>>| each.map(|each| each.iter().sum::<u64>());
    let count = |count: Option<u64>| count.map_or_else(|| DASH.to_owned(), |count| count.to_string());
    let bytes = |bytes: Option<ByteCount>| bytes.map_or_else(|| DASH.to_owned(), |bytes| bytes.to_string());
    [
        format!("{}{choice}", tuned.method),
        report
            .setting(tuned.job, &tuned.method, tuned.value)
            .unwrap_or_else(|| DASH.to_owned()),
        format!("{}{}", mark(tuned.source), format_duration(tuned.median())),
        times.map_or_else(|| DASH.to_owned(), factor),
        count(typical.turns),
        count(sum(typical.packets)),
        bytes(typical.mean_packet()),
        bytes(sum(typical.payload_bytes).map(ByteCount::from_bytes)),
        bytes(typical.client_memory),
        bytes(typical.server_memory),
    ]
}

const fn mark(source: TrialSource) -> &'static str {
    match source {
        TrialSource::Measured | TrialSource::Emulated => "",
        TrialSource::Predicted => "~",
    }
}

/// With three significant digits, as in `1.04`, `20.6` or `5200`.
pub(crate) fn factor(times: f64) -> String {
    match times {
        times if times < 10.0 => format!("{times:.2}"),
        times if times < 100.0 => format!("{times:.1}"),
        times => format!("{times:.0}"),
    }
}

/// Time over the values of a parameter, one character each, on a logarithmic scale. The lowest is the
/// shortest time; a dot was not run.
fn sparkline(method: &Method, tuned: &[&Tuned]) -> String {
    let Some(method_parameter) = &method.parameter else {
        return String::new();
    };
    let time = |value: u64| {
        let found = tuned.iter().find(|tuned| tuned.value == Some(value))?;
        Some(found.median().as_secs_f64().max(1e-9).ln())
    };
    let times: Vec<Option<f64>> = method_parameter.values.iter().map(|value| time(*value)).collect();
    let known = || times.iter().flatten().copied();
    let (least, most) = (
        known().fold(f64::INFINITY, f64::min),
        known().fold(f64::NEG_INFINITY, f64::max),
    );
    // The scale spans at least a factor of two, so that noise does not look like a large change.
    let range = (most - least).max(std::f64::consts::LN_2);
    let sign = |time: &Option<f64>| match time {
        None => '·',
        Some(time) => {
            let height = ((time - least) / range * (SIGNS.len() - 1) as f64).round() as usize;
            SIGNS.get(height).copied().unwrap_or('·')
        }
    };
    times.iter().map(sign).collect()
}

/// Time over the setting: one chart per distance, one line per method.
fn charts(report: &TuneReport, job: Job, style: &Style) -> String {
    let places = report.places(job);
    let mut table = Table::new(places.iter().fold(
        vec!["time over the setting".to_owned(), "settings".to_owned()],
        |mut headings, place| {
            headings.push(place.unwrap_or("here").to_owned());
            headings
        },
    ));
    for method in report.methods.iter().filter(|method| method.job == job) {
        let Some(method_parameter) = method
            .parameter
            .as_ref()
            .filter(|method_parameter| method_parameter.values.len() > 1)
        else {
            continue;
        };
        let ends = [method_parameter.values.first(), method_parameter.values.last()]
            .map(|value| value.copied().unwrap_or_default());
        let mut row = vec![
            method.name.to_string(),
            ends.map(|end| method_parameter.unit.words(end)).join(" to "),
        ];
        row.extend(
            places
                .iter()
                .map(|place| sparkline(method, &report.of_method(method, *place))),
        );
        table.row(row);
    }
    let mut out = String::new();
    if table.len() > 0 {
        out.push('\n');
        table.render(style, &mut out);
    }
    out
}

fn place_words(place: Option<&str>) -> String {
    place.map_or_else(|| "here".to_owned(), |link| format!("over {link}"))
}

fn legend(report: &TuneReport, job: Job) -> String {
    let has = |source: TrialSource| {
        let mut all = report.tuned.iter();
        all.any(|tuned| tuned.job == job && tuned.source == source)
    };
    let mut words =
        vec!["* recommended: of the fastest way the smallest setting surely within 5 % of the best"];
    if report
        .tuned
        .iter()
        .any(|tuned| tuned.job == job && report.is_within_reach(tuned))
    {
        words.push("= within 5 % of the best too, possibly with a smaller setting than the recommended one");
    }
    if has(TrialSource::Predicted) {
        words.push("~ predicted from the run here");
    }
    words.push("time: median; x: of the best; round trips, packets, bytes: one run, both ways");
    words.join("; ")
}

/// The answer where most is at stake, and a row for each job and distance, with its spelling if
/// that fits.
fn recommended(report: &TuneReport, style: &Style, screen: &mut Screen<'_>) {
    let all: Vec<&Recommendation> = Job::ALL
        .iter()
        .flat_map(|job| report.recommendations.iter().filter(|one| one.job == *job))
        .collect();
    let most = all.iter().rev();
    let most = most.max_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let Some(most) = most else { return };
    screen.put(&wrapped(&answer(report, most), "", Ink::Heading, style));
    screen.put("\n");
    let mut table = Table::new(["recommended", "setting", "time", "instead of", "x"]);
    for one in &all {
        table.row([
            format!("{} {}: {}", one.job, place_words(one.link.as_deref()), one.method),
            setting(report, one).unwrap_or_else(|| DASH.to_owned()),
            format_duration(one.duration),
            one.worst_method.to_string(),
            factor(one.ratio()),
        ]);
    }
    let mut rendered = String::new();
    let rows = all.len().min(screen.left().saturating_sub(2).max(1));
    table.render_first(rows, style, &mut rendered);
    let mut room = screen.left().saturating_sub(rendered.lines().count());
    let details = all[..rows].iter().map(|one| spelling(report, one, style));
    let details = std::iter::once(String::new())
        .chain(details)
        .chain(std::iter::repeat(String::new()));
    for (line, detail) in rendered.lines().zip(details) {
        screen.put(&format!("{line}\n"));
        match room.checked_sub(detail.lines().count()) {
            Some(left) => {
                room = left;
                screen.put(&detail);
            }
            None => screen.omit("spellings"),
        }
    }
}

fn answer(report: &TuneReport, one: &Recommendation) -> String {
    let setting = setting(report, one).map_or_else(String::new, |setting| format!(", {setting}"));
    let at_stake = match one.worst_method == one.method || one.ratio() < NO_DIFFERENCE {
        true => String::new(),
        false => format!(
            "; {} takes {} times as long",
            one.worst_method,
            factor(one.ratio())
        ),
    };
    format!(
        "Recommended to {} {}: {}{setting}, {}{at_stake}.",
        one.job,
        place_words(one.link.as_deref()),
        one.method,
        format_duration(one.duration),
    )
}

fn setting(report: &TuneReport, one: &Recommendation) -> Option<String> {
    report.setting(one.job, &one.method, one.value)
}

/// As drivers spell it, and settings as good.
fn spelling(report: &TuneReport, one: &Recommendation, style: &Style) -> String {
    let mut out = String::new();
    if one.spelling != *one.method {
        paragraph(&one.spelling, "      ", Ink::Faint, style, &mut out);
    }
    if let Some(others) = report.as_good(one) {
        paragraph(
            &format!("as good: {others}"),
            "      ",
            Ink::Faint,
            style,
            &mut out,
        );
    }
    out
}

fn runs(runs: &TuneRuns) -> String {
    let watched = match runs.watched {
        0 => String::new(),
        count => format!(", {count} watched"),
    };
    format!(
        "{}; a full sweep would have taken {}. Not counted: {} warm-up{watched}.",
        counted(runs.taken, "run"),
        runs.full_sweep,
        runs.warm_ups,
    )
}

/// That names the scratch schema, printed when the run begins.
const SCHEMA_LINES: usize = 1;
const RUNS_LINES: usize = 2;
/// A smaller factor counts as no difference.
pub(crate) const NO_DIFFERENCE: f64 = 1.05;
const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Colour;
    use model::Distribution;
    use std::time::Duration;

    fn tuned(method: &str, value: u64, millis: u64, source: TrialSource) -> Tuned {
        Tuned {
            job: Job::Insert,
            method: method.into(),
            value: Some(value),
            link: None,
            source,
            runs: 3,
            spread: Distribution {
                count: 3,
                p50: Some(Duration::from_millis(millis)),
                ..Distribution::default()
            },
            typical: model::TrialOutcome::default(),
        }
    }

    fn report() -> TuneReport {
        let method_parameter = model::MethodParameter {
            name: "rows".into(),
            unit: model::ParameterUnit::Rows,
            values: vec![8, 16, 32, 64],
            default: None,
            spelling: "".into(),
        };
        let best = Duration::from_millis(100);
        TuneReport {
            methods: ["batch", "other"]
                .map(|name| Method {
                    job: Job::Insert,
                    name: name.into(),
                    parameter: Some(method_parameter.clone()),
                })
                .into(),
            tuned: vec![
                tuned("batch", 8, 120, TrialSource::Measured),
                tuned("batch", 16, 104, TrialSource::Measured),
                tuned("batch", 32, 100, TrialSource::Measured),
                tuned("batch", 64, 101, TrialSource::Predicted),
                tuned("other", 8, 105, TrialSource::Measured),
                tuned("other", 16, 106, TrialSource::Measured),
            ],
            recommendations: vec![Recommendation {
                job: Job::Insert,
                link: None,
                method: "batch".into(),
                value: Some(16),
                spelling: "batch".to_owned(),
                duration: Duration::from_millis(104),
                best,
                worst_method: "other".into(),
                worst: Duration::from_millis(105),
                runs: [6, 24],
                as_good: Vec::new(),
            }],
            ..TuneReport::default()
        }
    }

    #[test]
    fn a_row_that_is_faster_than_the_recommended_one_is_marked() {
        let style = Style {
            width: 200,
            colour: Colour::Plain,
            extent: Extent::All,
        };
        let view = tune_view(&report(), &style);
        let rows = |mark: &str| -> Vec<&str> {
            let rows = view.lines().filter(|line| {
                line.trim_start()
                    .split("  ")
                    .next()
                    .is_some_and(|name| name.ends_with(mark))
            });
            rows.collect()
        };
        let [chosen] = rows(" *")[..] else {
            panic!("{view}")
        };
        assert!(chosen.contains("16 rows"), "{view}");
        let [first, second] = rows(" =")[..] else {
            panic!("{view}")
        };
        assert!(first.contains("32 rows") && second.contains("8 rows"), "{view}");
        assert!(
            view.replace("\n  ", " ")
                .contains("; = within 5 % of the best too"),
            "{view}"
        );
    }

    #[test]
    fn recommendations_with_short_spellings_fit_a_screen_below_the_schemas_line() {
        let style = Style {
            width: 80,
            colour: Colour::Plain,
            extent: Extent::First,
        };
        for count in 1..=14 {
            let mut report = report();
            let mut one = report.recommendations.remove(0);
            one.spelling = "rewriteBatchedInserts=true".to_owned();
            report.recommendations = vec![one; count];
            let lines = tune_view(&report, &style).lines().count();
            assert!(lines <= 23, "{count} recommendations: {lines} lines");
        }
    }
}
