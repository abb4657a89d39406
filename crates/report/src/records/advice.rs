//! Records of `tunnel advise`: `advice`, `level`, `pays`.

use super::nanos;
use model::{Advice, BreakEven, LevelAdvice};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct AdviceRecord<'a> {
    source: &'a str,
    operations: u64,
    replayed: u64,
    exchanges: u64,
    turns: u64,
    request_bytes: u64,
    reply_bytes: u64,
    rtt_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_million: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_month: Option<f64>,
}

/// Effect of one level at any rate.
#[derive(Serialize)]
pub(super) struct LevelRecord<'a> {
    level: u8,
    codec: &'a str,
    request_tunnel_bytes: u64,
    reply_tunnel_bytes: u64,
    compressing_ns: u64,
    turning_back_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    noise: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pays: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    break_even_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_million: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_month: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct PaysRecord {
    level: u8,
    rate_bits_per_second: u64,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_ns: Option<i64>,
    fastest: bool,
}

impl<'a> AdviceRecord<'a> {
    pub(super) fn new(advice: &'a Advice) -> Self {
        let [request_bytes, reply_bytes] = advice.payload_bytes.into_array();
        Self {
            source: &advice.source,
            operations: advice.operations,
            replayed: advice.replayed,
            exchanges: advice.exchanges,
            turns: advice.turns,
            request_bytes,
            reply_bytes,
            rtt_ns: nanos(advice.rtt),
            span_ns: advice.span.map(nanos),
            cost_per_million: advice.cost_per_million(advice.payload()),
            cost_per_month: advice.cost_per_month(advice.payload()),
        }
    }
}

impl<'a> LevelRecord<'a> {
    pub(super) fn new(advice: &Advice, level: &'a LevelAdvice) -> Self {
        let [request_tunnel_bytes, reply_tunnel_bytes] = level.tunnel_bytes.into_array();
        let [compressing_ns, turning_back_ns] = level.processor.map(nanos);
        let (pays, rate) = match level.break_even {
            None => (None, None),
            Some(BreakEven::Never) => (Some("never"), None),
            Some(BreakEven::At(rate)) => (Some("below"), Some(rate)),
            Some(BreakEven::Above(rate)) => (Some("always"), Some(rate)),
        };
        Self {
            level: level.level,
            codec: &level.codec,
            request_tunnel_bytes,
            reply_tunnel_bytes,
            compressing_ns,
            turning_back_ns,
            noise: level.noise.map(model::Share::as_fraction),
            pays,
            break_even_bits_per_second: rate.map(model::BitRate::as_bits_per_second),
            cost_per_million: advice.cost_per_million(level.bytes()),
            cost_per_month: advice.cost_per_month(level.bytes()),
        }
    }
}

impl PaysRecord {
    pub(super) fn new(advice: &Advice, level: &LevelAdvice, rate: usize) -> Option<Self> {
        Some(Self {
            level: level.level,
            rate_bits_per_second: advice.rates.get(rate)?.as_bits_per_second(),
            duration_ns: nanos(*level.durations.get(rate)?),
            saved_ns: advice.saved_ns(level, rate).filter(|_| level.level > 0),
            fastest: advice.best(rate).is_some_and(|best| best.level == level.level),
        })
    }
}
