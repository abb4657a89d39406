//! Boxes of exchanges that are used again: made by the thread that decodes and emptied by the one that sums
//! up, each would otherwise be freed on another thread than it was allocated on, and the two would wait for
//! each other in the allocator.

use crate::pairing;
use model::Exchange;
use std::sync::{Arc, Mutex, PoisonError};

/// Boxes that are free; clones are of the same run.
#[derive(Debug, Clone, Default)]
pub struct ExchangePool(Arc<Mutex<Boxes>>);

/// It is the boxes that are kept.
type Boxes = Vec<Box<Exchange>>;

/// Boxes kept at most: as many as may be on their way between two threads.
const MAX_FREE_BOXES: usize = 8192;

/// Boxes given back at a time.
const TOGETHER: usize = 128;

impl ExchangePool {
    /// A box with `exchange` in it.
    pub(crate) fn fill(&self, exchange: Exchange) -> Box<Exchange> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(mut free) => {
                *free = exchange;
                free
            }
            None => Box::new(exchange),
        }
    }
}

/// Where boxes are emptied.
#[derive(Debug, Default)]
pub(crate) struct ExchangeRecycler {
    /// Where they are given back; `None` if nobody fills them again.
    boxes: Option<ExchangePool>,
    emptied: Boxes,
}

impl ExchangeRecycler {
    /// Returns boxes back to `boxes`.
    pub(crate) fn new(boxes: ExchangePool) -> Self {
        Self {
            boxes: Some(boxes),
            emptied: Vec::with_capacity(TOGETHER),
        }
    }

    /// What is in a box, which is given back.
    pub(crate) fn take_exchange(&mut self, mut from: Box<Exchange>) -> Exchange {
        let Some(boxes) = &self.boxes else {
            return *from;
        };
        let exchange = std::mem::replace(&mut *from, pairing::no_exchange());
        self.emptied.push(from);
        if self.emptied.len() >= TOGETHER {
            let mut free = boxes.0.lock().unwrap_or_else(PoisonError::into_inner);
            match free.len() {
                ..MAX_FREE_BOXES => free.append(&mut self.emptied),
                _ => self.emptied.clear(),
            }
        }
        exchange
    }
}
