//! Statements that carry their parameters in one message.

use super::*;
use std::hash::RandomState;

fn run<'a>(text: &'a [u8], values: &'a [u8], sets: u32) -> Content<'a> {
    Content::Run {
        statement: Some(StatementId(3)),
        text,
        fetch_rows: Some(101),
        sets,
        values: Some(values),
    }
}

#[test]
fn reads_are_equal_by_their_parameters_and_are_fetched_by_their_number() {
    let mut conversation = Conversation::new();
    conversation.pairing = conversation.pairing.with_digests(RandomState::new());
    let fetch = Content::Fetch {
        statement: Some(StatementId(3)),
        fetch_rows: Some(7),
        fetch_bytes: None,
    };
    let find = b"find users {name}";
    let contents = [
        run(find, b"anna", 1),
        run(find, b"anna", 1),
        run(find, b"otto", 1),
        run(b"insert users", b"", 40),
        fetch,
    ];
    for (place, content) in (2..).step_by(2).zip(contents) {
        let (asked, answered) = (place * 10, place * 10 + 10);
        conversation.says(Direction::ClientToServer, Role::Request, (asked, asked), content);
        conversation.server(Role::Reply, answered);
    }
    let (exchanges, _) = conversation.finish();
    let digests: Vec<_> = exchanges[1..]
        .iter()
        .map(|exchange| exchange.asked.request_digest)
        .collect();
    assert!(digests[0].is_some() && digests[0] == digests[1] && digests[1] != digests[2]);
    assert_eq!(digests[3..], [None, None]);
    assert_eq!((exchanges[4].executions, exchanges[4].asked.sets), (40, 40));
    assert_eq!(exchanges[5].asked.fetches, 1);
    assert!(exchanges.iter().all(|exchange| exchange.asked.prepares == 0));
}
