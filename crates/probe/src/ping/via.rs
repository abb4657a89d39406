//! From one database to another, through the link that the first has to the second.
//!
//! The client is connected to the source only. It makes the source call the far database and time that by its
//! own clock; only numbers come back. So the client's own distance is in none of the figures, however often
//! it is paid.
//!
//! A call may cost several round trips. Each kind of link is therefore called in a way that makes one round
//! trip a span of its own, and calls are counted in these spans: see the kinds, [`postgres`] and [`mariadb`].

mod error;
mod mariadb;
pub mod oracle;
mod postgres;
mod sums;

pub use error::ViaError;

use client::ErrorReply;
use client::session::{Rows, Session, SessionError, SessionOptions};
use model::{DatabaseLinkOutcome, Sample};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use sums::SampleSums;
use sys::clock::Clock;
use sys::target::{Scheme, Target};

/// What is requested.
#[derive(Debug, Clone)]
pub struct ViaOptions<'a> {
    /// Name of the link in the source database.
    pub link: &'a str,
    /// What samples are called: the source without its secrets.
    pub target: Arc<str>,
    /// Ends after this many samples; absent: when stopped.
    pub count: Option<u64>,
    /// From the beginning of one sample to that of the next, where that one is over by then.
    pub interval: Duration,
    /// How long one sample may take.
    pub timeout: Duration,
    /// Set to end early.
    pub stop: &'a AtomicBool,
    /// The timeline of the samples' times of day.
    pub clock: Clock,
}

/// Measures from the database of `source` through the link named in `options`. Each sample is shown to `each`
/// as it comes: one turn of the link, or several that follow each other.
///
/// Nothing is left behind in the source: what is made there is temporary, or dropped at the end.
///
/// # Errors
/// When the source has no such link, or it cannot be used. What breaks later is in [`EarlyEnd`], together
/// with what was measured so far.
pub fn run(
    source: &Target,
    options: &ViaOptions<'_>,
    each: &mut dyn FnMut(&Sample),
) -> Result<(DatabaseLinkOutcome, EarlyEnd), ViaError> {
    if matches!(source.scheme, Scheme::Oracle) {
        return Err(ViaError::Oracle);
    }
    let mut session = open(source, options, options.stop)?;
    let mut database = Source {
        session: &mut session,
        timeout: options.timeout,
    };
    let link = match source.scheme {
        Scheme::Postgres | Scheme::Kingbase => postgres::open(&mut database, options.link)?,
        Scheme::Mysql | Scheme::Mariadb => mariadb::open(&mut database, options.link)?,
        other => return Err(ViaError::Scheme { scheme: other.name() }),
    };
    let mut sums = SampleSums::default();
    let first = sums.first(&mut database, &link);
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

/// How a run ended, where not as asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EarlyEnd {
    /// What ended it before its time.
    pub by: Option<ViaError>,
    /// A table of the source that could not be dropped.
    pub left_behind: Option<String>,
}

fn open<'a>(
    source: &Target,
    options: &ViaOptions<'a>,
    stop: &'a AtomicBool,
) -> Result<Session<'a>, SessionError> {
    let session = SessionOptions {
        timeout: options.timeout,
        clock: options.clock,
        ..SessionOptions::new(stop)
    };
    Session::open(source, session)
}

/// In a session of its own: the first may have broken, or been left in the middle of a reply by Ctrl-C.
fn drop_table(source: &Target, options: &ViaOptions<'_>, table: &str) -> Result<(), ViaError> {
    let unstopped = AtomicBool::new(false);
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

/// A link that is open, and how to measure it.
struct OpenLink {
    /// What carries it.
    through: &'static str,
    /// Time to open it, where that happens once.
    connect: Option<Duration>,
    /// Statements that take one sample, and leave its [`Spans`] where `read` finds them.
    sample: String,
    /// Query whose one value is the text of the spans: see [`Spans::parse`].
    read: &'static str,
    /// Round trips that the second span has by construction, or has more than the third.
    turns: u32,
    /// How the round trips of a whole call are known.
    established: Established,
    /// Statement that opens it again when a call has failed, where the source does not do that by itself.
    reopen: Option<String>,
    /// A table in the source that is not temporary.
    leftover: Option<String>,
}

/// How the round trips of a whole call are known.
enum Established {
    /// The far server was asked what it had been sent: this many statements a call, each a round trip.
    ByFarServer { statements: Option<u64>, how: String },
    /// By dividing the time of a call by that of a round trip. What the round trips are for, where they were
    /// counted so.
    ByDivision { words: &'static str },
}

/// The spans of one sample, by the source's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spans {
    /// A whole call.
    call: Duration,
    /// Several round trips, or a call that has that many more than the next.
    turns: Duration,
    /// A call with fewer round trips, where there is one.
    fewer: Option<Duration>,
    /// Of the round trips, the far server's own time, where it reported it.
    far: Option<Duration>,
}

impl Spans {
    /// Reads `5123 5100 - 12`: call, round trips, fewer round trips, far server's time, in microseconds; `-`
    /// for what is absent.
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

/// The source database.
struct Source<'a, 'b> {
    session: &'a mut Session<'b>,
    timeout: Duration,
}

impl Source<'_, '_> {
    /// Runs one statement; an error of it is an error.
    fn run(&mut self, sql: &str) -> Result<Rows, ViaError> {
        let rows = self.session.query(sql, self.timeout)?;
        match rows.reply.error.clone() {
            None => Ok(rows),
            Some(ErrorReply { code, text }) => Err(ViaError::Statement { code, text }),
        }
    }

    /// The first value of the first row, as text.
    fn value(&mut self, sql: &str) -> Result<Option<String>, ViaError> {
        Ok(self.run(sql)?.first().map(ToOwned::to_owned))
    }

    /// The first values of all rows.
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

/// How long dropping a table may take at the end.
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
