use std::time::{Duration, Instant};

/// Panics with `what` after a timeout.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Waits until `look` returns a value; panics with `what` after a timeout.
#[track_caller]
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < MAX_WAIT, "waited in vain: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Waits until a program listens on a port of 127.0.0.1, without a connection to it, which would
/// count as a request.
#[track_caller]
pub fn wait_until_listening(port: u16) {
    wait_until("the application listens", || {
        let listening = std::fs::read_to_string("/proc/net/tcp").expect("Linux has it");
        listening.contains(&format!("0100007F:{port:04X} 00000000:0000 0A"))
    });
}

pub(crate) const MAX_WAIT: Duration = Duration::from_secs(120);

const POLL_INTERVAL: Duration = Duration::from_millis(10);
