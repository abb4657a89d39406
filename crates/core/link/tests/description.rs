//! The text form describes the link, and its errors name the correction.

use link::{Error, Jitter, JitterDistribution, LinkDescription, LossShare, Outage};
use model::{BitRate, ByteCount, Direction, PerDirection};
use proptest::prelude::*;
use std::time::Duration;

fn parse(text: &str) -> Result<LinkDescription, Error> {
    text.parse()
}

fn rate(bits: u64) -> Option<BitRate> {
    BitRate::from_bits_per_second(bits)
}

#[test]
fn a_full_description_is_read() {
    let expected = LinkDescription {
        rate: PerDirection::new(rate(10_000_000), rate(2_000_000)),
        queue: Some(ByteCount::from_bytes(65_536)),
        mtu: 1400,
        ..LinkDescription::with_rtt(Duration::from_millis(40))
    };
    assert_eq!(
        parse("rtt=40ms rate=10mbit/2mbit queue=64KiB mtu=1400"),
        Ok(expected)
    );
    assert_eq!(
        parse("mtu=1400,queue=64KiB, rate=10Mbit/s/2Mbit/s rtt=0.04s"),
        Ok(expected)
    );
}

#[test]
fn what_is_left_out_is_not_limited() {
    assert_eq!(
        parse("rtt=10ms"),
        Ok(LinkDescription::with_rtt(Duration::from_millis(10)))
    );
    let link = parse("rate=450kbps").expect("valid");
    assert_eq!(
        (link.rtt, link.rate, link.mtu),
        (Duration::ZERO, PerDirection::splat(rate(3_600_000)), 1500)
    );
    assert_eq!(
        parse("rate=1Mbit/s/unlimited").map(|link| link.rate),
        Ok(PerDirection::new(rate(1_000_000), None))
    );
    assert_eq!(
        parse("rate=unlimited/1Mbit/s").map(|link| link.rate),
        Ok(PerDirection::new(None, rate(1_000_000)))
    );
}

#[test]
fn impairments_are_read() {
    let link = parse("rtt=40ms rate=10mbit burst=32KiB loss=0.1% jitter=2ms:normal outage=2s@10s/60s seed=7");
    let link = link.expect("valid");
    assert_eq!(link.burst, Some(ByteCount::from_bytes(32_768)));
    assert_eq!(link.loss, LossShare::from_parts_per_billion(1_000_000));
    let jitter = Jitter {
        size: Duration::from_millis(2),
        distribution: JitterDistribution::Normal,
    };
    assert_eq!((link.jitter, link.seed), (Some(jitter), 7));
    let outage = Outage {
        lasts: Duration::from_secs(2),
        after: Duration::from_secs(10),
        every: Some(Duration::from_secs(60)),
    };
    assert_eq!(link.outage, Some(outage));
}

#[test]
fn the_way_of_tc_is_read() {
    let as_tc = parse("delay 20ms 2ms loss 0.1% rate 10mbit");
    assert_eq!(as_tc, parse("rtt=40ms jitter=2ms loss=0.1% rate=10mbit"));
    assert_eq!(parse("delay=20ms"), parse("rtt=40ms"));
    assert!(matches!(parse("delay"), Err(Error::NotASetting { .. })));
}

#[test]
fn whole_commands_of_tc_are_read() {
    for (tc, link) in [
        (
            "tc qdisc add dev eth0 root netem delay 20ms 2ms distribution normal loss random 0.1%",
            "rtt=40ms jitter=2ms:normal loss=0.1%",
        ),
        (
            "netem delay 20ms rate 10mbit -14 seed 7",
            "rtt=40ms rate=10mbit seed=7",
        ),
        // A limit of tbf holds the burst too.
        (
            "tc qdisc add dev eth0 root handle 1: netem delay 5ms; tc qdisc add dev eth0 parent 1: handle 2: \
             tbf rate 10mbit burst 32kb limit 96kb",
            "rtt=10ms rate=10mbit burst=32KiB queue=64KiB",
        ),
        (
            "tbf rate 8mbit burst 32kbit latency 50ms",
            "rate=8mbit burst=4KiB queue=50000B",
        ),
    ] {
        assert_eq!(parse(tc), parse(link), "{tc}");
        assert!(parse(tc).is_ok(), "{tc}");
    }
    for (tc, word) in [
        ("netem delay 20ms limit 1000", "limit"),
        ("netem delay 20ms 2ms 25%", "25%"),
        ("netem duplicate 1%", "duplicate"),
        ("tbf rate 1mbit burst 5kb peakrate 2mbit", "peakrate"),
        ("tc qdisc add dev eth0 root fq netem delay 1ms", "fq"),
    ] {
        let expected = Err(Error::NotALink {
            word: word.to_owned(),
        });
        assert_eq!(parse(tc), expected, "{tc}");
    }
    assert!(matches!(parse("netem delay"), Err(Error::NotASetting { .. })));
    assert!(matches!(
        parse("tbf rate 1mbit burst 5x"),
        Err(Error::OutOfRange { .. })
    ));
}

#[test]
fn a_link_is_written_as_commands_of_tc() {
    let commands = |link: &str| parse(link).unwrap().tc_commands("eth0");
    assert_eq!(
        commands("rtt=40ms jitter=2ms:normal loss=0.1% rate=10mbit/2mbit").unwrap().into_array(),
        ["10mbit", "2mbit"].map(|rate| vec![format!(
            "tc qdisc add dev eth0 root handle 1: netem limit 1000000 delay 20ms 2ms distribution normal loss \
             random 0.1% rate {rate} -14"
        )])
    );
    assert_eq!(
        commands("rtt=40ms rate=10mbit burst=32KiB queue=64KiB")
            .unwrap()
            .into_array()[0],
        [
            "tc qdisc add dev eth0 root handle 1: netem limit 1000000 delay 20ms",
            "tc qdisc add dev eth0 parent 1: handle 2: tbf rate 10mbit burst 32768 limit 98304"
        ]
    );
    for link in [
        "40ms",
        "rtt=3ms jitter=1ms loss=1% rate=5mbit",
        "rtt=3ms loss=1% rate=5mbit seed=7",
        "rtt=40ms jitter=2ms:normal",
        "rtt=40ms rate=10mbit burst=32KiB queue=64KiB",
    ] {
        let [to_server, _] = commands(link).unwrap().into_array();
        assert_eq!(parse(&to_server.join("; ")), parse(link), "{to_server:?}");
    }
    assert_eq!(
        commands("rtt=1ms outage=2s@10s"),
        Err(Error::NotInTc { setting: "outage" })
    );
}

#[test]
fn errors_say_what_and_what_next() {
    let cases = [
        (
            "",
            "the link is empty: give at least its round-trip time, such as rtt=40ms",
        ),
        (
            "40",
            "'40' is not a link setting: write key=value, such as rtt=40ms rate=10mbit",
        ),
        (
            "latency=40ms",
            "'latency' is not a link setting: known are rtt, rate, burst, queue, loss, jitter, outage, seed and mtu",
        ),
        (
            "rtt=1ms loss=100%",
            "loss=100% is out of range: a loss is above 0% and below 100%, such as 0.1%",
        ),
        (
            "rtt=1ms jitter=2ms",
            "jitter= is more than the one-way travel time (500us): make it smaller, or rtt= larger, or write \
             jitter=...:normal, which is cut at zero",
        ),
        (
            "outage=2s@10s/1s",
            "outage=2s@10s/1s is out of range: write how long, from when, and how often, such as 2s@10s or \
             2s@10s/60s",
        ),
        (
            "seed=-1",
            "seed=-1 is out of range: a seed is a whole number from 0 on",
        ),
        ("rtt=1ms rtt=2ms", "rtt= is given twice: give it once"),
        (
            "rtt=40",
            "rtt=: '40' is not a duration: give a number with its unit: ns, us, ms, s, min or h, such as 40ms",
        ),
        (
            "rtt=2h",
            "rtt=2h is out of range: a round-trip time is at most 1h",
        ),
        (
            "rtt=1ms mtu=100",
            "mtu=100 is out of range: an mtu is between 576 and 65535 bytes, without a unit",
        ),
        (
            "rate=1mbit queue=10B",
            "queue=10B is out of range: a queue holds between 1500B and 1024GiB",
        ),
        (
            "rtt=1ms queue=64KiB",
            "queue= without rate= has no effect, because a link without a limit never queues: add rate=10mbit",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(
            parse(text).map_err(|error| error.to_string()),
            Err(message.to_owned()),
            "{text}"
        );
    }
}

#[test]
fn the_two_ways_sum_to_the_round_trip() {
    let link = LinkDescription::with_rtt(Duration::from_nanos(7));
    let ways = link.one_way(Direction::ClientToServer) + link.one_way(Direction::ServerToClient);
    assert_eq!(ways, link.rtt);
}

fn any_rate() -> impl Strategy<Value = Option<BitRate>> {
    prop_oneof![
        Just(None),
        (1..=1_000_000_000_000_u64).prop_map(BitRate::from_bits_per_second),
        (
            1..=1_000_u64,
            prop::sample::select(vec![1_000, 1_000_000, 1_000_000_000])
        )
            .prop_map(|(number, unit)| BitRate::from_bits_per_second(number * unit)),
    ]
}

fn any_span(most: u64) -> impl Strategy<Value = Duration> {
    (1..=most).prop_map(Duration::from_nanos)
}

fn any_outage() -> impl Strategy<Value = Outage> {
    (
        any_span(10_000_000_000),
        any_span(10_000_000_000),
        prop::option::of(any_span(10_000_000_000)),
    )
        .prop_map(|(lasts, after, pause)| Outage {
            lasts,
            after,
            every: pause.map(|pause| lasts + pause),
        })
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    (any_span(10_000_000_000), any::<bool>()).prop_map(|(size, normal)| Jitter {
        size,
        distribution: if normal {
            JitterDistribution::Normal
        } else {
            JitterDistribution::Uniform
        },
    })
}

fn any_link() -> impl Strategy<Value = LinkDescription> {
    let sizes = (
        prop::option::of(1..=1_u64 << 40),
        prop::option::of(1_500..=1_u64 << 40),
        576..=u16::MAX,
    );
    let impairments = (
        prop::option::of(1..1_000_000_000_u32),
        prop::option::of(any_jitter()),
        prop::option::of(any_outage()),
        any::<u64>(),
    );
    (
        0..=3_600_000_000_000_u64,
        [any_rate(), any_rate()],
        sizes,
        impairments,
    )
        .prop_map(|(rtt, rate, (burst, queue, mtu), (loss, jitter, outage, seed))| {
            let limited = rate != [None, None];
            let rtt = Duration::from_nanos(rtt);
            let possible =
                |jitter: &Jitter| jitter.distribution == JitterDistribution::Normal || jitter.size <= rtt / 2;
            let [to_server, to_client] = rate;
            LinkDescription {
                rtt,
                rate: PerDirection::new(to_server, to_client),
                burst: burst.filter(|_| limited).map(ByteCount::from_bytes),
                queue: queue.filter(|_| limited).map(ByteCount::from_bytes),
                loss: loss.and_then(LossShare::from_parts_per_billion),
                jitter: jitter.filter(possible),
                outage,
                seed,
                mtu,
            }
        })
}

proptest! {
    #[test]
    fn a_link_shown_and_read_is_the_same_link(link in any_link()) {
        prop_assert_eq!(parse(&link.to_string()), Ok(link), "{}", link);
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = parse(&text);
    }

    #[test]
    fn no_setting_makes_it_panic(key in "(rtt|rate|burst|queue|loss|jitter|outage|seed|mtu|delay)", value in "\\PC{0,12}") {
        let _ = parse(&format!("{key}={value}"));
    }
}
