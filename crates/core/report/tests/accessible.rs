//! Pages of captures, labs and tuning are accessible according to axe.

mod axe;
mod sample_page;
mod samples;

use axe::Axe;
use report::html::{Page, write_advice, write_tune};
use sample_page::{full, html};
use std::io;

fn page(make: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut html = Vec::new();
    make(&mut html).expect("memory takes it");
    String::from_utf8(html).expect("a page is UTF-8")
}

#[test]
fn the_page_of_a_capture() {
    Axe::start().clean("read", &html(&full().page()));
}

#[test]
fn the_page_of_a_lab() {
    let (sample, lab) = (full(), samples::lab_of_two_legs());
    let page = Page {
        lab: Some(&lab),
        ..sample.page()
    };
    Axe::start().clean("lab", &html(&page));
}

#[test]
fn the_pages_of_tuning_and_of_advice() {
    let conditions = samples::conditions();
    let axe = Axe::start();
    axe.clean(
        "tune",
        &page(|out| write_tune(&samples::tune(), &conditions, out)),
    );
    let advice = page(|out| write_advice(&samples::advice(), &conditions, &[samples::warning()], out));
    axe.clean("advise", &advice);
}
