//! Records of `tunnel advise`: `advice`, `level`, `pays`.

use model::{Advice, BitRate, BreakEven, Direction, LevelAdvice, Share};

record! {
    AdviceRecord(advice: &'a Advice) {
        source: &advice.source,
        operations: advice.operations,
        replayed: advice.replayed,
        exchanges: advice.exchanges,
        turns: advice.turns,
        request_bytes: advice.payload_bytes[Direction::ClientToServer],
        reply_bytes: advice.payload_bytes[Direction::ServerToClient],
        rtt_ns: advice.rtt,
        span_ns: advice.span,
        cost_per_million: advice.cost_per_million(advice.payload()),
        cost_per_month: advice.cost_per_month(advice.payload()),
    }
}

record! {
    /// Effect of one level at any rate.
    LevelRecord(advice: &'a Advice, level: &'a LevelAdvice) {
        level: level.level,
        codec: &level.codec,
        request_tunnel_bytes: level.tunnel_bytes[Direction::ClientToServer],
        reply_tunnel_bytes: level.tunnel_bytes[Direction::ServerToClient],
        compressing_ns: level.processor[0],
        turning_back_ns: level.processor[1],
        noise: level.noise.map(Share::as_fraction),
        pays: level.break_even.map(pays),
        break_even_bits_per_second: level.break_even.and_then(rate).map(BitRate::as_bits_per_second),
        cost_per_million: advice.cost_per_million(level.bytes()),
        cost_per_month: advice.cost_per_month(level.bytes()),
    }
}

record! {
    /// Effect of one level at the rate with this index.
    PaysRecord(advice: &'a Advice, level: &'a LevelAdvice, rate: usize) {
        level: level.level,
        rate_bits_per_second: advice.rates.get(rate).map(|rate| rate.as_bits_per_second()),
        duration_ns: level.durations.get(rate).copied(),
        saved_ns: advice.saved_ns(level, rate).filter(|_| level.level > 0),
        fastest: advice.best(rate).is_some_and(|best| best.level == level.level),
    }
}

const fn pays(break_even: BreakEven) -> &'static str {
    match break_even {
        BreakEven::Never => "never",
        BreakEven::At(_) => "below",
        BreakEven::Above(_) => "always",
    }
}

const fn rate(break_even: BreakEven) -> Option<BitRate> {
    match break_even {
        BreakEven::Never => None,
        BreakEven::At(rate) | BreakEven::Above(rate) => Some(rate),
    }
}
