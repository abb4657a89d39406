//! The page in a real browser: sliders change the figures, no requests are made, it fits a phone,
//! and it reads the same without script.

mod sample_page;
mod samples;

use sample_page::{Sample, duration, full, html};
use serde_json::{Value, json};
use std::time::Duration;
use testbed::Browser;
use testbed::browser::{END, HOME, LEFT, RIGHT};

fn open(browser: &Browser, sample: &Sample) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a private directory can be made");
    let file = directory.path().join("report.html");
    std::fs::write(&file, html(&sample.page())).expect("the page can be written");
    browser.open(&file);
    directory
}

fn quiet(browser: &Browser) {
    assert_eq!(browser.console(), [""; 0], "nothing for the console");
    let asked: Vec<String> = browser.requested();
    let foreign = |address: &&String| !address.starts_with("file:") && !address.starts_with("data:");
    assert_eq!(asked.iter().filter(foreign).count(), 0, "{asked:?}");
    assert!(
        asked.iter().any(|address| address.starts_with("file:")),
        "the page itself is seen: {asked:?}"
    );
}

fn shown(turns: f64, rtt_millis: f64, rate_mbit: Option<f64>, clients: u32) -> String {
    model::format_duration(duration(turns, rtt_millis, rate_mbit, clients))
}

#[test]
fn sliders_move_the_numbers_between_the_grid_too() {
    let browser = Browser::start(1280, 900);
    let _page = open(&browser, &full());
    assert_eq!(browser.text("#v-rtt"), "40.0 ms");
    assert_eq!(browser.text("#v-rate"), "unlimited");
    assert_eq!(browser.text("#o-duration"), shown(27.0, 40.0, None, 1));
    let marker =
        || browser.run("return Number(document.querySelector('.curve.wide .marker').getAttribute('cx'))");
    let before = marker().as_f64().expect("a number");

    browser.press("#s-rtt", RIGHT);
    assert_eq!(
        browser.text("#v-rtt"),
        "42.0 ms",
        "one step of 200 along a logarithmic axis"
    );
    assert_eq!(browser.text("#o-duration"), shown(27.0, 42.0, None, 1));
    assert!(
        marker().as_f64().expect("a number") > before,
        "the marker goes with it"
    );

    browser.run("document.querySelector('#presets button:nth-child(2)').click()");
    assert_eq!(browser.text("#v-rtt"), "10.0 ms");
    browser.press("#s-rate", LEFT);
    assert_eq!(browser.text("#v-rate"), "100 Mbit/s");
    browser.press("#s-rate", HOME);
    assert_eq!(browser.text("#v-rate"), "1.00 Mbit/s");
    assert_eq!(browser.text("#o-duration"), shown(27.0, 10.0, Some(1.0), 1));
    for _ in 0..4 {
        browser.press("#s-rate", RIGHT);
    }
    assert_eq!(browser.text("#v-rate"), "2.50 Mbit/s");
    assert_eq!(browser.text("#o-duration"), shown(27.0, 10.0, Some(2.5), 1));

    browser.press("#s-clients", END);
    assert_eq!(browser.text("#v-clients"), "16");
    assert_eq!(browser.text("#o-duration"), shown(27.0, 10.0, Some(2.5), 16));
    let middle = duration(27.0, 10.0, Some(2.5), 16);
    let bounds = [middle.mul_f64(0.9), middle.mul_f64(1.1)].map(model::format_duration);
    assert_eq!(
        browser.text("#o-bounds"),
        format!("{} to {}", bounds[0], bounds[1])
    );

    browser.run(
        "const choice = document.querySelector('#s-operation'); choice.value = '1';
         choice.dispatchEvent(new Event('change'));",
    );
    assert_eq!(browser.text("#o-duration"), shown(29.0, 10.0, Some(2.5), 16));
    assert_eq!(browser.text("#o-turns"), "29");
    quiet(&browser);
}

const PARTS: [&str; 3] = ["band", "line", "line without"];

fn places(path: &str) -> Vec<f64> {
    let numbers = path
        .split(['M', 'L', 'Z', ' '])
        .filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().expect("a number")).collect()
}

#[test]
fn script_and_page_draw_the_same_curve() {
    let browser = Browser::start(1280, 900);
    let sample = full();
    let _page = open(&browser, &sample);
    for class in ["wide", "narrow"] {
        let drawn = browser.run(&format!(
            "return ['.band', '.line', '.without'].map((part) => document.querySelector('.curve.{class} ' + part).getAttribute('d'))"
        ));
        let text = html(&sample.page());
        let (_, curve) = text
            .split_once(&format!("class=\"curve {class}\""))
            .expect("the curve is in the page");
        for (part, path) in PARTS.iter().zip(drawn.as_array().expect("paths")) {
            let (_, in_page) = curve
                .split_once(&format!("<path class=\"{part}\" d=\""))
                .expect("the path is in the page");
            let in_page = places(in_page.split('"').next().expect("a path"));
            let drawn = places(path.as_str().expect("a path"));
            assert_eq!(in_page.len(), drawn.len(), "{class} {part}");
            // Both write tenths of a pixel; the last digits of logarithms differ.
            let apart = in_page.iter().zip(&drawn).map(|(one, other)| (one - other).abs());
            assert!(apart.fold(0.0, f64::max) < 0.11, "{class} {part}: {path}");
        }
    }
    let dots = "return document.querySelectorAll('.curve.wide .dot').length";
    assert_eq!(browser.run(dots), json!(2), "what was measured stays");
    browser.press("#s-rate", LEFT);
    assert_eq!(browser.run(dots), json!(0), "it was measured on another link");
    quiet(&browser);
}

/// Each statement takes 40 ms more than measured, one after another.
#[test]
fn steps_are_drawn_at_the_round_trip_of_the_slider() {
    let browser = Browser::start(1280, 900);
    let sample = full();
    let _page = open(&browser, &sample);
    let drawing = || browser.run("return document.querySelector('#plot').innerHTML");
    let measured = drawing();
    assert_eq!(browser.text("#v-steps"), "as measured");
    browser.run("document.querySelector('#s-steps').click()");
    assert_eq!(browser.text("#v-steps"), "40.0 ms");
    let last = "return document.querySelector('#ticks span:last-child').textContent";
    let end = browser.run(last);
    let turns: u32 = sample
        .example
        .steps
        .iter()
        .zip(&sample.moves)
        .filter(|(_, moves)| **moves)
        .map(|(step, _)| step.exchange.turns)
        .sum();
    let expected = sample.example.duration + (Duration::from_millis(40) - Duration::from_micros(40)) * turns;
    assert_eq!(
        end,
        json!(model::format_duration(expected)),
        "{turns} round trips, one after another"
    );
    browser.run("document.querySelector('#presets button:nth-child(2)').click()");
    assert_eq!(browser.text("#v-steps"), "10.0 ms");
    assert_ne!(browser.run(last), end);
    browser.run("document.querySelector('#s-steps').click()");
    assert_eq!(drawing(), measured, "as it was");
    quiet(&browser);
}

#[test]
fn sliders_say_what_they_stand_at_and_show_their_focus() {
    let browser = Browser::start(1280, 900);
    let _page = open(&browser, &full());
    let said = browser.run(
        "return [...document.querySelectorAll('input[type=range]')].map((input) =>
           [input.labels.length, input.getAttribute('aria-valuetext')])",
    );
    assert_eq!(said, json!([[1, "40.0 ms"], [1, "unlimited"], [1, "1"]]));
    browser.press("#s-rtt", RIGHT);
    let outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle");
    assert_eq!(outline, json!("solid"), "who uses keys sees where they are");
    let unnamed = "return [...document.querySelectorAll('svg')].filter((svg) =>
        !svg.getAttribute('aria-label') && svg.getAttribute('aria-hidden') !== 'true').length";
    assert_eq!(browser.run(unnamed), json!(0), "every drawing is named or hidden");
    let levels = browser.run("return [...document.querySelectorAll('h1,h2,h3')].map((h) => h.tagName)");
    assert_eq!(
        levels
            .as_array()
            .expect("a list")
            .iter()
            .filter(|level| **level == "H1")
            .count(),
        1
    );
}

#[test]
fn a_phone_shows_all_of_it_without_scrolling_sideways() {
    let browser = Browser::start(360, 780);
    let mut sample = full();
    sample.outcome.statements[0].fingerprint = "x".repeat(500).into();
    sample.outcome.conditions.command_line = "y".repeat(500);
    let _page = open(&browser, &sample);
    let width = browser.run("return [document.documentElement.scrollWidth, window.innerWidth]");
    assert_eq!(width, json!([360, 360]));
    let beyond = browser.run(
        "return [...document.querySelectorAll('main *')].filter((element) =>
           !element.closest('svg') && element.getBoundingClientRect().right > 361).map((e) => e.outerHTML.slice(0, 80))",
    );
    assert_eq!(beyond, json!([]));
    let curves = "return ['wide', 'narrow'].map((c) => getComputedStyle(document.querySelector('.curve.' + c)).display)";
    assert_eq!(browser.run(curves), json!(["none", "block"]));
    quiet(&browser);
}

#[test]
fn no_width_and_no_paper_cuts_anything_off() {
    let browser = Browser::start(1280, 900);
    let _page = open(&browser, &full());
    // Narrow and wide, and around the widths at which the layout changes.
    for width in [320, 680, 681, 960, 961, 1024, 1920] {
        browser.resize(width, 900);
        assert_eq!(overhang(&browser), json!(0), "{width} wide");
    }
    // The printable width of A4 and of letter paper, in CSS pixels.
    browser.devtools("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    for width in [718, 739] {
        browser.resize(width, 900);
        assert_eq!(overhang(&browser), json!(0), "{width} wide on paper");
    }
}

/// Overflow of the page beyond its window, or of a table beyond its section.
fn overhang(browser: &Browser) -> Value {
    browser.run(
        "const tables = [...document.querySelectorAll('table')].map((table) =>
           Math.round(table.getBoundingClientRect().right - table.parentElement.getBoundingClientRect().right));
         return Math.max(document.documentElement.scrollWidth - window.innerWidth, ...tables);",
    )
}

#[test]
fn both_modes_have_contrast() {
    let browser = Browser::start(1280, 900);
    let _page = open(&browser, &full());
    let background = |mode: &str| {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": mode }] });
        browser.devtools("Emulation.setEmulatedMedia", &feature);
        for (color, least) in [
            ("text", 7.0),
            ("muted", 4.5),
            ("accent", 4.5),
            ("bad", 4.5),
            ("client", 3.0),
            ("server", 3.0),
            ("trip", 3.0),
            ("transfer", 3.0),
            ("recovery", 3.0),
            ("unknown", 3.0),
        ] {
            let contrast = browser.run(&contrast_script(color)).as_f64().expect("a number");
            assert!(contrast >= least, "{mode}: {color} on the page: {contrast:.2}");
        }
        browser.run("return getComputedStyle(document.body).backgroundColor")
    };
    assert_ne!(background("light"), background("dark"));
}

/// Contrast of a colour to its background, as defined by WCAG 2.
fn contrast_script(color: &str) -> String {
    format!(
        "const style = getComputedStyle(document.documentElement);
         const luminance = (name) => {{
           const hex = style.getPropertyValue('--' + name).trim();
           const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255)
             .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
           return 0.2126 * r + 0.7152 * g + 0.0722 * b;
         }};
         const [a, b] = [luminance('{color}'), luminance('page')];
         return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);"
    )
}

#[test]
fn without_script_curve_and_tables_are_there_and_sliders_are_not() {
    let browser = Browser::start(1280, 900);
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    let _page = open(&browser, &full());
    let visible = |selector: &str| {
        let height = browser.run(&format!(
            "return document.querySelector('{selector}').getBoundingClientRect().height"
        ));
        height.as_f64().is_some_and(|height| height > 0.0)
    };
    assert!(
        !browser
            .run("return document.documentElement.classList.contains('scripted')")
            .as_bool()
            .unwrap_or(true)
    );
    for selector in [
        ".curve.wide .line",
        ".readout",
        ".plot",
        "#prediction table",
        ".figures",
        "tbody .bar",
    ] {
        assert!(visible(selector), "{selector}");
    }
    assert!(!visible(".sliders"), "what does nothing is not shown");
    assert_eq!(browser.text("#o-duration"), shown(27.0, 40.0, None, 1));
}

#[test]
fn it_prints() {
    let browser = Browser::start(1280, 900);
    let _page = open(&browser, &full());
    let printed = browser.devtools("Page.printToPDF", &json!({}));
    let data = printed["data"].as_str().expect("a document");
    assert!(data.starts_with("JVBERi0"), "a PDF, in base 64");
    assert!(data.len() > 20_000, "{} characters", data.len());
    browser.devtools("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    let sliders = browser.run("return getComputedStyle(document.querySelector('.sliders')).display");
    assert_eq!(sliders, Value::from("none"), "paper has no sliders");
    quiet(&browser);
}

#[test]
fn hostile_names_run_nothing() {
    let browser = Browser::start(1280, 900);
    let name = "</script><img src=x onerror='window.hacked=1'>";
    let mut sample = full();
    sample.outcome.statements[1].fingerprint = name.into();
    sample.grid.predictions.iter_mut().for_each(|cell| {
        if &*cell.operation_name == "PUT /basket" {
            cell.operation_name = name.into();
        }
    });
    let _page = open(&browser, &sample);
    assert_eq!(
        browser.run("return [typeof window.hacked, document.images.length]"),
        json!(["undefined", 0])
    );
    let shown = browser.run("return document.querySelector('#s-operation').options[1].textContent");
    assert_eq!(shown, Value::from(name), "it is shown as it is");
    quiet(&browser);
}
