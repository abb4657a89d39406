//! Mixed traffic through a tunnel of the real binary, with every byte verified at both ends: text,
//! random and mixed bytes, resets, half-closes, slow readers, a killed far end, a stalled link.
//!
//! Without arguments it runs for a few seconds as a test. `bench/tunnel-soak.sh` transfers 10 GB.
//! Arguments are phases (`mixed`, `killed`, `slow`, `outage`, `beside`) and amounts (`plan.rs`). It
//! exits with 1 if a byte differs, a stream ends unexpectedly, or an end of the tunnel exceeds its
//! documented memory.
//!
//! Restarts itself inside namespaces with the hosts and links of `outage` and `beside`.

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
        // The group of timing tests is requested; this test prints times without checking bounds.
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
    // Both sockets of each stream are in this process.
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
