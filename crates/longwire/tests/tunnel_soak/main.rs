//! Mixed traffic through a tunnel of the real binary, every byte of it compared at both ends: text, random
//! and mixed bytes, resets, half-closes, slow readers, a far end that is killed, a link that stops.
//!
//! Without arguments a few seconds of it, as a test. `bench/tunnel-soak.sh` runs 10 GB. Phases by name
//! (`mixed`, `killed`, `slow`, `outage`, `beside`) as arguments, amounts as `plan.rs` has them. Prints a
//! table; ends with 1 when a byte differs, a stream ends otherwise than it should, or an end of the tunnel
//! takes more memory than documented.
//!
//! Runs itself again inside namespaces, where the hosts and links of `outage` and `beside` are.

mod content;
mod course;
mod crowd;
#[path = "../relays/tunnel_clients/ends.rs"]
mod ends;
mod pace;
mod phases;
mod plan;
mod play;
mod table;

use netns::Entered;
use plan::Plan;

fn main() {
    let ignored = std::env::args().any(|word| word == "--ignored");
    if std::env::args().any(|word| word == "--list") {
        if !ignored {
            println!("{}: test", plan::ALL_PHASES);
        }
        return;
    }
    if ignored {
        // The group of timing tests is requested: times are printed here, but none is held against a bound.
        return;
    }
    let sandbox = match netns::sandbox::enter() {
        Ok(Entered::Inside(sandbox)) => sandbox,
        Ok(Entered::Finished(status)) => std::process::exit(i32::from(status)),
        Err(error) => {
            let hint = error.hint().unwrap_or_default();
            panic!("{error}; {hint}");
        }
    };
    let plan = Plan::parse(std::env::args().skip(1));
    // Each stream has a socket at its client and one at its server, both here.
    sys::listening::raise_file_limit();
    println!("{plan:?}");
    println!("{}", table::HEAD);
    let mut faults = 0;
    if plan.has("mixed") {
        for level in phases::LEVELS {
            faults += phases::mixed(&plan, level);
        }
    }
    for (name, phase) in phases::OTHERS {
        if plan.has(name) {
            faults += phase(&plan, &sandbox);
        }
    }
    println!("{faults} faults");
    std::process::exit(i32::from(faults > 0));
}
