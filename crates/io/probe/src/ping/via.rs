//! Measures a link from one database to another.
//!
//! The client is connected only to the source, which calls the far database and times the call with
//! its own clock. Only numbers come back, so the client's own distance is in no figure.
//!
//! A call may take several round trips. Each kind of link is called so that one round trip can be
//! timed alone, and calls are counted in these spans: see [`postgres`] and [`mariadb`].

mod error;
mod mariadb;
pub mod oracle;
mod postgres;
mod sums;

pub use error::ViaError;

use super::rows::MAX_ROWS;
use client::ErrorReply;
use client::session::{Rows, Session, SessionError, SessionOptions};
use model::{DatabaseLinkOutcome, Protocol, Sample};
use std::sync::Arc;
use std::time::Duration;
use sums::SampleSums;
use sys::StopToken;
use sys::clock::Clock;
use sys::target::Target;

#[derive(Debug, Clone)]
pub struct ViaOptions<'a> {
    pub link: &'a str,
    /// Without secrets of the source.
    pub target: Arc<str>,
    /// Without a count, it runs until stopped.
    pub count: Option<u64>,
    /// Also times calls that read this many rows, from 2 to [`MAX_ROWS`].
    pub rows: Option<u64>,
    /// From start to start, if the sample has ended by then.
    pub interval: Duration,
    pub timeout: Duration,
    pub stop: &'a StopToken,
    pub clock: Clock,
}

/// Each sample is passed to `each`: one round trip of the link, or several in sequence. Tables in
/// the source are temporary, or dropped at the end.
///
/// # Errors
/// Fails if the source has no such link, or it cannot be used. Later errors are in [`EarlyEnd`],
/// with the results until then.
pub fn run(
    source: &Target,
    options: &ViaOptions<'_>,
    each: &mut dyn FnMut(&Sample),
) -> Result<(DatabaseLinkOutcome, EarlyEnd), ViaError> {
    let protocol = source.scheme.protocol();
    if protocol == Protocol::Oracle {
        return Err(ViaError::Oracle);
    }
    if let Some(rows) = options.rows {
        check_rows(rows)?;
        if protocol != Protocol::Postgres {
            return Err(ViaError::RowsScheme);
        }
    }
    let mut session = open(source, options, options.stop)?;
    let mut database = Source {
        session: &mut session,
        timeout: options.timeout,
    };
    let link = match protocol {
        Protocol::Postgres => postgres::open(&mut database, options.link, options.rows)?,
        Protocol::Mysql => mariadb::open(&mut database, options.link)?,
        _ => {
            return Err(ViaError::Scheme {
                scheme: source.scheme.name(),
            });
        }
    };
    let mut sums = SampleSums::default();
    let first = sums
        .first(&mut database, &link)
        .and_then(|()| sums.many_rows(&mut database, &link, options));
    let measured = match &first {
        Ok(()) => sums.measure(&mut database, &link, options, each),
        Err(_) => Ok(()),
    };
    let client_rtt = database.session.kernel().and_then(|kernel| kernel.min_rtt);
    session.close();
    let left_behind = link
        .leftover
        .as_ref()
        .filter(|table| drop_table(source, options, table).is_err());
    let ended = EarlyEnd {
        by: measured.err().filter(|error| !error.is_stop()),
        left_behind: left_behind.cloned(),
    };
    first?;
    Ok((sums.outcome(link, options, client_rtt), ended))
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct EarlyEnd {
    pub by: Option<ViaError>,
    pub left_behind: Option<String>,
}

fn open<'a>(
    source: &Target,
    options: &ViaOptions<'a>,
    stop: &'a StopToken,
) -> Result<Session<'a>, SessionError> {
    let session = SessionOptions {
        timeout: options.timeout,
        clock: options.clock,
        ..SessionOptions::new(stop)
    };
    Session::open(source, session)
}

fn check_rows(rows: u64) -> Result<(), ViaError> {
    match rows {
        2..=MAX_ROWS => Ok(()),
        _ => Err(ViaError::RowCount { rows }),
    }
}

/// In a new session: the first may be broken, or left in the middle of a reply by Ctrl-C.
fn drop_table(source: &Target, options: &ViaOptions<'_>, table: &str) -> Result<(), ViaError> {
    let unstopped = StopToken::never();
    let within = ViaOptions {
        timeout: options.timeout.min(DROP_WITHIN),
        stop: &unstopped,
        ..options.clone()
    };
    let mut session = open(source, &within, &unstopped)?;
    let mut database = Source {
        session: &mut session,
        timeout: within.timeout,
    };
    database.run(&format!("drop table if exists {table}"))?;
    session.close();
    Ok(())
}

struct OpenLink {
    through: &'static str,
    /// Time to open it, if that happens once.
    connect: Option<Duration>,
    /// Stores its [`Spans`] for `read`.
    sample: String,
    /// Returns the spans as one text for [`Spans::parse`].
    read: &'static str,
    /// Reads many rows, and stores the microseconds and their number for `read`.
    rows: Option<String>,
    /// Round trips of the second span, or its surplus over the third.
    turns: u32,
    established: Established,
    /// For sources that do not reopen the link after a failed call.
    reopen: Option<String>,
    /// A table to drop at the end, since it is not temporary.
    leftover: Option<String>,
}

/// How the round trips of a call are known.
enum Established {
    /// Reported by the far server: this many statements per call, each a round trip.
    ByFarServer { statements: Option<u64>, how: String },
    /// Call time divided by the time of one round trip. `words` says what the round trips are for.
    ByDivision { words: &'static str },
}

/// The spans of one sample, by the source's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spans {
    call: Duration,
    /// Several round trips, or a call with that many more than `fewer`.
    turns: Duration,
    fewer: Option<Duration>,
    /// Only if the far server reports it.
    far: Option<Duration>,
}

impl Spans {
    /// Parses `5123 5100 - 12`: call, round trips, fewer round trips, far server's time, in
    /// microseconds, `-` if unknown.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next().map(str::parse::<f64>);
        let mut span = || next()?.ok().and_then(microseconds);
        Some(Self {
            call: span()?,
            turns: span()?,
            fewer: span(),
            far: span(),
        })
    }
}

fn microseconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count / 1e6).ok()
}

struct Source<'a, 'b> {
    session: &'a mut Session<'b>,
    timeout: Duration,
}

impl Source<'_, '_> {
    /// Fails on a server error.
    fn run(&mut self, sql: &str) -> Result<Rows, ViaError> {
        let rows = self.session.query(sql, self.timeout)?;
        match rows.reply.error.clone() {
            None => Ok(rows),
            Some(ErrorReply { code, text }) => Err(ViaError::Statement { code, text }),
        }
    }

    fn value(&mut self, sql: &str) -> Result<Option<String>, ViaError> {
        Ok(self.run(sql)?.first().map(ToOwned::to_owned))
    }

    fn column(&mut self, sql: &str) -> Result<Vec<String>, ViaError> {
        let text = |value: &Option<Vec<u8>>| {
            let value = value.as_deref().unwrap_or_default();
            String::from_utf8_lossy(value).into_owned()
        };
        let rows = self.run(sql)?.rows;
        Ok(rows.iter().filter_map(|row| row.first().map(text)).collect())
    }

    fn spans(&mut self, link: &OpenLink) -> Result<Spans, ViaError> {
        self.run(&link.sample)?;
        let text = self.value(link.read)?.unwrap_or_default();
        Spans::parse(&text).ok_or(ViaError::NoSpans)
    }
}

const DROP_WITHIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_microseconds_in_a_row() {
        let spans = Spans::parse("21754 5350.5 - 12").expect("spans");
        assert_eq!(spans.call, Duration::from_micros(21_754));
        assert_eq!(spans.turns, Duration::from_nanos(5_350_500));
        assert_eq!((spans.fewer, spans.far), (None, Some(Duration::from_micros(12))));
        assert_eq!(Spans::parse("21754 -20"), None);
        assert_eq!(Spans::parse(""), None);
    }
}
