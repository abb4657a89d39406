//! Bounds of an exchange's server time.

use super::*;

fn ms(count: f64) -> Duration {
    Duration::from_secs_f64(count / 1e3)
}

fn range(exchange: &Exchange) -> [Duration; 2] {
    exchange.first.server_margin.around(exchange.first.server)
}

fn shown(conversation: &mut Conversation, round_trips: &[f64]) {
    for rtt in round_trips {
        conversation.pairing.round_trip(at(12), Side::Server, ms(*rtt));
    }
}

#[test]
fn one_round_trip_shows_little_of_the_next() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 33);
    let (exchanges, _) = conversation.finish();
    // A handshake of 8 ms: anything within half of it and 50 us.
    assert_eq!(range(&exchanges[1]), [ms(0.95), ms(9.05)]);
}

#[test]
fn the_reply_less_the_longest_and_the_shortest_round_trip_bound_the_server() {
    let mut conversation = Conversation::new();
    shown(&mut conversation, &[9.0, 8.5]);
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 33);
    let (exchanges, _) = conversation.finish();
    // Three from 8 to 9 ms: the next one lies between 7 and 10.
    assert_eq!(exchanges[1].first.server, ms(5.0));
    assert_eq!(range(&exchanges[1]), [ms(3.0), ms(6.0)]);
}

#[test]
fn connections_of_a_run_show_each_other_how_round_trips_vary() {
    let paths = Paths::default();
    let mut other = Conversation::new();
    other.pairing = other.pairing.with_paths(&paths);
    shown(&mut other, &[9.0, 8.5, 8.0]);
    let mut conversation = Conversation::new();
    conversation.pairing = conversation.pairing.with_paths(&paths);
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 33);
    let (exchanges, _) = conversation.finish();
    assert_eq!(range(&exchanges[1]), [ms(3.0), ms(6.0)]);
}

#[test]
fn a_request_that_was_acknowledged_before_its_reply_shows_its_own_round_trip() {
    let mut conversation = Conversation::new();
    shown(&mut conversation, &[9.0, 8.5]);
    conversation.client(Role::Request, 20);
    conversation.pairing.round_trip(at(29), Side::Server, ms(9.0));
    conversation.server(Role::Reply, 33);
    let (exchanges, _) = conversation.finish();
    // Four samples: 7.33 to 9.67 ms. This one took 9 ms, and each way varies by half as much: 7.83
    // to 9.67.
    let [shortest, longest] = range(&exchanges[1]);
    assert!(shortest.abs_diff(ms(3.333)) < ms(0.001), "{shortest:?}");
    assert!(longest.abs_diff(ms(5.167)) < ms(0.001), "{longest:?}");
}

#[test]
fn what_a_kernel_reports_again_is_no_further_sample() {
    let mut conversation = Conversation::new();
    shown(&mut conversation, &[8.0; 30]);
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 33);
    let (exchanges, _) = conversation.finish();
    assert_eq!(range(&exchanges[1]), [ms(0.95), ms(9.05)]);
}

#[test]
fn behind_another_reply_no_round_trip_matters() {
    let mut conversation = Conversation::new();
    conversation.client(Role::Request, 20);
    conversation.client(Role::Request, 20);
    conversation.server(Role::Reply, 40);
    conversation.server(Role::Reply, 45);
    let (exchanges, _) = conversation.finish();
    assert_eq!(range(&exchanges[2]), [ms(5.0); 2]);
}
