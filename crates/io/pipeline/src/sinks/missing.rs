//! Counts data that a run could not see, for its warnings.

pub(crate) mod seen;

use super::{RunSink, SoFar, Window};
use crate::fact_channel::FactLosses;
use analysis::fact::Fact;
use analysis::operations::rule::Rule;
use analysis::pairing::{GIVEN_UP, NO_REPLY, REPLY_CUT};
use model::{
    ConnectionOutcome, Exchange, Protocol, RttSource, Strays, Summary, Warning, WarningKind, counted,
    format_duration,
};
use report::ReadOutcome;
use std::io;
use std::time::Duration;

pub(crate) struct MissingData {
    rule: Rule,
    counts: Missing,
}

impl MissingData {
    pub fn new(rule: Rule) -> Self {
        Self {
            rule,
            counts: Missing::default(),
        }
    }

    pub fn lost(&mut self, losses: FactLosses) {
        self.counts.losses.add(losses);
    }
}

impl RunSink for MissingData {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        match fact {
            Fact::Exchange { exchange, .. } => self.counts.exchange(exchange),
            Fact::Closed(outcome) => self.counts.connection(outcome),
            Fact::Opened { .. } | Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
        }
        Ok(())
    }

    fn so_far(&mut self, _: usize, _: &[Duration], so_far: &mut SoFar) {
        let outcome = &mut so_far.outcome;
        outcome.summary.dropped_exchanges = self.counts.losses.exchanges;
        outcome.warnings.extend(self.counts.clone().warnings());
    }

    fn end_window(&mut self, window: &mut Window) -> io::Result<()> {
        let counts = std::mem::take(&mut self.counts);
        window.totals.summary.dropped_exchanges = counts.losses.exchanges;
        window.warnings.extend(counts.warnings());
        Ok(())
    }

    fn conclude(&mut self, outcome: &mut ReadOutcome) {
        let counts = std::mem::take(&mut self.counts);
        outcome.summary.dropped_exchanges = counts.losses.exchanges;
        outcome.strays = Strays::that_matter(&outcome.operations);
        let warnings = &mut outcome.warnings;
        warnings.extend(counts.warnings());
        warnings.extend(seen::warnings(
            &outcome.summary,
            &outcome.operations,
            outcome.strays,
        ));
        warnings.extend(no_requests(self.rule, &outcome.summary));
    }
}

fn no_requests(rule: Rule, summary: &Summary) -> Option<Warning> {
    (rule == Rule::Http && summary.operations == 0 && summary.connections > 0)
        .then(|| Warning::new(WarningKind::NothingSeen, NO_REQUESTS))
}

const NO_REQUESTS: &str = "--operations http, but no answered HTTP request was seen: capture the application's HTTP port too. With a \
                           relay, name the application as a target (longwire watch http://HOST:PORT DATABASE) and send its requests \
                           there. HTTPS cannot be read. --operations auto shows the transactions and statements";

#[derive(Debug, Default, Clone)]
struct Missing {
    encrypted: u64,
    damaged: u64,
    reason: Option<String>,
    unanswered: u64,
    given_up: u64,
    cut: u64,
    /// Connections without a measured round trip, by the source of the borrowed one.
    same_hosts: u64,
    loopback: u64,
    fastest_reply: Bounded,
    losses: FactLosses,
}

#[derive(Debug, Default, Clone)]
struct Bounded {
    connections: u64,
    shortest: Option<Duration>,
    longest: Option<Duration>,
}

impl Bounded {
    fn add_rtt(&mut self, rtt: Option<Duration>) {
        self.connections += 1;
        self.shortest = [self.shortest, rtt].into_iter().flatten().min();
        self.longest = self.longest.max(rtt);
    }

    fn range(&self) -> String {
        let (shortest, longest) = (
            self.shortest.unwrap_or_default(),
            self.longest.unwrap_or_default(),
        );
        if shortest == longest {
            format_duration(longest)
        } else {
            format!("{} to {}", format_duration(shortest), format_duration(longest))
        }
    }
}

impl Missing {
    fn exchange(&mut self, exchange: &Exchange) {
        self.unanswered += u64::from(exchange.error.as_deref() == Some(NO_REPLY));
        self.given_up += u64::from(exchange.error.as_deref() == Some(GIVEN_UP));
        self.cut += u64::from(exchange.error.as_deref() == Some(REPLY_CUT));
    }

    fn connection(&mut self, outcome: &ConnectionOutcome) {
        match outcome.rtt_source {
            Some(RttSource::SameHosts) => self.same_hosts += 1,
            Some(RttSource::Loopback) => self.loopback += 1,
            Some(RttSource::FastestReply) => self.fastest_reply.add_rtt(outcome.server_side_rtt),
            Some(RttSource::Measured) | None => {}
        }
        let decoding = &outcome.decoding;
        if decoding.encrypted {
            self.encrypted += u64::from(decoding.opaque.is_some());
        } else if decoding.protocol != Protocol::Unknown
            && let Some(reason) = &decoding.opaque
        {
            self.damaged += 1;
            self.reason.get_or_insert_with(|| reason.clone());
        }
    }

    fn warnings(self) -> impl Iterator<Item = Warning> {
        let lost = [dropped(&self.losses), summed(&self.losses)];
        lost.into_iter()
            .chain(self.round_trips())
            .chain(self.statements())
            .chain(self.replies())
            .flatten()
    }

    fn round_trips(&self) -> [Option<Warning>; 3] {
        let unmeasured = |count: u64| {
            counted(
                count,
                "connection without a round-trip time of its own",
                "connections without a round-trip time of their own",
            )
        };
        let same_hosts = format!(
            "{}: that of other connections between the same hosts is taken. If the client's side is unknown it is 0, as in a capture \
             taken there",
            unmeasured(self.same_hosts)
        );
        let loopback = format!(
            "{} over loopback: round-trip time unknown, so all waiting counts as server time",
            unmeasured(self.loopback)
        );
        let bounded = format!(
            "{}: that of the fastest reply between the same hosts is taken ({}). The network's part is then the longest possible, and the \
             server's the shortest. On the client's side it is 0, as in a capture taken there. Begin the capture before a connection is \
             opened between these hosts",
            unmeasured(self.fastest_reply.connections),
            self.fastest_reply.range()
        );
        [
            when(self.same_hosts, WarningKind::RoundTripUnknown, same_hosts),
            when(self.loopback, WarningKind::RoundTripUnknown, loopback),
            when(
                self.fastest_reply.connections,
                WarningKind::RoundTripUnknown,
                bounded,
            ),
        ]
    }

    fn statements(&self) -> [Option<Warning>; 2] {
        let connections = |count: u64| counted(count, "connection", "connections");
        let encrypted = format!(
            "{} encrypted: round trips, bytes and times are counted, statements are not seen. `longwire watch` with sslmode=require in \
             its TARGET encrypts by itself and sees them. --keys opens captures of programs that wrote a key log",
            connections(self.encrypted)
        );
        let damaged = format!(
            "{} could not be decoded to the end, from there on only round trips, bytes and times are counted; the first: {}",
            connections(self.damaged),
            self.reason.as_deref().unwrap_or_default()
        );
        [
            when(self.encrypted, WarningKind::StatementsEncrypted, encrypted),
            when(self.damaged, WarningKind::StatementsNotDecoded, damaged),
        ]
    }

    fn replies(&self) -> [Option<Warning>; 3] {
        let unanswered = format!(
            "requests without a reply when their connection, or the observation, ended: {}; they are not counted",
            self.unanswered
        );
        let given_up = format!(
            "requests dropped because too many waited for a reply on their connection, or on all: {}. Later replies are assigned by a \
             guess until their client waits",
            self.given_up
        );
        let cut = format!(
            "{} off by the end of the connection (error: {REPLY_CUT}): the times are those until then, and the bytes those that came",
            counted(self.cut, "reply was cut", "replies were cut")
        );
        [
            when(self.unanswered, WarningKind::RequestsUnanswered, unanswered),
            when(self.given_up, WarningKind::RequestsUnanswered, given_up),
            when(self.cut, WarningKind::RepliesCut, cut),
        ]
    }
}

fn when(count: u64, kind: WarningKind, text: String) -> Option<Warning> {
    (count > 0).then(|| Warning::new(kind, text))
}

fn dropped(losses: &FactLosses) -> Option<Warning> {
    let FactLosses {
        exchanges,
        turns,
        starts,
        connections,
        summed: _,
    } = *losses;
    let parts = [
        (exchanges > 0).then(|| {
            let exchanges = counted(exchanges, "exchange", "exchanges");
            format!("{exchanges} with {}", counted(turns, "round trip", "round trips"))
        }),
        (starts > 0).then(|| {
            format!(
                "the beginning of {}",
                counted(starts, "HTTP request", "HTTP requests")
            )
        }),
        (connections > 0).then(|| format!("all of {}", counted(connections, "connection", "connections"))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Warning::new(
        WarningKind::ExchangesDropped,
        format!(
            "dropped because longwire did not keep up: {}. Dropped exchanges are only in the totals of their connections, and dropped \
             connections in no figure. Operations and statements have too few exchanges, and the waits for those count as the client's \
             time. Observe fewer connections at a time, or capture the traffic (tcpdump -w) and `longwire read` the capture",
            parts.join(", ")
        ),
    ))
}

fn summed(losses: &FactLosses) -> Option<Warning> {
    (losses.summed > 0).then(|| Warning::new(
        WarningKind::ExchangesDropped,
        format!(
            "longwire hardly kept up: {} counted as one with the exchange before them. Round trips, bytes, calls and times are complete, \
             but the spread of times is that of fewer, longer exchanges",
            counted(losses.summed, "pipelined exchange is", "pipelined exchanges are")
        ),
    ))
}
