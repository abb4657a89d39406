//! Parts that the pages of single runs share: the answer, tables of figures, and the end.

use super::markup::{cell, cut, small_print, table_head};
use super::{header, notes};
use maud::{Markup, Render, html};
use model::{Conditions, Warning};
use std::io;

pub struct Opening<'a> {
    pub title: &'a str,
    pub lead: &'a str,
    pub answer: &'a str,
}

/// Appends warnings and conditions to the sections, and writes the page.
pub fn write(
    opening: &Opening<'_>,
    mut sections: Vec<Markup>,
    warnings: &[Warning],
    conditions: &Conditions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    sections.push(notes::warnings(warnings));
    sections.push(notes::conditions_of_run(conditions));
    header::write(out, opening.title, header(opening), sections, None)
}

pub fn header(opening: &Opening<'_>) -> Markup {
    html! {
        p.lead { (opening.lead) }
        p.answer { (cut(opening.answer, MAX_ANSWER_LEN)) }
    }
}

/// A table with row names in the first column and figures in the others. Counts the rows beyond the
/// maximum.
pub fn table(headings: &[&str], rows: &[Vec<impl Render>]) -> Markup {
    let Some((first, figures)) = headings.split_first() else {
        return Markup::default();
    };
    html! {
        table.stack {
            (table_head(first, figures))
            tbody {
                @for row in rows.iter().take(SHOWN) {
                    tr {
                        @for name in row.iter().take(1) { th scope="row" { (name) } }
                        @for (heading, figure) in figures.iter().zip(row.iter().skip(1)) { (cell(heading, figure)) }
                    }
                }
            }
        }
        @if rows.len() > SHOWN {
            (small_print(format!("And {} more: --json has all.", rows.len() - SHOWN)))
        }
    }
}

/// A name from outside, bounded.
pub fn name_cell(name: &str) -> String {
    cut(name, MAX_NAME_LEN)
}

const SHOWN: usize = 200;
const MAX_NAME_LEN: usize = 200;
const MAX_ANSWER_LEN: usize = 400;
