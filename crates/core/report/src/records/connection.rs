//! The records of a connection's life: `opened`, `started`, `begun`, `left`, `connection`.

use super::record::{ReadBody, Record};
use super::{Interner, Text};
use model::serde_units::ns;
use model::{
    ConnectionId, ConnectionOutcome, ConnectionTotals, Decoding, EndedBy, Endpoint, HostProcess,
    PerDirection, PerSide, Protocol, RequestId, RttSource, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Serialize, Deserialize)]
pub(super) struct OpenedRecord {
    pub(super) connection: ConnectionId,
    pub(super) at_ns: Timestamp,
    pub(super) client: Endpoint,
    pub(super) server: Endpoint,
}

impl ReadBody for OpenedRecord {
    fn into_record(self, _: &mut Interner) -> Record {
        Record::Opened {
            connection: self.connection,
            at: self.at_ns,
            client: self.client,
            server: self.server,
        }
    }
}

/// A request that may cause work elsewhere has reached its server.
#[derive(Serialize, Deserialize)]
pub(super) struct StartedRecord<'a> {
    pub(super) connection: ConnectionId,
    pub(super) at_ns: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    pub(super) fingerprint: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) request_id: Option<RequestId>,
}

impl ReadBody for StartedRecord<'_> {
    fn into_record(self, shared: &mut Interner) -> Record {
        Record::Started {
            connection: self.connection,
            at: self.at_ns,
            fingerprint: self.fingerprint.map(|text| shared.share(&text.0)),
            request: self.request_id,
        }
    }
}

/// Opaque bytes have begun an exchange that is reported much later.
#[derive(Serialize, Deserialize)]
pub(super) struct BegunRecord {
    pub(super) connection: ConnectionId,
    pub(super) at_ns: Timestamp,
}

impl ReadBody for BegunRecord {
    fn into_record(self, _: &mut Interner) -> Record {
        Record::Begun {
            connection: self.connection,
            at: self.at_ns,
        }
    }
}

/// The client ended its direction.
#[derive(Serialize, Deserialize)]
pub(super) struct LeftRecord {
    pub(super) connection: ConnectionId,
    pub(super) at_ns: Timestamp,
}

impl ReadBody for LeftRecord {
    fn into_record(self, _: &mut Interner) -> Record {
        Record::Left {
            connection: self.connection,
            at: self.at_ns,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ConnectionRecord<'a> {
    id: ConnectionId,
    client: Endpoint,
    server: Endpoint,
    #[serde(skip_serializing_if = "Option::is_none", default, borrow)]
    client_process: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    client_process_number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default, borrow)]
    client_container: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", default, borrow)]
    server_process: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    server_process_number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default, borrow)]
    server_container: Option<Text<'a>>,
    protocol: Protocol,
    encrypted: bool,
    opaque: bool,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    opaque_reason: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    server_version: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    driver: Option<Text<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default, borrow)]
    settings: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    at_ns: Timestamp,
    #[serde(rename = "duration_ns", with = "ns")]
    duration: Duration,
    turns: u64,
    exchanges: u64,
    statements: u64,
    #[serde(
        rename = "rtt_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    rtt: Option<Duration>,
    #[serde(
        rename = "client_side_rtt_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    client_side_rtt: Option<Duration>,
    #[serde(
        rename = "server_side_rtt_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    server_side_rtt: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_source: Option<RttSource>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    ended_by: Option<EndedBy>,
    client_seen: bool,
    server_seen: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_payload_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_payload_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_wire_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_wire_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmitted_packets: Option<u64>,
    client_unseen_bytes: u64,
    server_unseen_bytes: u64,
}

impl<'a> ConnectionRecord<'a> {
    pub(super) fn new(connection: &'a ConnectionOutcome) -> Self {
        let totals = &connection.totals;
        let [client_payload_bytes, server_payload_bytes] = known_payload(totals).into_array();
        let [client_packets, server_packets] = each(totals.packets).into_array();
        let [client_wire_bytes, server_wire_bytes] = each(totals.wire_bytes).into_array();
        let [client_unseen_bytes, server_unseen_bytes] = totals.unseen_bytes.into_array();
        let [client_seen, server_seen] = totals.seen.into_array();
        let [client_process, server_process] =
            connection.processes.each_ref().map(Option::as_deref).into_array();
        Self {
            id: connection.id,
            client: connection.client,
            server: connection.server,
            client_process: client_process.map(|process| Text::from(process.name.as_str())),
            client_process_number: client_process.map(|process| process.number),
            client_container: client_process.and_then(container),
            server_process: server_process.map(|process| Text::from(process.name.as_str())),
            server_process_number: server_process.map(|process| process.number),
            server_container: server_process.and_then(container),
            protocol: connection.decoding.protocol,
            encrypted: connection.decoding.encrypted,
            opaque: connection.decoding.opaque.is_some(),
            opaque_reason: connection.decoding.opaque.as_deref().map(Text::from),
            server_version: connection.server_version.as_deref().map(Text::from),
            driver: connection.driver.as_deref().map(Text::from),
            settings: connection
                .settings
                .iter()
                .map(|(name, value)| (Cow::Borrowed(&**name), Cow::Borrowed(&**value)))
                .collect(),
            at_ns: connection.at,
            duration: connection.duration,
            turns: connection.turns,
            exchanges: connection.exchanges,
            statements: connection.statements,
            rtt: connection.rtt,
            client_side_rtt: connection.client_side_rtt,
            server_side_rtt: connection.server_side_rtt,
            rtt_source: connection.rtt_source,
            ended_by: connection.ended_by,
            client_seen,
            server_seen,
            client_payload_bytes,
            server_payload_bytes,
            client_packets,
            server_packets,
            client_wire_bytes,
            server_wire_bytes,
            retransmitted_packets: totals.retransmitted_packets,
            client_unseen_bytes,
            server_unseen_bytes,
        }
    }
}

impl ReadBody for ConnectionRecord<'_> {
    fn into_record(self, _: &mut Interner) -> Record {
        Record::Connection(ConnectionOutcome {
            id: self.id,
            client: self.client,
            server: self.server,
            processes: PerSide::new(
                process(
                    self.client_process,
                    self.client_process_number,
                    self.client_container,
                ),
                process(
                    self.server_process,
                    self.server_process_number,
                    self.server_container,
                ),
            ),
            at: self.at_ns,
            duration: self.duration,
            decoding: Decoding {
                protocol: self.protocol,
                encrypted: self.encrypted,
                opaque: self.opaque.then(|| reason(self.opaque_reason)),
            },
            server_version: self.server_version.map(|text| text.0.into_owned()),
            driver: self.driver.map(|text| Arc::from(text.0)),
            settings: self
                .settings
                .into_iter()
                .map(|(name, value)| (Arc::from(name), Arc::from(value)))
                .collect(),
            turns: self.turns,
            exchanges: self.exchanges,
            statements: self.statements,
            rtt: self.rtt,
            client_side_rtt: self.client_side_rtt,
            server_side_rtt: self.server_side_rtt,
            rtt_source: self.rtt_source,
            ended_by: self.ended_by,
            totals: ConnectionTotals {
                payload_bytes: PerDirection::new(
                    self.client_payload_bytes.unwrap_or(0),
                    self.server_payload_bytes.unwrap_or(0),
                ),
                packets: self
                    .client_packets
                    .zip(self.server_packets)
                    .map(|(client, server)| PerDirection::new(client, server)),
                wire_bytes: self
                    .client_wire_bytes
                    .zip(self.server_wire_bytes)
                    .map(|(client, server)| PerDirection::new(client, server)),
                retransmitted_packets: self.retransmitted_packets,
                unseen_bytes: PerDirection::new(self.client_unseen_bytes, self.server_unseen_bytes),
                seen: PerDirection::new(self.client_seen, self.server_seen),
            },
        })
    }
}

fn container(process: &HostProcess) -> Option<Text<'_>> {
    process.container.as_deref().map(Text::from)
}

fn process(
    name: Option<Text<'_>>,
    number: Option<u32>,
    container: Option<Text<'_>>,
) -> Option<Arc<HostProcess>> {
    let (name, number) = name.zip(number)?;
    Some(Arc::new(HostProcess {
        name: name.0.into_owned(),
        number,
        container: container.map(|text| text.0.into_owned()),
    }))
}

fn reason(text: Option<Text<'_>>) -> String {
    text.map_or_else(String::new, |text| text.0.into_owned())
}

/// Payload bytes of each direction. `None` if no packet of the direction was seen: the number is
/// unknown.
fn known_payload(totals: &ConnectionTotals) -> PerDirection<Option<u64>> {
    let known = totals.payload_bytes.zip(totals.seen);
    known.map(|(bytes, seen)| (seen || bytes > 0).then_some(bytes))
}

fn each(pair: Option<PerDirection<u64>>) -> PerDirection<Option<u64>> {
    PerDirection::from_fn(|direction| pair.map(|pair| pair[direction]))
}
