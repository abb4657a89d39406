//! From one database to another, through the link that the first has to the second.
//!
//! The client is connected to the source only. It makes the source call the far database and time that by its own clock;
//! what comes back are numbers. So the client's own distance is in none of the figures, however often it is paid.
//!
//! A call may cost several turns. Each kind of link is therefore called in a way that makes one turn a span of its own, and
//! calls are counted in these spans: see the kinds, [`postgres`] and [`mariadb`].

mod error;
mod mariadb;
pub mod oracle;
mod postgres;

pub use error::ViaError;

use crate::clock::Clock;
use crate::session::{Rows, Session, SessionError, SessionOptions};
use crate::target::{Scheme, Target};
use model::{DatabaseLinkOutcome, DistributionBuilder, Sample};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct ViaOptions<'a> {
    /// Name of the link in the source database.
    pub link: &'a str,
    /// What samples are called: the source without its secrets.
    pub target: Arc<str>,
    /// Ends after so many samples; absent: when stopped.
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

/// Measures from the database of `source` through the link named in `options`. Each sample is shown to `each` as it comes: one
/// turn of the link, or several that follow each other.
///
/// Nothing is left behind in the source: what is made there is temporary, or dropped at the end.
///
/// # Errors
/// When the source has no such link, or it cannot be used. What breaks later is in [`Ended`], beside what was measured so far.
pub fn run(
    source: &Target,
    options: &ViaOptions<'_>,
    each: &mut dyn FnMut(&Sample),
) -> Result<(DatabaseLinkOutcome, Ended), ViaError> {
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
    let mut tally = Tally::default();
    let first = tally.first(&mut database, &link);
    let measured = match &first {
        Ok(()) => tally.measure(&mut database, &link, options, each),
        Err(_) => Ok(()),
    };
    let client_rtt = database.session.kernel().and_then(|kernel| kernel.min_rtt);
    session.close();
    let left_behind = link
        .leftover
        .as_ref()
        .filter(|table| drop_table(source, options, table).is_err());
    let ended = Ended {
        by: measured.err().filter(|error| !error.is_stop()),
        left_behind: left_behind.cloned(),
    };
    first?;
    Ok((tally.outcome(link, options, client_rtt), ended))
}

/// How a run ended, where not as asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ended {
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
    /// Turns that the second span has by construction, or has more than the third.
    turns: u32,
    /// How the turns of a whole call are known.
    established: Established,
    /// Statement that opens it again when a call has failed, where the source does not do that by itself.
    reopen: Option<String>,
    /// A table in the source that is not temporary.
    leftover: Option<String>,
}

/// How the turns of a whole call are known.
enum Established {
    /// The far server was asked what it had been sent: so many statements a call, each a turn.
    ByFarServer { statements: Option<u64>, how: String },
    /// By dividing the time of a call by that of a turn. What the turns are for, where they were counted so.
    ByDivision { words: &'static str },
}

/// The spans of one sample, by the source's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spans {
    /// A whole call.
    call: Duration,
    /// Several turns, or a call that has that many more than the next.
    turns: Duration,
    /// A call with fewer turns, where there is one.
    fewer: Option<Duration>,
    /// Of the turns, the far server's own time, where it told.
    far: Option<Duration>,
}

impl Spans {
    /// Reads `5123 5100 - 12`: call, turns, fewer turns, far server's time, in microseconds; `-` for what is absent.
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
            Some((code, text)) => Err(ViaError::Statement { code, text }),
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

/// What the samples came to.
#[derive(Default)]
struct Tally {
    first_call: Option<Duration>,
    calls: DistributionBuilder,
    round_trips: DistributionBuilder,
    /// Calls with fewer turns. What longer ones take beyond the median of them is turns: a single one that was held up does not
    /// make a turn look short.
    fewer: DistributionBuilder,
    least_turns: Option<Duration>,
    failed: u64,
}

impl Tally {
    /// What the source finds cold: plans, caches, its connection where it opens one by itself.
    fn first(&mut self, source: &mut Source<'_, '_>, link: &OpenLink) -> Result<(), ViaError> {
        let cold = source.spans(link)?;
        self.first_call = Some(cold.call);
        self.turns(&cold);
        Ok(())
    }

    fn measure(
        &mut self,
        source: &mut Source<'_, '_>,
        link: &OpenLink,
        options: &ViaOptions<'_>,
        each: &mut dyn FnMut(&Sample),
    ) -> Result<(), ViaError> {
        let mut due = Instant::now();
        for number in 1..=options.count.unwrap_or(u64::MAX) {
            if number > 1 {
                due = (due + options.interval).max(Instant::now());
                sleep_until(due, options.stop);
            }
            if options.stop.load(Ordering::Relaxed) {
                break;
            }
            let at = options.clock.now();
            let taken = source.spans(link);
            let (spans, turns, failure) = match taken {
                Ok(spans) => {
                    let turns = self.turns(&spans);
                    let failure = turns.is_none().then(|| LOST_IN_NOISE.to_owned());
                    (Some(spans), turns, failure)
                }
                Err(error @ ViaError::Statement { .. }) => {
                    if let Some(reopen) = &link.reopen {
                        // Where it does not work, the next call says so.
                        source.run(reopen).ok();
                    }
                    (None, None, Some(error.to_string()))
                }
                Err(error) => return Err(error),
            };
            let sample = Sample {
                number,
                target: Arc::clone(&options.target),
                at,
                intended_at: None,
                duration: turns,
                server: spans.and_then(|spans| spans.far),
                first: false,
                turns: Some(link.turns.into()),
                kernel_rtt: None,
                error: failure.map(Arc::from),
            };
            self.take(spans, &sample);
            each(&sample);
        }
        Ok(())
    }

    /// The turns of a sample, less what a call takes besides them; absent when that is nothing.
    fn turns(&mut self, spans: &Spans) -> Option<Duration> {
        self.least_turns = Some(
            self.least_turns
                .map_or(spans.turns, |least| least.min(spans.turns)),
        );
        let Some(fewer) = spans.fewer else {
            return Some(spans.turns);
        };
        self.fewer.add(fewer);
        let usual = self.fewer.percentile(50)?;
        spans.turns.checked_sub(usual).filter(|turns| !turns.is_zero())
    }

    /// The least time of a turn: from the least calls, and not from the least difference of two.
    fn least_turn(&mut self, turns: u32) -> Option<Duration> {
        let besides = self.fewer.distribution().min.unwrap_or_default();
        self.least_turns?.checked_sub(besides)?.checked_div(turns)
    }

    fn take(&mut self, spans: Option<Spans>, sample: &Sample) {
        if let Some(spans) = spans {
            self.calls.add(spans.call);
        }
        match sample.round_trip() {
            Some(round_trip) if sample.error.is_none() => self.round_trips.add(round_trip),
            _ => self.failed += 1,
        }
    }

    fn outcome(
        mut self,
        link: OpenLink,
        options: &ViaOptions<'_>,
        client_rtt: Option<Duration>,
    ) -> DatabaseLinkOutcome {
        let (calls, round_trips) = (self.calls.distribution(), self.round_trips.distribution());
        // The least of each: what comes on top is not distance, and the two do not have the same share of it.
        let turn = self.least_turn(link.turns);
        let least = calls.min.zip(turn.filter(|turn| !turn.is_zero()));
        let ratio = least.map(|(call, turn)| call.as_secs_f64() / turn.as_secs_f64());
        let (turns_per_call, calls_in_round_trips, evidence) = match link.established {
            Established::ByFarServer { statements, how } => (statements, None, how),
            Established::ByDivision { words } => {
                let (turns, how) = divide(ratio, turn, words);
                (turns, ratio, how)
            }
        };
        DatabaseLinkOutcome {
            link: options.link.into(),
            through: link.through.into(),
            connect: link.connect,
            first_call: self.first_call,
            calls,
            round_trips,
            turns_per_call,
            calls_in_round_trips,
            evidence,
            client_rtt,
            failed: self.failed,
        }
    }
}

/// Turns of a call, from its time in round trips, where that is near a whole number and the distance is what it consists of.
fn divide(ratio: Option<f64>, round_trip: Option<Duration>, words: &str) -> (Option<u64>, String) {
    let Some((ratio, round_trip)) = ratio.zip(round_trip) else {
        return (None, "nothing was measured".to_owned());
    };
    let whole = ratio.round();
    if round_trip < LEAST_TO_DIVIDE {
        let how =
            "not established: the two are so near that the servers' own time is most of a call".to_owned();
        return (None, how);
    }
    if (ratio - whole).abs() > MOST_OFF || whole < 1.0 {
        let how = format!(
            "not established: a call takes {ratio:.2} times as long as a turn, which is no whole number"
        );
        return (None, how);
    }
    let how = format!("a call takes {ratio:.2} times as long as a turn: {words}");
    (Some(whole as u64), how)
}

fn sleep_until(due: Instant, stop: &AtomicBool) {
    while let Some(left) = due.checked_duration_since(Instant::now()) {
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(left.min(LOOK_UP));
    }
}

/// How long dropping a table may take at the end.
const DROP_WITHIN: Duration = Duration::from_secs(5);
const LOOK_UP: Duration = Duration::from_millis(50);
/// Below this a call is mostly the servers' own time, and its time in turns says little.
const LEAST_TO_DIVIDE: Duration = Duration::from_millis(2);
/// How far from a whole number a call may be in turns.
const MOST_OFF: f64 = 0.3;
const LOST_IN_NOISE: &str = "the call with more turns was not slower than the one with fewer";

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

    #[test]
    fn a_short_call_that_was_held_up_does_not_make_a_turn_look_short() {
        let mut tally = Tally::default();
        let mut turns = |turns: u64, fewer: u64| {
            tally.turns(&Spans {
                call: Duration::ZERO,
                turns: Duration::from_millis(turns),
                fewer: Some(Duration::from_millis(fewer)),
                far: None,
            })
        };
        assert_eq!(turns(30, 10), Some(Duration::from_millis(20)));
        assert_eq!(turns(30, 10), Some(Duration::from_millis(20)));
        assert_eq!(turns(30, 29), Some(Duration::from_millis(20)));
        assert_eq!(tally.least_turn(4), Some(Duration::from_millis(5)));
    }

    #[test]
    fn turns_are_established_only_where_the_distance_is_most_of_a_call() {
        let millisecond = Duration::from_millis(1);
        assert_eq!(divide(Some(4.07), Some(5 * millisecond), "").0, Some(4));
        assert_eq!(divide(Some(4.5), Some(5 * millisecond), "").0, None);
        // Servers' own time has made this of 4.
        assert_eq!(divide(Some(4.78), Some(millisecond), "").0, None);
        assert_eq!(divide(None, None, "").0, None);
    }
}
