//! Parts that the pages of single runs share: the answer, tables of figures, and the end.

use super::markup::{cut, small_print};
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

/// A table with row names in the first column. Columns of words are left-aligned. Counts the rows
/// beyond the maximum.
pub fn table(headings: &[&str], rows: &[Vec<impl Render>]) -> Markup {
    let render = |row: &Vec<_>| -> Vec<Markup> { row.iter().map(Render::render).collect() };
    let shown: Vec<Vec<Markup>> = rows.iter().take(SHOWN).map(render).collect();
    let class = |column: usize| class_of(shown.iter().filter_map(|row| row.get(column)));
    let columns: Vec<(&str, Option<&str>)> = headings
        .iter()
        .enumerate()
        .map(|(column, heading)| (*heading, (column > 0).then(|| class(column))))
        .collect();
    // A figure that names its row needs its heading where there is no head.
    let label = headings.first().filter(|_| class(0) == "n");
    html! {
        table.stack {
            thead { tr {
                @for (heading, class) in &columns { th class=[class] scope="col" { (heading) } }
            } }
            tbody {
                @for row in &shown {
                    tr {
                        @for name in row.iter().take(1) { th scope="row" data-label=[label] { (name) } }
                        @for ((heading, class), figure) in columns.iter().zip(row).skip(1) {
                            td class=[class] data-label=(heading) { (figure) }
                        }
                    }
                }
            }
        }
        @if rows.len() > SHOWN {
            (small_print(format!("And {} more: --json has all.", rows.len() - SHOWN)))
        }
    }
}

/// Of words if some cells begin with a letter and none with a digit.
fn class_of<'a>(cells: impl Iterator<Item = &'a Markup> + Clone) -> &'static str {
    let first = |cell: &Markup| {
        let mut text = &*cell.0;
        while let Some((_, rest)) = text.strip_prefix('<').and_then(|tag| tag.split_once('>')) {
            text = rest;
        }
        text.chars().next()
    };
    let begins = |of: fn(char) -> bool| cells.clone().any(|cell| first(cell).is_some_and(of));
    match begins(char::is_alphabetic) && !begins(|first| first.is_ascii_digit()) {
        false => "n",
        true if cells.clone().any(|cell| cell.0.len() > MAX_WORD_LEN) => "long",
        true => "words",
    }
}

/// A name from outside, bounded.
pub fn name_cell(name: &str) -> String {
    cut(name, MAX_NAME_LEN)
}

const SHOWN: usize = 200;
/// Longer words have a line of their own on narrow screens.
const MAX_WORD_LEN: usize = 30;
const MAX_NAME_LEN: usize = 200;
const MAX_ANSWER_LEN: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_words_and_of_figures_are_told_apart() {
        let class = |cells: &[&str]| {
            let cells: Vec<Markup> = cells.iter().map(|cell| html! { b { (cell) } }).collect();
            class_of(cells.iter())
        };
        assert_eq!(class(&["12 ms", "–", ""]), "n");
        assert_eq!(class(&["unlimited", "10 Mbit/s"]), "n");
        assert_eq!(class(&["kept", "broken", ""]), "words");
        assert_eq!(class(&["select name from authors where id = ?"]), "long");
    }
}
