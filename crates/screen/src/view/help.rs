//! The page of keys.

use super::pen::Pen;
use crate::history::WINDOW;
use crate::look::Ink;
use crate::state::Screen;

/// Draws it from `line` up to the line before `end`.
pub(super) fn draw(screen: &Screen, pen: &mut Pen<'_>, line: u16, end: u16) {
    let sorting: Vec<String> = screen
        .table()
        .columns
        .iter()
        .map(|column| format!("{} {}", column.key, column.heading))
        .collect();
    let time = match screen.snapshot.position {
        Some(_) => (
            "arrows, PgUp PgDn",
            "1 s, 10 s back or on; Home, End: the beginning, the end".to_owned(),
        ),
        None => ("PgUp PgDn Home End", "through the rows".to_owned()),
    };
    let rates = format!(
        "rates are of the last {} s; ? or any key leaves this page",
        WINDOW.as_secs()
    );
    let lines = [
        ("1-5, Tab", "the tables".to_owned()),
        (
            "+ - 0",
            "the database further away, nearer, as measured: all columns are predicted there".to_owned(),
        ),
        ("l", "type a link: rtt=40ms rate=10mbit".to_owned()),
        ("s S", "sort by the next column, the other way round".to_owned()),
        ("or by", sorting.join(", ")),
        (
            "j k, arrows",
            "select a row, which is shown in full below; g G: the first, the last".to_owned(),
        ),
        (
            "/",
            "show only names with a text in them; Escape shows all".to_owned(),
        ),
        (
            "m M",
            "mark: figures since now, and how they differ from before; M removes it".to_owned(),
        ),
        ("space", "pause and go on".to_owned()),
        ("h", "write the HTML page".to_owned()),
        time,
        ("q, Ctrl-C", "quit".to_owned()),
        ("", rates),
    ];
    for (line, (keys, what)) in (line..end).zip(lines) {
        pen.write(2, line, keys, Ink::Heading);
        pen.write(22, line, &what, Ink::Plain);
    }
}
