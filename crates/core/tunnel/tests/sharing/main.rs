//! A small statement during a large result, over the same simulated link: through one lane, and on
//! two connections without a tunnel.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod ends;

use ends::{Direct, Tunnel};
use link::LinkDescription;

/// Links, and the maximum of the time in the lane relative to that of a plain connection.
const LINKS: [(&str, f64); 4] = [
    ("rtt=40ms rate=10mbit queue=64KiB", 1.15),
    ("rtt=20ms rate=1000KB/s queue=32KiB", 1.1),
    ("rtt=10ms rate=450KB/s queue=32KiB", 1.2),
    ("rtt=40ms rate=100mbit queue=512KiB", 1.15),
];

#[test]
fn a_small_statement_hardly_waits_for_a_large_result_of_its_lane() {
    for (text, most) in LINKS {
        let link: LinkDescription = text.parse().unwrap();
        let (direct, tunnel) = (Direct::run(&link), Tunnel::run(&link));
        let what = format!("{text}: direct {direct:?}, tunnel {tunnel:?}");
        assert!(tunnel.median < direct.median.mul_f64(most), "{what}");
        assert!(tunnel.ninetieth < direct.ninetieth.mul_f64(most), "{what}");
        assert!(tunnel.rate > direct.rate * 0.98, "{what}");
    }
}
