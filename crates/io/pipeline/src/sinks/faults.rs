//! Faults of outputs: reported at once in a run that continues without them, otherwise at its end.

use crate::output_health::OutputHealth;
use anyhow::Result;
use std::io;

pub(super) struct Faults {
    /// Of a run that survives the loss of outputs.
    health: Option<OutputHealth>,
    first: Option<io::Error>,
}

impl Faults {
    pub fn new(health: Option<OutputHealth>) -> Self {
        Self { health, first: None }
    }

    pub fn report(&mut self, output: Option<&str>, fault: io::Error) {
        match &self.health {
            Some(health) => health.gave_up(output.unwrap_or("an output is"), fault),
            None => {
                self.first.get_or_insert(fault);
            }
        }
    }

    pub fn end_the_run(&self) -> bool {
        self.first.is_some()
    }

    pub fn finish(self) -> Result<()> {
        match self.first {
            Some(fault) => Err(anyhow::Error::new(fault).context(NOT_WRITTEN)),
            None => Ok(()),
        }
    }
}

pub(super) const NOT_WRITTEN: &str = "could not write all records";
