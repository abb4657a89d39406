//! The view of `tune`.

use super::escape::printable;
use super::style::{Ink, Style};
use super::table::Table;
use super::{DASH, counted};
use crate::outcome::{TuneDetail, TuneReport, TuneRuns};
use model::{ByteCount, Job, Method, PerDirection, Recommendation, TrialSource, Tuned, format_duration};
use std::fmt::Write;

impl TuneReport {
    /// Amount of work, as in `32000 rows of 322 bytes`.
    pub fn work(&self, job: Job) -> String {
        let rows = match job {
            Job::Insert | Job::Update => self.rows,
            Job::Select => self.select_rows,
        };
        let kind = match (&self.like, self.row_bytes) {
            (Some(table), _) => format!(" like {}'s", printable(table)),
            (None, Some(bytes)) => format!(" of {}", counted(bytes.into(), "byte")),
            (None, None) => String::new(),
        };
        let transaction = match job {
            Job::Insert => " in one transaction",
            Job::Select => "",
            Job::Update => " one by one in one transaction",
        };
        format!("{job} {}{kind}{transaction}", counted(rows, "row"))
    }

    /// The distances, the present one first.
    pub fn places(&self, job: Job) -> Vec<Option<&str>> {
        let mut places: Vec<Option<&str>> = Vec::new();
        for tuned in self.tuned.iter().filter(|tuned| tuned.job == job) {
            let place = tuned.link.as_deref();
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }

    /// Runs and predictions of a method at a distance, by value.
    pub fn of_method(&self, method: &Method, link: Option<&str>) -> Vec<&Tuned> {
        let of_method = |tuned: &&Tuned| {
            tuned.job == method.job && tuned.method == method.name && tuned.link.as_deref() == link
        };
        let mut all: Vec<&Tuned> = self.tuned.iter().filter(of_method).collect();
        all.sort_by_key(|tuned| tuned.value);
        all
    }

    pub fn recommended(&self, job: Job, link: Option<&str>) -> Option<&Recommendation> {
        let mut all = self.recommendations.iter();
        all.find(|one| one.job == job && one.link.as_deref() == link)
    }

    /// Whether a setting other than the recommended one is within 5 % of the best.
    pub fn is_within_reach(&self, tuned: &Tuned) -> bool {
        let recommended = self.recommended(tuned.job, tuned.link.as_deref());
        recommended.is_some_and(|one| {
            let is_chosen = one.method == tuned.method && one.value == tuned.value;
            let ran = tuned.source != TrialSource::Predicted;
            ran && !is_chosen && tuned.median() <= one.best + one.best / 20
        })
    }

    /// The row of a method at a distance: the recommended setting, or the best.
    pub fn shown(&self, method: &Method, link: Option<&str>) -> Option<&Tuned> {
        let all = self.of_method(method, link);
        let chosen = self
            .recommended(method.job, link)
            .filter(|recommended| recommended.method == method.name)
            .and_then(|recommended| all.iter().find(|tuned| tuned.value == recommended.value));
        chosen
            .or_else(|| all.iter().min_by_key(|tuned| tuned.median()))
            .copied()
    }

    /// The setting of a method, as in `100 rows`. `None` if the method has none.
    pub fn setting(&self, job: Job, method: &str, value: Option<u64>) -> Option<String> {
        let method = self
            .methods
            .iter()
            .find(|known| known.job == job && &*known.name == method)?;
        Some(method.parameter.as_ref()?.unit.words(value?))
    }

    /// Settings as good as a recommendation, as in `copy, 4 KiB`. `None` if there are none.
    pub fn as_good(&self, one: &Recommendation) -> Option<String> {
        let words = one.as_good.iter().map(|setting| {
            let value = self.setting(one.job, &setting.method, setting.value);
            value.map_or_else(
                || setting.method.to_string(),
                |value| format!("{}, {value}", setting.method),
            )
        });
        let words: Vec<String> = words.collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// Recommendations, then the measurements behind them.
pub fn tune_view(report: &TuneReport, detail: TuneDetail, style: &Style) -> String {
    let mut out = String::new();
    Job::ALL
        .into_iter()
        .for_each(|job| recommended(report, job, style, &mut out));
    if !out.is_empty() {
        out.push('\n');
    }
    let product = report
        .product
        .as_deref()
        .map_or_else(String::new, |product| format!("{}, ", printable(product)));
    let state = match report.is_removed {
        true => "removed",
        false => "NOT REMOVED",
    };
    let heading = format!(
        "tuned on {}: {product}scratch schema {} ({state})",
        printable(&report.server),
        printable(&report.scratch)
    );
    let _ = writeln!(out, "{}", style.paint(Ink::Heading, &heading));
    for job in Job::ALL {
        if report.tuned.iter().any(|tuned| tuned.job == job) {
            job_view(report, job, detail, style, &mut out);
        }
    }
    closing(report, style, &mut out);
    out
}

fn job_view(report: &TuneReport, job: Job, detail: TuneDetail, style: &Style, out: &mut String) {
    let _ = writeln!(out, "\n{}", style.paint(Ink::Heading, &report.work(job)));
    let mut table = Table::new([
        "way", "setting", "time", "x", "trips", "packets", "mean", "payload", "client", "server",
    ]);
    for place in report.places(job) {
        table.row([format!("{}:", place_words(place))]);
        for method in report.methods.iter().filter(|method| method.job == job) {
            let shown: Vec<&Tuned> = match detail {
                TuneDetail::Best => report.shown(method, place).into_iter().collect(),
                TuneDetail::All => report.of_method(method, place),
            };
            shown
                .into_iter()
                .for_each(|tuned| table.row(cells(report, tuned)));
        }
    }
    table.render(style, out);
    legend(report, job, style, out);
    charts(report, job, style, out);
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
fn charts(report: &TuneReport, job: Job, style: &Style, out: &mut String) {
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
    if table.len() > 0 {
        out.push('\n');
        table.render(style, out);
        out.push('\n');
    }
}

fn place_words(place: Option<&str>) -> String {
    place.map_or_else(|| "here".to_owned(), |link| format!("over {link}"))
}

fn legend(report: &TuneReport, job: Job, style: &Style, out: &mut String) {
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
    let _ = writeln!(out, "  {}", style.paint(Ink::Faint, &words.join("; ")));
}

fn recommended(report: &TuneReport, job: Job, style: &Style, out: &mut String) {
    for one in report.recommendations.iter().filter(|one| one.job == job) {
        let place = place_words(one.link.as_deref());
        let heading = style.paint(Ink::Heading, &format!("recommended to {job} {place}:"));
        let setting = report
            .setting(job, &one.method, one.value)
            .map_or_else(String::new, |setting| format!(", {setting}"));
        let _ = writeln!(
            out,
            "{heading} {}{setting}, {}{}",
            printable(&one.method),
            format_duration(one.duration),
            at_stake(one)
        );
        if one.spelling != *one.method {
            let _ = writeln!(out, "  {}", printable(&one.spelling));
        }
        if let Some(others) = report.as_good(one) {
            let _ = writeln!(out, "  as good: {}", printable(&others));
        }
    }
}

fn at_stake(one: &Recommendation) -> String {
    if one.worst_method == one.method || one.ratio() < NO_DIFFERENCE {
        return String::new();
    }
    format!(
        "; {} takes {} times as long",
        printable(&one.worst_method),
        factor(one.ratio())
    )
}

fn closing(report: &TuneReport, style: &Style, out: &mut String) {
    let TuneRuns {
        taken,
        full_sweep,
        watched,
        warm_ups,
    } = report.runs;
    let watched = match watched {
        0 => String::new(),
        count => format!(", {}", counted(count, "watched run")),
    };
    let _ = writeln!(
        out,
        "\n{}; a full sweep would have taken {full_sweep}. Not counted: {}{watched}.",
        counted(taken, "run"),
        counted(warm_ups, "warm-up run"),
    );
    for warning in &report.warnings {
        let text = format!("warning: {}", printable(&warning.text));
        let _ = writeln!(out, "{}", style.paint(Ink::Warning, &text));
    }
}

/// A smaller factor counts as no difference.
pub(crate) const NO_DIFFERENCE: f64 = 1.05;
const SIGNS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Colour, Extent};
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
        let view = tune_view(&report(), TuneDetail::All, &style);
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
        assert!(view.contains("; = within 5 % of the best too"), "{view}");
    }
}
