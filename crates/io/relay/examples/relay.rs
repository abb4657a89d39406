//! A bare relay for measurements. Its arguments are TARGET LISTEN; it stops at the end of stdin.

use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Observer};
use relay::Options;
use std::sync::Arc;
use std::time::Duration;
use sys::{Clock, Target};

struct Quiet;

impl Observer for Quiet {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}

struct Quietly;

impl ObserverFactory for Quietly {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Quiet)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let target = Target::parse(&arguments.next().ok_or("TARGET is missing")?)?;
    let listen = arguments.next().ok_or("LISTEN is missing")?.parse()?;
    let relay = relay::start(
        Options {
            listen,
            target,
            link: None,
            sparing: None,
            tls: relay::RelayTls::default(),
            plain_clients: sys::listening::PlainClients::default(),
            numbers: relay::ConnectionNumbers::default(),
        },
        Clock::anchored_now(),
        Arc::new(Quietly),
    )?;
    println!("{}", relay.local_addr());
    std::io::stdin().read_line(&mut String::new())?;
    println!("{:?}", relay.stop(Duration::from_secs(1)));
    Ok(())
}
