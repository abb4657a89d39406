//! Keeps the end of the process's standard error.

use crate::without_values;
use std::io::Read;
use std::process::ChildStderr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    bytes: Arc<Mutex<Vec<u8>>>,
    is_over: Arc<AtomicBool>,
}

impl Tail {
    pub(super) fn follow(&self, mut stderr: ChildStderr) {
        let mut buffer = [0; 4096];
        while let Ok(count) = stderr.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            bytes.extend(buffer.iter().take(count));
            let beyond = bytes.len().saturating_sub(KEPT);
            bytes.drain(..beyond);
        }
        self.is_over.store(true, Ordering::Release);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    pub(super) fn says(&self, text: &str) -> bool {
        self.text().contains(text)
    }

    /// First kept line that is not about options, without values, after a colon; empty if there is
    /// none. Java writes the reason first and the location below.
    pub(super) fn told(&self) -> String {
        let text = self.text();
        let reason = text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("Picked up ") && !line.starts_with("at "));
        reason.map_or_else(String::new, |line| {
            format!(": {}", without_values(line.as_bytes()))
        })
    }

    fn text(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

const KEPT: usize = 8 * 1024;
