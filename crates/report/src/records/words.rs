//! The words of records for the model's closed sets.

use super::UnknownValue;
use model::{Endpoint, Phase, Protocol, TransactionState};
use std::net::SocketAddr;

pub(super) const fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Connect => "connect",
        Phase::Tls => "tls",
        Phase::Login => "login",
        Phase::Work => "work",
        Phase::Close => "close",
    }
}

pub(super) fn phase(word: &str) -> Result<Phase, UnknownValue> {
    match word {
        "connect" => Ok(Phase::Connect),
        "tls" => Ok(Phase::Tls),
        "login" => Ok(Phase::Login),
        "work" => Ok(Phase::Work),
        "close" => Ok(Phase::Close),
        _ => Err(UnknownValue::new("phase", word)),
    }
}

pub(super) fn protocol(word: &str) -> Result<Protocol, UnknownValue> {
    const ALL: [Protocol; 5] = [
        Protocol::Postgres,
        Protocol::Mysql,
        Protocol::Http,
        Protocol::Tls,
        Protocol::Unknown,
    ];
    ALL.into_iter()
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
