use super::cell_writer::CellWriter;
use crate::history::WINDOW;
use crate::look::Ink;
use crate::state::Screen;
use report::text::escape::printable;

/// Draws from `line` to the line before `end`.
pub(super) fn draw(screen: &Screen, writer: &mut CellWriter<'_>, line: u16, end: u16) {
    let sorting: Vec<String> = screen
        .table()
        .columns
        .iter()
        .map(|column| format!("{} {}", column.key, column.heading))
        .collect();
    let time = match screen.snapshot.position {
        Some(_) => (
            "arrows, PgUp, PgDn",
            "1 s, 10 s back or on; Home, End: beginning, end".to_owned(),
        ),
        None => ("PgUp PgDn Home End", "through the rows".to_owned()),
    };
    let rates = format!(
        "rates are of the last {} s; any key leaves this page",
        WINDOW.as_secs()
    );
    let keys = [
        ("1-5, Tab", "the tables".to_owned()),
        (
            "+ - 0",
            "database further away, nearer, as measured: predicted".to_owned(),
        ),
        ("l", "type a link: rtt=40ms rate=10mbit".to_owned()),
        ("s S", "sort by the next column, the other way round".to_owned()),
        ("or by", sorting.join(", ")),
        ("j k, arrows", "select a row; g G: the first, the last".to_owned()),
        ("/", "only names with a text in them; Escape: all".to_owned()),
        (
            "m M",
            "baseline: figures since now against before; M: none".to_owned(),
        ),
        ("space", "pause and go on".to_owned()),
        ("h", "write the HTML page".to_owned()),
        time,
        ("q, Ctrl-C", "quit; Ctrl-Z: suspend, fg goes on".to_owned()),
        ("", rates),
        // The header may not have room for it.
        ("", printable(&screen.snapshot.place).into_owned()),
    ];
    let mut next = line;
    for (keys, what) in keys {
        if next >= end {
            break;
        }
        writer.write(2, next, keys, Ink::Heading);
        next += writer.paragraph(WHAT, next, &what, end.saturating_sub(next));
    }
}

/// Column of the descriptions.
const WHAT: u16 = 22;
