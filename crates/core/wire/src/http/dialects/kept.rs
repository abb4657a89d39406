//! Head and beginning of the body of a request.

use super::{Dialect, Fit};

#[derive(Debug)]
pub(in crate::http) struct Kept {
    pub(in crate::http) dialect: &'static Dialect,
    pub(in crate::http) fit: Fit,
    pub(in crate::http) head: Vec<u8>,
    pub(in crate::http) body: Vec<u8>,
    pub(in crate::http) is_cut: bool,
}

impl Kept {
    pub(in crate::http) fn new(dialect: &'static Dialect, fit: Fit, head: &[u8]) -> Self {
        Self {
            dialect,
            fit,
            head: head.to_vec(),
            body: Vec::new(),
            is_cut: false,
        }
    }

    /// Adds `bytes`, the seen ones of `passed`.
    pub(in crate::http) fn add(&mut self, bytes: &[u8], passed: u64) {
        if self.is_cut {
            return;
        }
        let room = MAX_BODY - self.body.len();
        self.body.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.is_cut = bytes.len() > room || passed > bytes.len() as u64;
    }
}

const MAX_BODY: usize = 16 * 1024;
