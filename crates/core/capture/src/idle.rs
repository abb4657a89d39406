//! Time that a sender had no data to send.

use crate::half::Half;
use crate::tcp::Head;
use std::time::Duration;

/// The part of the time since `sender`'s last payload with no data in flight and room to send.
///
/// `near` is the round trip between the observation point and the sender. The first condition that
/// applies decides:
///
/// 1. `None` if this is the sender's first payload, or the receiver was not seen.
/// 2. Zero if the sender has retransmitted since its last payload: it was recovering.
/// 3. Zero if the receiver's window had no room for this payload (or a full packet of it) after the last
///    one.
/// 4. If the last payload was shorter than a full packet, the whole time, except
/// 5. zero if this payload is short too and follows, within the slack, a pure acknowledgement of all data in
///    flight reaching the sender: Nagle's algorithm (RFC 896) held it back.
/// 6. After a full packet, zero while some of it is not acknowledged: the congestion window or the rate may
///    have held the sender back.
/// 7. Otherwise the time since the acknowledgement reached the sender and its reply could have arrived
///    here, zero if that is within the slack: the acknowledgement ended the wait. `None` if `near` is
///    unknown.
///
/// Slack is an eighth of `near`, for its jitter, and 20 us for the host's network stack.
#[inline]
pub(crate) fn before(
    sender: &Half,
    receiver: &Half,
    head: &Head,
    near: Option<Duration>,
) -> Option<Duration> {
    let (sent_at, sent_length) = sender.sent?;
    if receiver.packets == 0 {
        return None;
    }
    let size = sender.full_size();
    let no_room = sender
        .room
        .is_some_and(|room| room < u64::from(head.length.min(size)));
    if no_room || sender.repeated_at > sent_at {
        return Some(Duration::ZERO);
    }
    let full = |length: u32| length >= size && length.is_multiple_of(size);
    let all_acknowledged = sender.acked >= sender.next && sender.acked_at >= sent_at;
    let since_answer = |near: Duration| {
        let span = head.at.since(sender.acked_at.after(near));
        if span <= near / 8 + HOST {
            Duration::ZERO
        } else {
            span
        }
    };
    if !full(sent_length) {
        let held_back = all_acknowledged
            && sender.acked_purely
            && !full(head.length)
            && near.is_some_and(|near| since_answer(near).is_zero());
        return Some(if held_back {
            Duration::ZERO
        } else {
            head.at.since(sent_at)
        });
    }
    if !all_acknowledged {
        return Some(Duration::ZERO);
    }
    near.map(since_answer)
}

const HOST: Duration = Duration::from_micros(20);
