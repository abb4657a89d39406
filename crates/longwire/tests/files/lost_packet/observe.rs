use crate::lost_packet::captures::Payload;
use analysis::fact::Fact;
use capture::Source;
use model::{ConnectionEvent, ConnectionId, Exchange, Observer, Protocol};
use pipeline::decode::ConnectionDecoders;
use std::collections::BTreeMap;

pub struct Found {
    pub protocol: String,
    /// Keyed by the client's port and the number of the connection on that port.
    pub exchanges: BTreeMap<(u16, usize), Vec<String>>,
    pub bytes: BTreeMap<(u16, usize), Vec<[u64; 2]>>,
}

impl Found {
    pub fn touched_by(&self, payload: &Payload) -> usize {
        let (from, to) = payload.ports;
        let (bytes, direction) = match self.bytes.get(&(from, payload.connection)) {
            Some(bytes) => (bytes, 0),
            None => match self.bytes.get(&(to, payload.connection)) {
                Some(bytes) => (bytes, 1),
                None => return 0,
            },
        };
        let mut end = 0;
        let mut touched = 0;
        for both in bytes {
            let start = end;
            end += both[direction];
            touched += usize::from(start < payload.span.end && end > payload.span.start);
        }
        touched
    }
}

struct Collector {
    connections: ConnectionDecoders,
    keys: BTreeMap<ConnectionId, (u16, usize)>,
    facts: Vec<Fact>,
}

impl Observer for Collector {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        if let ConnectionEvent::Opened { client, .. } = event {
            let before = self
                .keys
                .values()
                .filter(|(port, _)| *port == client.port)
                .count();
            self.keys.insert(connection, (client.port, before));
        }
        let facts = &mut self.facts;
        self.connections
            .event(connection, event, &mut |fact| facts.push(fact));
    }
}

pub fn exchanges(bytes: &[u8]) -> Found {
    let mut collector = Collector {
        connections: ConnectionDecoders::new(false),
        keys: BTreeMap::new(),
        facts: Vec::new(),
    };
    let source = Source::Stream {
        name: "capture",
        reader: Box::new(bytes),
    };
    capture::read_sources(vec![source], &mut collector).expect("a capture");
    let mut protocols: BTreeMap<&str, usize> = BTreeMap::new();
    let mut exchanges: BTreeMap<(u16, usize), Vec<String>> = BTreeMap::new();
    let mut bytes: BTreeMap<(u16, usize), Vec<[u64; 2]>> = BTreeMap::new();
    for fact in &collector.facts {
        if let Fact::Exchange { exchange, protocol } = fact {
            let name = if exchange.asked.on_stream {
                Protocol::Http2.name()
            } else {
                protocol.name()
            };
            *protocols.entry(name).or_default() += usize::from(!exchange.is_handshake());
            let key = collector.keys[&exchange.connection];
            exchanges.entry(key).or_default().push(description(exchange));
            bytes
                .entry(key)
                .or_default()
                .push([exchange.request_bytes, exchange.reply_bytes]);
        }
    }
    let most = protocols.iter().max_by_key(|(_, count)| **count);
    Found {
        protocol: most.map_or_else(|| "none".to_owned(), |(name, _)| (*name).to_owned()),
        exchanges,
        bytes,
    }
}

fn description(exchange: &Exchange) -> String {
    let described = format!(
        "{} round trips {} bytes {} {} messages {} {} rows {:?} {:?}",
        exchange.phase.name(),
        exchange.turns,
        exchange.request_bytes,
        exchange.reply_bytes,
        exchange.request_messages,
        exchange.reply_messages,
        exchange.rows,
        exchange.transaction,
    );
    // Fields of HTTP/2 are compressed with those before (RFC 7541, 2.2): a lost one leaves those
    // that refer to it unknown until the connection ends.
    match exchange.asked.on_stream {
        true => described,
        false => format!(
            "{described} executions {} {:?} {:?}",
            exchange.executions, exchange.error, exchange.fingerprint
        ),
    }
}
