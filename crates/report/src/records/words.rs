//! The words of records for the model's closed sets.

use super::UnknownValue;
use model::{Endpoint, NotSeen, Phase, Protocol, RttSource, TransactionState};
use std::net::SocketAddr;

pub(super) fn phase(word: &str) -> Result<Phase, UnknownValue> {
    const ALL: [Phase; 5] = [
        Phase::Connect,
        Phase::Tls,
        Phase::Login,
        Phase::Work,
        Phase::Close,
    ];
    ALL.into_iter()
        .find(|phase| phase.name() == word)
        .ok_or_else(|| UnknownValue::new("phase", word))
}

pub(super) fn rtt_source(word: &str) -> Result<RttSource, UnknownValue> {
    RttSource::ALL
        .into_iter()
        .find(|source| source.name() == word)
        .ok_or_else(|| UnknownValue::new("rtt_source", word))
}

pub(super) fn not_seen(word: &str) -> Result<NotSeen, UnknownValue> {
    NotSeen::ALL
        .into_iter()
        .find(|reason| reason.name() == word)
        .ok_or_else(|| UnknownValue::new("not_seen", word))
}

pub(super) fn protocol(word: &str) -> Result<Protocol, UnknownValue> {
    Protocol::ALL
        .iter()
        .copied()
        .find(|protocol| protocol.name() == word)
        .ok_or_else(|| UnknownValue::new("protocol", word))
}

pub(super) const fn transaction_word(state: TransactionState) -> &'static str {
    match state {
        TransactionState::Idle => "idle",
        TransactionState::Open => "open",
        TransactionState::Failed => "failed",
    }
}

pub(super) fn transaction(word: &str) -> Result<TransactionState, UnknownValue> {
    match word {
        "idle" => Ok(TransactionState::Idle),
        "open" => Ok(TransactionState::Open),
        "failed" => Ok(TransactionState::Failed),
        _ => Err(UnknownValue::new("transaction", word)),
    }
}

pub(super) fn endpoint(key: &'static str, text: &str) -> Result<Endpoint, UnknownValue> {
    let address: SocketAddr = text.parse().map_err(|_| UnknownValue::new(key, text))?;
    Ok(Endpoint {
        address: address.ip(),
        port: address.port(),
    })
}
