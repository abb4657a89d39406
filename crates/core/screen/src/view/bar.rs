use super::cell_writer::CellWriter;
use crate::figures::Parts;
use crate::look::Ink;
use std::time::Duration;

/// Parts with colours, in drawing order.
pub(super) fn parts(parts: &Parts) -> [(&'static str, Duration, Ink); 5] {
    [
        ("client", parts.client, Ink::Client),
        ("network", parts.network, Ink::Network),
        ("server", parts.server, Ink::Server),
        ("pooler", parts.pooler, Ink::Pooler),
        ("unknown", parts.unknown, Ink::Faint),
    ]
}

/// Draws a bar of `length` columns, or none without time.
pub(super) fn draw(writer: &mut CellWriter<'_>, column: u16, line: u16, length: u16, of: &Parts) {
    let mut at = column;
    for ((_, _, ink), columns) in parts(of).into_iter().zip(lengths(of, length)) {
        let text = writer.look.block(ink).repeat(usize::from(columns));
        at = writer.write(at, line, &text, ink);
    }
}

/// Columns per part, proportional to time; the sum is `length`.
fn lengths(of: &Parts, length: u16) -> [u16; 5] {
    let total = of.total().as_nanos();
    let mut lengths = [0; 5];
    if total == 0 {
        return lengths;
    }
    let (mut sum, mut drawn) = (0, 0);
    for (place, (_, part, _)) in parts(of).into_iter().enumerate() {
        sum += part.as_nanos();
        // Rounds the end of each part, so that rounding errors do not add up.
        let end = (sum * u128::from(length) + total / 2) / total;
        let end = u16::try_from(end).unwrap_or(length).min(length);
        if let Some(columns) = lengths.get_mut(place) {
            *columns = end - drawn;
        }
        drawn = end;
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_it_is_to_be() {
        for (client, network, server) in [(1, 1, 1), (0, 5, 0), (1, 98, 1), (33, 33, 34), (1, 0, 9999)] {
            let parts = Parts {
                client: Duration::from_micros(client),
                network: Duration::from_micros(network),
                server: Duration::from_micros(server),
                ..Parts::default()
            };
            for length in [1, 8, 24, 60] {
                assert_eq!(lengths(&parts, length).iter().sum::<u16>(), length, "{parts:?}");
            }
        }
        assert_eq!(lengths(&Parts::default(), 8), [0; 5]);
    }
}
