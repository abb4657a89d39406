//! Rows of one statement, one packet each.
//!
//! A server fills a buffer with rows and sends it when full, so rows and packets do not correspond.
//! Here each row is requested separately, with all requests sent ahead: the server sends every row
//! alone, and the client does not wait between them. A row fills one packet exactly: the size is
//! found from received packets and confirmed by the kernel's packet count.
//!
//! Each packet is read separately, so that it has its own receive timestamp.

mod calibration;
mod error;
mod mysql;
mod postgres;
mod wire_line;

pub use error::RowsError;

use calibration::Calibrated;
use client::SqlProtocol;
use client::session::{Session, SessionOptions};
use model::{ByteCount, DistributionBuilder, RowTrain, Timestamp};
use std::time::Duration;
use sys::StopToken;
use sys::clock::Clock;
use sys::target::{Scheme, Target};
use sys::transport::Transport;
use wire_line::WireLine;

pub const MAX_ROWS: u64 = 100_000;

#[derive(Debug, Clone)]
pub struct RowsOptions<'a> {
    /// From 2 to [`MAX_ROWS`].
    pub rows: u64,
    /// Limit for opening the connection, and for each wait for bytes.
    pub timeout: Duration,
    pub stop: &'a StopToken,
    pub clock: Clock,
}

/// Fails if the protocol has no such rows, the connection is encrypted or has no packets, or the
/// server refuses.
pub fn measure(target: &Target, options: &RowsOptions<'_>) -> Result<RowTrain, RowsError> {
    let rows = options.rows;
    if !(2..=MAX_ROWS).contains(&rows) {
        return Err(RowsError::Count { rows });
    }
    let language = Language::from_scheme(target.scheme)?;
    let mut session = Session::open(
        target,
        SessionOptions {
            timeout: options.timeout,
            clock: options.clock,
            ..SessionOptions::new(options.stop)
        },
    )?;
    let round_trip = least_round_trip(&mut session, options.timeout)?;
    if session.kernel().is_none() {
        return Err(RowsError::NoPackets);
    }
    let connection = session.into_connection();
    if !matches!(connection.transport(), Transport::Plain(_)) {
        return Err(RowsError::Encrypted);
    }
    let mut line = WireLine::new(connection, options);
    let calibrated = calibration::calibrate(&mut line, language)?;
    let most = language.most_rows(calibrated.segment);
    if rows > most {
        return Err(RowsError::TooMany { rows, most });
    }
    let train = request_rows(&mut line, language, rows, calibrated.segment)?;
    let kernel = line.kernel();
    line.send_all(language.0.goodbye()).ok();
    let pause = round_trip.unwrap_or_default() / 2;
    Ok(outcome(&train, language, &calibrated, round_trip, kernel, pause))
}

fn least_round_trip(session: &mut Session<'_>, timeout: Duration) -> Result<Option<Duration>, RowsError> {
    let mut least = None;
    for _ in 0..ROUND_TRIPS {
        let duration = session.query("select 1", timeout)?.reply.duration();
        least = Some(least.map_or(duration, |least: Duration| least.min(duration)));
    }
    Ok(least)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Language(SqlProtocol);

impl Language {
    fn from_scheme(scheme: Scheme) -> Result<Self, RowsError> {
        let protocol = SqlProtocol::from_scheme(scheme).map(Self);
        protocol.ok_or(RowsError::Scheme {
            scheme: scheme.name(),
        })
    }

    fn ask_for_much(self, line: &mut WireLine<'_>) -> Result<(), RowsError> {
        match self.0 {
            SqlProtocol::Postgres => postgres::ask_for_much(line, CALIBRATION),
            SqlProtocol::Mysql => mysql::ask_for_much(line, CALIBRATION),
        }
    }

    /// Returns the request for one row of `filler` bytes.
    fn prepare(self, line: &mut WireLine<'_>, rows: u64, filler: usize) -> Result<Vec<u8>, RowsError> {
        match self.0 {
            SqlProtocol::Postgres => postgres::prepare(line, rows, filler),
            SqlProtocol::Mysql => mysql::prepare(line, rows, filler),
        }
    }

    fn finish(self, line: &mut WireLine<'_>, request: &[u8]) -> Result<(), RowsError> {
        match self.0 {
            SqlProtocol::Postgres => postgres::finish(line),
            SqlProtocol::Mysql => mysql::finish(line, request),
        }
    }

    /// Bytes of a row's packet besides the value: framing, and the end mark after the row.
    const fn overhead(self) -> usize {
        match self.0 {
            SqlProtocol::Postgres => postgres::OVERHEAD,
            SqlProtocol::Mysql => mysql::OVERHEAD,
        }
    }

    fn check(self, packet: &[u8]) -> Result<(), RowsError> {
        let is_row = match self.0 {
            SqlProtocol::Postgres => postgres::is_row(packet),
            SqlProtocol::Mysql => mysql::is_row(packet),
        };
        let found = "something else";
        is_row.then_some(()).ok_or(RowsError::OutOfStep { found })
    }

    /// MySQL and MariaDB first store all rows in a temporary table.
    fn most_rows(self, segment: usize) -> u64 {
        match self.0 {
            SqlProtocol::Postgres => MAX_ROWS,
            SqlProtocol::Mysql => MAX_ROWS.min(MAX_SERVER_BYTES / segment.max(1) as u64),
        }
    }
}

struct Train {
    sent_at: Timestamp,
    /// Arrival of each row, and whether the row before has the same timestamp.
    arrivals: Vec<(Timestamp, bool)>,
    packets: Option<u64>,
}

fn request_rows(
    line: &mut WireLine<'_>,
    language: Language,
    rows: u64,
    segment: usize,
) -> Result<Train, RowsError> {
    let filler = segment.saturating_sub(language.overhead());
    let request = language.prepare(line, rows, filler)?;
    let before = line.data_packets();
    let sent_at = line.begin_asking(&request, rows);
    let mut arrivals = Vec::with_capacity(usize::try_from(rows).unwrap_or_default());
    for _ in 0..rows {
        arrivals.push(line.read_packet(segment, language)?);
    }
    let packets = before
        .zip(line.data_packets())
        .map(|(before, now)| now.wrapping_sub(before).into());
    language.finish(line, &request)?;
    Ok(Train {
        sent_at,
        arrivals,
        packets,
    })
}

fn outcome(
    train: &Train,
    language: Language,
    calibrated: &Calibrated,
    round_trip: Option<Duration>,
    kernel: Option<client::session::KernelFigures>,
    pause: Duration,
) -> RowTrain {
    let all: Vec<Duration> = train
        .arrivals
        .windows(2)
        .filter_map(|pair| match pair {
            [(one, _), (next, _)] => Some(next.since(*one)),
            _ => None,
        })
        .collect();
    let mut gaps = DistributionBuilder::new();
    all.iter().for_each(|gap| gaps.add(*gap));
    let gaps = gaps.distribution();
    let pause = gaps.p50.map(|median| pause.max(median * 2));
    let pauses = all
        .iter()
        .filter(|gap| pause.is_some_and(|pause| !pause.is_zero() && **gap >= pause));
    let first = train.arrivals.first().map_or(train.sent_at, |(at, _)| *at);
    let last = train.arrivals.last().map_or(train.sent_at, |(at, _)| *at);
    let bytes = |count: usize| ByteCount::from_bytes(count as u64);
    RowTrain {
        rows: train.arrivals.len() as u64,
        packets: train.packets,
        segment: bytes(calibrated.segment),
        filler: bytes(calibrated.segment.saturating_sub(language.overhead())),
        largest_seen: bytes(calibrated.largest_seen),
        own_segment: kernel
            .and_then(|kernel| kernel.segment_size)
            .map(|size| ByteCount::from_bytes(size.into())),
        headers: bytes(calibrated.headers),
        corrections: calibrated.corrections,
        round_trip,
        kernel_min_rtt: kernel.and_then(|kernel| kernel.min_rtt),
        first_row: first.since(train.sent_at),
        span: last.since(first),
        pauses: pauses.count() as u64,
        gaps,
        shared_stamps: train.arrivals.iter().filter(|(_, shared)| *shared).count() as u64,
    }
}

/// Exceeds any packet, on loopback too.
const CALIBRATION: usize = 128 * 1024;
const ROUND_TRIPS: usize = 5;
/// Maximum memory used on the server.
const MAX_SERVER_BYTES: u64 = 64 << 20;
