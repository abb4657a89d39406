//! A dummy output that counts facts.

use super::RunSink;
use analysis::fact::Fact;
use model::{Warning, WarningKind};
use report::ReadOutcome;
use std::io;

#[derive(Default)]
pub(super) struct Toys(usize);

impl RunSink for Toys {
    fn fact(&mut self, _: &Fact) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }

    fn conclude(&mut self, outcome: &mut ReadOutcome) {
        let text = format!("{} toys", self.0);
        outcome.warnings.push(Warning::new(WarningKind::NoEffect, text));
    }
}

#[cfg(test)]
mod tests {
    use crate::aggregator::{Aggregator, AggregatorConfig};
    use analysis::fact::Fact;
    use model::{Conditions, ConnectionId, Timestamp};

    #[test]
    fn a_toy_that_was_added_counts() {
        let mut aggregator =
            Aggregator::new(&AggregatorConfig::default(), Conditions::default()).expect("an aggregator");
        for at in 1..=2 {
            aggregator.fact(Fact::Begun {
                connection: ConnectionId(0),
                at: Timestamp::from_nanos(at),
            });
        }
        let outcome = aggregator.finish(Vec::new(), None).expect("it ends");
        assert!(outcome.warnings.iter().any(|warning| warning.text == "2 toys"));
    }
}
