//! The functions of pages that are still written as text; to be removed with the last of them.

use super::{attribution, header, links, markup, notes, opening};
use crate::text::escape::printable;
use maud::{Markup, PreEscaped, Render, html};
use model::{Attribution, Conditions, LinkOutcome, Warning};
use std::fmt;
use std::io;

pub use super::opening::Opening;

/// Text from outside, escaped for element content and quoted attributes.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable(self.0).as_ref().render().0)
    }
}

pub fn statement(text: &str, out: &mut String) {
    out.push_str(&markup::harmless(markup::statement(text)).0);
}

pub fn small_print(text: &str, out: &mut String) {
    out.push_str(&markup::harmless(markup::small_print(PreEscaped(text))).0);
}

pub fn section(id: &str, heading: &str, out: &mut String) {
    let open = html! { section aria-labelledby={ "h-" (id) } { h2 id={ "h-" (id) } { (heading) } } }.0;
    out.push_str(open.trim_end_matches("</section>"));
}

pub fn table(headings: &[&str], rows: &[Vec<String>], out: &mut String) {
    let rows: Vec<Vec<_>> = rows
        .iter()
        .map(|row| row.iter().map(PreEscaped).collect())
        .collect();
    out.push_str(&markup::harmless(opening::table(headings, &rows)).0);
}

pub fn name_cell(name: &str) -> String {
    Escaped(&opening::name_cell(name)).to_string()
}

pub fn bar(attribution: &Attribution, out: &mut String) {
    out.push_str(&markup::harmless(attribution::bar(attribution)).0);
}

pub fn labels(attribution: &Attribution, operations: u64, client: &str, out: &mut String) {
    out.push_str(&markup::harmless(attribution::labels(attribution, operations, client)).0);
}

pub fn links_section(links: &[LinkOutcome], out: &mut String) {
    out.push_str(&markup::harmless(links::section(links)).0);
}

pub fn warnings(warnings: &[Warning], out: &mut String) {
    out.push_str(&markup::harmless(notes::warnings(warnings)).0);
}

pub fn begin(opening: &Opening<'_>, out: &mut String) {
    out.push_str(&frame(opening.title, opening::header(opening))[0]);
}

pub fn head(title: &str, lead: &str, out: &mut String) {
    out.push_str(&frame(title, html! { p.lead { (lead) } })[0]);
}

/// Appends warnings and conditions, and writes the page.
pub fn end(
    mut html: String,
    given: &[Warning],
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    warnings(given, &mut html);
    html.push_str(&markup::harmless(notes::conditions_of_run(conditions)).0);
    html.push_str(&frame("", Markup::default())[1]);
    out.write_all(html.as_bytes())?;
    out.flush()
}

/// Begin and end of a page.
fn frame(title: &str, header: Markup) -> [String; 2] {
    let mut page = Vec::new();
    let _ = header::write(&mut page, title, header, Vec::new(), None);
    let page = String::from_utf8_lossy(&page);
    let (begin, end) = page.rsplit_once("</main>").unwrap_or_default();
    [begin.to_owned(), format!("</main>{end}")]
}
