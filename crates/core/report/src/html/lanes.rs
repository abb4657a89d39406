//! Timing of each step's parts, as its client saw them; and all steps by connection.

use super::markup::{cut, small_print, time};
use maud::{Markup, html};
use model::{ConnectionId, ConnectionOutcome, Operation, OperationStep, Step};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bytes were in transit.
    Network,
    Server,
    /// The server waited for its calls, or an earlier reply was still arriving.
    Waiting,
    Unknown,
}

impl Kind {
    pub const fn class(self) -> &'static str {
        match self {
            Self::Network => "trip",
            Self::Server => "server",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
        }
    }
}

/// A stretch of a step, in nanoseconds since the operation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub kind: Kind,
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// The request left the client.
    pub from: u64,
    /// The last byte of the request was sent.
    pub sent: u64,
    /// The request reached the server.
    pub arrived: u64,
    /// The reply reached the client.
    pub to: u64,
    pub pieces: Vec<Piece>,
}

/// Times of a step as the client saw them: those of the observation point, extended by half a round
/// trip on either side.
pub fn timed(operation: &Operation, step: &OperationStep) -> Timed {
    let mut pieces = Vec::new();
    for part in step.exchange.steps() {
        part_pieces(operation, part, &mut pieces);
    }
    let first = &step.exchange.first;
    let clock = Clock::new(operation, first);
    let from = clock.at_client(first.request_started.as_nanos(), ArrowDirection::ToServer);
    let to = pieces.last().map_or(from, |piece| piece.to);
    Timed {
        from,
        sent: clock.at_client(first.request_ended.as_nanos(), ArrowDirection::ToServer),
        arrived: clock.at_server(first.request_ended.as_nanos(), ArrowDirection::ToServer),
        to,
        pieces,
    }
}

fn part_pieces(operation: &Operation, part: &Step, pieces: &mut Vec<Piece>) {
    let clock = Clock::new(operation, part);
    let from = clock.at_client(part.request_started.as_nanos(), ArrowDirection::ToServer);
    let arrived = clock
        .at_server(part.request_ended.as_nanos(), ArrowDirection::ToServer)
        .max(from);
    let mut add = |kind, from: u64, to: u64| {
        if to > from {
            pieces.push(Piece { kind, from, to });
        }
    };
    add(Kind::Network, from, arrived);
    let Some(started) = part.reply_started else { return };
    let ended = part.reply_ended.unwrap_or(started);
    let left = clock
        .at_server(started.as_nanos(), ArrowDirection::ToClient)
        .max(arrived);
    let to = clock
        .at_client(ended.as_nanos(), ArrowDirection::ToClient)
        .max(left);
    if part.server_side_rtt.is_none() {
        add(Kind::Unknown, arrived, left);
        add(Kind::Network, left, to);
        return;
    }
    let inside = nanos(part.server_inside_reply.min(part.server));
    let before = nanos(part.server) - inside;
    let computing = left.saturating_sub(before).max(arrived);
    // The position of server time within the reply is unknown, so it is drawn at the start.
    let computed = left.saturating_add(inside).min(to);
    add(Kind::Waiting, arrived, computing);
    add(Kind::Server, computing, computed);
    add(Kind::Network, computed, to);
}

/// Converts times of the observation point to times at either end of the path.
struct Clock {
    begin: i128,
    duration: u64,
    client_half: i128,
    server_half: i128,
}

#[derive(Clone, Copy)]
enum ArrowDirection {
    ToServer,
    ToClient,
}

impl Clock {
    fn new(operation: &Operation, part: &Step) -> Self {
        let half = |rtt: Option<Duration>| i128::from(nanos(rtt.unwrap_or_default()) / 2);
        Self {
            begin: i128::from(operation.at.as_nanos()),
            duration: nanos(operation.duration),
            client_half: half(part.client_side_rtt),
            server_half: half(part.server_side_rtt),
        }
    }

    fn at_client(&self, at: u64, direction: ArrowDirection) -> u64 {
        match direction {
            ArrowDirection::ToServer => self.within(i128::from(at) - self.client_half),
            ArrowDirection::ToClient => self.within(i128::from(at) + self.client_half),
        }
    }

    fn at_server(&self, at: u64, direction: ArrowDirection) -> u64 {
        match direction {
            ArrowDirection::ToServer => self.within(i128::from(at) + self.server_half),
            ArrowDirection::ToClient => self.within(i128::from(at) - self.server_half),
        }
    }

    fn within(&self, at: i128) -> u64 {
        u64::try_from((at - self.begin).max(0))
            .unwrap_or(u64::MAX)
            .min(self.duration)
    }
}

/// Connections of an operation in order of first use.
pub struct Lanes {
    places: HashMap<ConnectionId, usize>,
    names: Vec<String>,
}

impl Lanes {
    /// Connections are named after their servers where these are known.
    pub fn new(operation: &Operation, connections: &[ConnectionOutcome]) -> Self {
        let servers: HashMap<ConnectionId, String> = connections
            .iter()
            .map(|connection| (connection.id, connection.server.to_string()))
            .collect();
        let mut lanes = Self {
            places: HashMap::new(),
            names: Vec::new(),
        };
        for step in &operation.steps {
            let id = step.exchange.connection;
            if lanes.places.contains_key(&id) {
                continue;
            }
            lanes.places.insert(id, lanes.names.len());
            let protocol = step.protocol.name();
            lanes.names.push(match servers.get(&id) {
                Some(server) => format!("{protocol} to {server}"),
                None => format!("{protocol}, connection {id}"),
            });
        }
        lanes
    }

    pub fn count(&self) -> usize {
        self.names.len()
    }

    pub fn lane_of(&self, step: &OperationStep) -> usize {
        self.places
            .get(&step.exchange.connection)
            .copied()
            .unwrap_or_default()
    }

    pub fn name(&self, place: usize) -> &str {
        self.names.get(place).map_or("", String::as_str)
    }

    pub fn draw(&self, operation: &Operation) -> Markup {
        let shown = self.names.len().min(SHOWN);
        let mut lanes = vec![Strip::new(nanos(operation.duration)); shown];
        for step in &operation.steps {
            if let Some(strip) = lanes.get_mut(self.lane_of(step)) {
                timed(operation, step)
                    .pieces
                    .into_iter()
                    .for_each(|piece| strip.cover(piece));
            }
        }
        html! {
            p.axis { "connection, over the " (time(operation.duration)) " of the operation" }
            ol.lanes {
                @for (place, strip) in lanes.iter().enumerate() {
                    li {
                        span.lane-name { i.tag { (place + 1) } (cut(self.name(place), MAX_NAME_LEN)) }
                        svg.bar viewBox={ "0 0 " (BINS) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                            (strip.draw(BINS as f64, 0, 10))
                        }
                    }
                }
            }
            @if self.names.len() > shown {
                (small_print(format!("And {} more connections.", self.names.len() - shown)))
            }
        }
    }
}

/// A stretch of time in [`BINS`] bins, each drawn as the kind that covers most of it: any number of
/// pieces in bounded size.
#[derive(Debug, Clone)]
pub struct Strip {
    duration: u64,
    bins: Vec<[u64; 4]>,
}

impl Strip {
    pub fn new(duration: u64) -> Self {
        Self {
            duration,
            bins: vec![[0; 4]; BINS],
        }
    }

    pub fn cover(&mut self, piece: Piece) {
        let width = self.duration.div_ceil(BINS as u64).max(1);
        let last = BINS - 1;
        let first = usize::try_from(piece.from / width).unwrap_or(last).min(last);
        let end = usize::try_from(piece.to / width).unwrap_or(last).min(last);
        for (index, bin) in self.bins.iter_mut().enumerate().take(end + 1).skip(first) {
            let from = index as u64 * width;
            let to = piece.to.min(from.saturating_add(width));
            bin[piece.kind as usize] += to.saturating_sub(piece.from.max(from));
        }
    }

    /// Draws one path per kind.
    pub fn draw(&self, width: f64, top: usize, height: usize) -> Markup {
        let mut paths = [const { String::new() }; KINDS.len()];
        let scale = width / BINS as f64;
        for (kind, bin, bins) in self.runs() {
            let (from, long) = (bin as f64 * scale, bins as f64 * scale);
            let _ = write!(
                paths[kind as usize],
                "M{from:.1} {top}h{long:.1}v{height}h-{long:.1}z"
            );
        }
        html! {
            @for (kind, path) in KINDS.iter().zip(&paths).filter(|(_, path)| !path.is_empty()) {
                path class={ "p-" (kind.class()) } d=(path) {}
            }
        }
    }

    /// Runs of bins of the same kind: kind, first bin, count. A kind that covers less than half a
    /// bin is carried to the next bin, so that the painted area is right.
    fn runs(&self) -> Vec<(Kind, usize, usize)> {
        let width = i128::from(self.duration.div_ceil(BINS as u64).max(1));
        let mut carried = [0_i128; KINDS.len()];
        let mut runs: Vec<(Kind, usize, usize)> = Vec::new();
        for (index, bin) in self.bins.iter().enumerate() {
            carried
                .iter_mut()
                .zip(bin)
                .for_each(|(carried, covered)| *carried += i128::from(*covered));
            if carried.iter().sum::<i128>() * 2 < width {
                continue;
            }
            let Some(kind) = KINDS.into_iter().max_by_key(|kind| carried[*kind as usize]) else {
                continue;
            };
            carried[kind as usize] -= width;
            match runs.last_mut() {
                Some((last, from, bins)) if *last == kind && *from + *bins == index => *bins += 1,
                _ => runs.push((kind, index, 1)),
            }
        }
        runs
    }
}

const KINDS: [Kind; 4] = [Kind::Network, Kind::Server, Kind::Waiting, Kind::Unknown];

/// Saturates at 64 bits.
pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

const BINS: usize = 400;
const SHOWN: usize = 12;
const MAX_NAME_LEN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_paints_as_much_as_there_was() {
        // Every bin: a quarter server, a quarter network.
        let width = 100_u64;
        let mut strip = Strip::new(width * BINS as u64);
        for bin in 0..BINS as u64 {
            let from = bin * width;
            strip.cover(Piece {
                kind: Kind::Network,
                from,
                to: from + 25,
            });
            strip.cover(Piece {
                kind: Kind::Server,
                from: from + 25,
                to: from + 50,
            });
        }
        let painted = |wanted| -> usize {
            strip
                .runs()
                .iter()
                .filter(|(kind, ..)| *kind == wanted)
                .map(|(_, _, bins)| bins)
                .sum()
        };
        let quarter = BINS / 4;
        assert!(
            painted(Kind::Network).abs_diff(quarter) <= 1,
            "{:?}",
            strip.runs()
        );
        assert!(painted(Kind::Server).abs_diff(quarter) <= 1, "{:?}", strip.runs());
    }

    #[test]
    fn pieces_beyond_the_end_are_cut_there() {
        let mut strip = Strip::new(0);
        strip.cover(Piece {
            kind: Kind::Server,
            from: 5,
            to: u64::MAX,
        });
        assert!(strip.runs().len() <= 1);
    }
}
