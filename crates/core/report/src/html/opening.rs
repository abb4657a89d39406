//! Parts that the pages of single runs share: the answer, tables of figures, and the end.

use super::header;
use super::markup::{Escaped, cut, small_print};
use super::notes;
use model::{Conditions, Warning};
use std::fmt::Write;
use std::io;

/// The start of a page. All fields are escaped here.
pub struct Opening<'a> {
    pub title: &'a str,
    pub lead: &'a str,
    pub answer: &'a str,
}

pub fn begin(opening: &Opening<'_>, out: &mut String) {
    header::head(opening.title, opening.lead, out);
    let answer = cut(opening.answer, MAX_ANSWER_LEN);
    let _ = writeln!(out, "<p class=\"answer\">{}</p>\n</header>", Escaped(&answer));
}

/// Appends warnings and conditions, and writes the page.
pub fn end(
    mut html: String,
    warnings: &[Warning],
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    notes::warnings(warnings, &mut html);
    notes::conditions_of_run(conditions, &mut html);
    header::end(None, &mut html);
    out.write_all(html.as_bytes())?;
    out.flush()
}

/// `id` is not escaped.
pub fn section(id: &str, heading: &str, out: &mut String) {
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"h-{id}\">\n<h2 id=\"h-{id}\">{heading}</h2>"
    );
}

/// A table with row names in the first column and figures in the others. Neither cells (HTML) nor
/// headings are escaped. Counts the rows beyond the maximum.
pub fn table(headings: &[&str], rows: &[Vec<String>], out: &mut String) {
    let Some((first, figures)) = headings.split_first() else {
        return;
    };
    let _ = write!(
        out,
        "<table class=\"stack\">\n<thead><tr><th scope=\"col\">{first}</th>"
    );
    for heading in figures {
        let _ = write!(out, "<th scope=\"col\" class=\"n\">{heading}</th>");
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in rows.iter().take(SHOWN) {
        let mut cells = row.iter();
        let name = cells.next().map_or("", String::as_str);
        let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
        for (heading, cell) in figures.iter().zip(cells) {
            let _ = write!(out, "<td class=\"n\" data-label=\"{heading}\">{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
    let more = rows.len().saturating_sub(SHOWN);
    if more > 0 {
        small_print(&format!("And {more} more: --json has all."), out);
    }
}

/// A name from outside as a bounded, escaped table cell.
pub fn name_cell(name: &str) -> String {
    Escaped(&cut(name, MAX_NAME_LEN)).to_string()
}

const SHOWN: usize = 200;
const MAX_NAME_LEN: usize = 200;
const MAX_ANSWER_LEN: usize = 400;
