//! Reuses boxes of exchanges. The decoding thread allocates and the summing thread frees; without
//! reuse both contend for the allocator.

use crate::empty_exchange::no_exchange;
use model::Exchange;
use std::sync::{Arc, Mutex, PoisonError};

/// Clones share one pool of free boxes.
#[derive(Debug, Clone, Default)]
pub struct ExchangePool(Arc<Mutex<Boxes>>);

type Boxes = Vec<Box<Exchange>>;

/// The maximum in flight between two threads.
const MAX_FREE_BOXES: usize = 8192;

const TOGETHER: usize = 128;

impl ExchangePool {
    pub(crate) fn fill(&self, exchange: Exchange) -> Box<Exchange> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match free {
            Some(mut free) => {
                // An emptied one holds nothing to drop; to look would wait for the other thread's
                // cache.
                std::mem::forget(std::mem::replace(&mut *free, exchange));
                free
            }
            None => Box::new(exchange),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct ExchangeRecycler {
    /// `None` if boxes are not reused.
    boxes: Option<ExchangePool>,
    emptied: Boxes,
}

impl ExchangeRecycler {
    pub(crate) fn new(boxes: ExchangePool) -> Self {
        Self {
            boxes: Some(boxes),
            emptied: Vec::with_capacity(TOGETHER),
        }
    }

    pub(crate) fn take_exchange(&mut self, mut from: Box<Exchange>) -> Exchange {
        let Some(boxes) = &self.boxes else {
            return *from;
        };
        let exchange = std::mem::replace(&mut *from, no_exchange());
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
