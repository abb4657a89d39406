//! Legs of opening a connection, drawn to scale.

use super::escape::{columns, cut, printable};
use super::style::{Ink, Style};
use super::{counted, format_duration};
use model::{Direction, Leg, Phase};
use std::fmt::Write;
use std::time::Duration;

/// A table of legs with bars along the time, totals, and the avoidable round trips. `title` is a target without password.
pub(super) fn waterfall(title: &str, legs: &[Leg], style: &Style) -> String {
    let total: Duration = legs.iter().map(|leg| leg.duration).sum();
    let turns: u64 = legs.iter().map(|leg| leg.turns).sum();
    let mut out = String::new();
    let heading = format!(
        "Opening {}: {}, {}",
        printable(title),
        format_duration(total),
        counted(turns, "round trip")
    );
    out.push_str(&style.paint(Ink::Heading, &cut(&heading, style.columns())));
    out.push('\n');
    let shape = Shape::new(legs, total, style);
    out.push_str(&style.paint(Ink::Heading, shape.heading().trim_end()));
    out.push('\n');
    let mut began = Duration::ZERO;
    for leg in legs {
        out.push_str(&shape.row(leg, began, style));
        began += leg.duration;
    }
    out.push_str(&shape.total(legs));
    let saved: u64 = legs.iter().map(|leg| leg.saves_turns).sum();
    if saved > 0 {
        let line = format!(
            "Could be dropped: {saved} of {}, leaving {}.",
            counted(turns, "round trip"),
            turns - saved.min(turns)
        );
        out.push_str(&cut(&line, style.columns()));
        out.push('\n');
    }
    out
}

struct Shape {
    name: usize,
    width: usize,
    bar: usize,
    total: Duration,
}

impl Shape {
    fn new(legs: &[Leg], total: Duration, style: &Style) -> Self {
        let names = legs.iter().map(|leg| columns(&printable(&leg.name)));
        let room = style.columns().saturating_sub(NUMBERS).max(MIN_NAME_WIDTH);
        let name = names
            .max()
            .unwrap_or(0)
            .clamp(MIN_NAME_WIDTH, MAX_NAME_WIDTH.min(room));
        let left = style.columns().saturating_sub(name + NUMBERS);
        Self {
            name,
            width: style.columns(),
            bar: if left < MIN_BAR_WIDTH {
                0
            } else {
                left.min(MAX_BAR_WIDTH)
            },
            total,
        }
    }

    fn heading(&self) -> String {
        self.line("leg", "time", "trips", "sent", "received")
    }

    fn row(&self, leg: &Leg, began: Duration, style: &Style) -> String {
        let mut line = self.line(
            &printable(&leg.name),
            &format_duration(leg.duration),
            &leg.turns.to_string(),
            &leg.payload(Direction::ClientToServer).to_string(),
            &leg.payload(Direction::ServerToClient).to_string(),
        );
        if self.bar > 0 {
            let from = self.column_of(began);
            let to = self.column_of(began + leg.duration).max(from + 1).min(self.bar);
            let from = from.min(to - 1);
            let _ = write!(line, "  {:from$}", "");
            line.push_str(&style.paint(ink(leg), &"#".repeat(to - from)));
        }
        line.push('\n');
        line
    }

    fn total(&self, legs: &[Leg]) -> String {
        let sum = |of: fn(&Leg) -> u64| legs.iter().map(of).sum::<u64>().to_string();
        let mut line = self.line(
            "total",
            &format_duration(self.total),
            &sum(|leg| leg.turns),
            &sum(|leg| leg.payload(Direction::ClientToServer)),
            &sum(|leg| leg.payload(Direction::ServerToClient)),
        );
        line.push('\n');
        line
    }

    fn line(&self, name: &str, time: &str, turns: &str, sent: &str, received: &str) -> String {
        let name = cut(name, self.name);
        let padding = self.name - columns(&name);
        let line = format!(
            "  {name}{:padding$}  {time:>8}  {turns:>5}  {sent:>8}  {received:>8}",
            ""
        );
        cut(&line, self.width).into_owned()
    }

    fn column_of(&self, at: Duration) -> usize {
        if self.total.is_zero() {
            return 0;
        }
        (at.as_nanos() * self.bar as u128 / self.total.as_nanos()) as usize
    }
}

/// For avoidable round trips, and for the rest.
pub(super) fn remedies(legs: &[Leg], style: &Style) -> Vec<String> {
    let opening = legs
        .iter()
        .filter(|leg| leg.phase < Phase::Work)
        .map(|leg| leg.turns)
        .sum::<u64>();
    let each = by_remedy(legs).into_iter().map(|(remedy, names, saved)| {
        let line = format!(
            "{} ({}): {}",
            printable(&names.join(", ")),
            counted(saved, "round trip"),
            printable(remedy)
        );
        wrapped(&line, style.columns())
    });
    let mut parts: Vec<String> = each.collect();
    if opening > 0 {
        let line = format!(
            "A pool that keeps connections open pays these {} once.",
            counted(opening, "round trip")
        );
        parts.push(format!("{}\n", cut(&line, style.columns())));
    }
    parts
}

/// Each remedy once, with its legs and total savings.
fn by_remedy(legs: &[Leg]) -> Vec<(&str, Vec<&str>, u64)> {
    let mut found: Vec<(&str, Vec<&str>, u64)> = Vec::new();
    for leg in legs {
        let Some(remedy) = leg.remedy.as_deref() else {
            continue;
        };
        match found.iter_mut().find(|(known, ..)| *known == remedy) {
            Some((_, names, saved)) => {
                names.push(&leg.name);
                *saved += leg.saves_turns;
            }
            None => found.push((remedy, vec![&leg.name], leg.saves_turns)),
        }
    }
    found
}

/// Wraps at words and indents further lines.
fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.trim_start().split(' ') {
        if !line.is_empty() && columns(&line) + 1 + columns(word) > width {
            out.push_str(&cut(&line, width));
            out.push('\n');
            line.clear();
        }
        line.push_str(match (line.is_empty(), out.is_empty()) {
            (true, true) => "  ",
            (true, false) => "    ",
            (false, _) => " ",
        });
        line.push_str(word);
    }
    out.push_str(&cut(&line, width));
    out.push('\n');
    out
}

/// Network or client, whichever is longer.
const fn ink(leg: &Leg) -> Ink {
    if leg.turns == 0 { Ink::Client } else { Ink::Network }
}

/// Two spaces before each column: time, round trips, bytes each way, and the bar.
const NUMBERS: usize = 2 + 2 + 8 + 2 + 5 + 2 + 8 + 2 + 8 + 2;
const MIN_NAME_WIDTH: usize = 5;
const MAX_NAME_WIDTH: usize = 40;
const MIN_BAR_WIDTH: usize = 8;
const MAX_BAR_WIDTH: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::style::{Colour, Extent};
    use model::PerDirection;

    fn leg(name: &str, phase: Phase, millis: u64, turns: u64, remedy: Option<&str>) -> Leg {
        Leg {
            name: name.into(),
            phase,
            duration: Duration::from_millis(millis),
            turns,
            payload_bytes: PerDirection::new(8 * turns, turns),
            remedy: remedy.map(Into::into),
            saves_turns: u64::from(remedy.is_some()),
        }
    }

    fn legs() -> Vec<Leg> {
        vec![
            leg("dns", Phase::Connect, 2, 0, None),
            leg("tcp", Phase::Connect, 40, 1, None),
            leg(
                "tls request",
                Phase::Tls,
                40,
                1,
                Some("sslnegotiation=direct: TLS begins without asking (client and server 17 or later)"),
            ),
            leg("tls handshake", Phase::Tls, 41, 1, None),
            leg("startup", Phase::Login, 20, 1, None),
            leg("scram 1", Phase::Login, 10, 1, Some("a certificate")),
            leg("scram 2", Phase::Login, 10, 1, Some("a certificate")),
            leg("first query", Phase::Work, 40, 1, None),
        ]
    }

    #[test]
    fn legs_are_drawn_one_after_another() {
        let style = Style {
            width: 80,
            colour: Colour::Plain,
            extent: Extent::First,
        };
        assert_eq!(
            waterfall("postgres://app@db1:5432/shop", &legs(), &style) + &remedies(&legs(), &style).concat(),
            "\
Opening postgres://app@db1:5432/shop: 203 ms, 7 round trips
  leg                time  trips      sent  received
  dns             2.00 ms      0         0         0  #
  tcp             40.0 ms      1         8         1  #####
  tls request     40.0 ms      1         8         1       #####
  tls handshake   41.0 ms      1         8         1            #####
  startup         20.0 ms      1         8         1                 ###
  scram 1         10.0 ms      1         8         1                    #
  scram 2         10.0 ms      1         8         1                     #
  first query     40.0 ms      1         8         1                      ######
  total            203 ms      7        56         7
Could be dropped: 3 of 7 round trips, leaving 4.
  tls request (1 round trip): sslnegotiation=direct: TLS begins without asking
    (client and server 17 or later)
  scram 1, scram 2 (2 round trips): a certificate
A pool that keeps connections open pays these 6 round trips once.
"
        );
    }

    #[test]
    fn no_line_is_wider_than_asked() {
        for width in 40..130 {
            let style = Style {
                width,
                colour: Colour::Plain,
                extent: Extent::First,
            };
            let long = "x".repeat(200);
            let mut legs = legs();
            legs.push(leg(&long, Phase::Work, 1, 1, Some(&long)));
            let out = waterfall(&long, &legs, &style) + &remedies(&legs, &style).concat();
            for line in out.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }
}
