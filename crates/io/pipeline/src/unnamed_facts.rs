//! The bytes behind a handshake of TLS may name the protocol inside: facts wait for them.

use analysis::fact::Fact;
use model::{Protocol, StageOutput};

#[derive(Debug)]
pub(crate) struct UnnamedFacts {
    is_tls: bool,
    facts: Vec<Fact>,
}

impl UnnamedFacts {
    pub(crate) fn new(protocol: Protocol) -> Self {
        Self {
            is_tls: protocol == Protocol::Tls,
            facts: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn process_fact(&mut self, fact: Fact) -> StageOutput<Fact> {
        if self.is_tls {
            self.facts.push(fact);
            return StageOutput::Stays;
        }
        StageOutput::Go(fact)
    }

    /// The bytes at hand are decoded: `protocol` is the one of all facts.
    pub(crate) fn flush(self, protocol: Protocol) -> StageOutput<Fact> {
        let mut facts = self.facts;
        for fact in &mut facts {
            if let Fact::Exchange { protocol: named, .. } = fact {
                *named = protocol;
            }
        }
        StageOutput::Released(facts)
    }
}
