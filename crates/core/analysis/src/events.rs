//! Statements that wait for an event instead of the server or the network.

/// Whether a statement, by its fingerprint, is answered only when an event happens: a queue's next
/// element, a message, an acknowledgement of replicas. Misleads if the queue is never empty: the
/// short server time then counts as waiting.
pub fn waits_for_event(fingerprint: &str) -> bool {
    let is_command = |(word, behind): &(&str, &str)| {
        let rest = fingerprint.strip_prefix(word);
        rest.is_some_and(|rest| (rest.is_empty() || rest.starts_with(' ')) && rest.contains(behind))
    };
    match fingerprint.as_bytes().first() {
        Some(b'B' | b'W' | b'X' | b'(') => COMMANDS.iter().any(is_command),
        _ if CALLED.iter().all(|word| !fingerprint.contains(word)) => false,
        _ => CALLS.iter().any(|call| fingerprint.contains(call)) && !fingerprint.contains("waitfor delay"),
    }
}

/// Whether a driver, not the program, sends the statement, to watch the server. Belongs to no operation.
pub fn watches_server(fingerprint: &str) -> bool {
    matches!(fingerprint, "(awaitable hello)" | "(heartbeat hello)")
}

const COMMANDS: [(&str, &str); 13] = [
    ("BLPOP", ""),
    ("BRPOP", ""),
    ("BRPOPLPUSH", ""),
    ("BLMOVE", ""),
    ("BLMPOP", ""),
    ("BZPOPMIN", ""),
    ("BZPOPMAX", ""),
    ("BZMPOP", ""),
    ("WAIT", ""),
    ("WAITAOF", ""),
    ("XREAD", " BLOCK"),
    ("XREADGROUP", " BLOCK"),
    ("(awaitable hello)", ""),
];

/// In each of [`CALLS`] is one: short words are found fastest.
const CALLED: [&str; 2] = ["waitfor", "dbms_"];

const CALLS: [&str; 5] = [
    "waitfor (",
    "waitfor(",
    "dbms_aq.dequeue",
    "dbms_alert.wait",
    "dbms_pipe.receive_message",
];

#[cfg(test)]
mod tests {
    use super::{CALLED, CALLS, waits_for_event};

    #[test]
    fn each_call_has_a_word_that_is_looked_for_first() {
        assert!(
            CALLS
                .iter()
                .all(|call| CALLED.iter().any(|word| call.contains(word)))
        );
    }

    #[test]
    fn what_waits_for_an_event() {
        for (fingerprint, waits) in [
            ("BRPOP ? ?", true),
            ("BLPOP ? ? ...", true),
            ("BLMOVE ? ? ...", true),
            ("XREAD BLOCK ? ? ...", true),
            ("XREADGROUP BLOCK ? ? ...", true),
            ("XREAD ? ? ...", false),
            ("WAIT ? ?", true),
            ("WATCH ?", false),
            ("BITCOUNT ?", false),
            ("waitfor (receive top(?) * from queue), timeout ?", true),
            ("waitfor delay ?", false),
            ("begin dbms_aq.dequeue(?, ?, ?, ?, ?); end;", true),
            ("select ?", false),
            ("(awaitable hello)", true),
            ("(heartbeat hello)", false),
            ("", false),
        ] {
            assert_eq!(waits_for_event(fingerprint), waits, "{fingerprint}");
        }
    }
}
