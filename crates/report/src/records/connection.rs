//! The records of a connection's life: `opened`, `started`, `begun`, `connection`.

use super::exchange::HexId;
use super::reader::{ReadBody, Record};
use super::words::{endpoint, protocol, rtt_source};
use super::{Interner, Text, UnknownValue, nanos};
use model::{
    ConnectionId, ConnectionOutcome, ConnectionTotals, Decoding, Endpoint, Fingerprint, HostProcess,
    PerDirection, PerSide, RequestId, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Serialize, Deserialize)]
pub(super) struct OpenedRecord<'a> {
    connection: u32,
    at_ns: u64,
    #[serde(borrow)]
    client: Text<'a>,
    #[serde(borrow)]
    server: Text<'a>,
}

impl OpenedRecord<'_> {
    pub(super) fn new(connection: ConnectionId, at: Timestamp, client: Endpoint, server: Endpoint) -> Self {
        Self {
            connection: connection.0,
            at_ns: at.as_nanos(),
            client: endpoint_text(client),
            server: endpoint_text(server),
        }
    }
}

impl ReadBody for OpenedRecord<'_> {
    fn into_record(self, _: &mut Interner) -> Result<Record, UnknownValue> {
        Ok(Record::Opened {
            connection: ConnectionId(self.connection),
            at: Timestamp::from_nanos(self.at_ns),
            client: endpoint("client", &self.client.0)?,
            server: endpoint("server", &self.server.0)?,
        })
    }
}

/// A request that may cause work elsewhere has reached its server.
#[derive(Serialize, Deserialize)]
pub(super) struct StartedRecord<'a> {
    connection: u32,
    at_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    fingerprint: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<HexId>,
}

impl<'a> StartedRecord<'a> {
    pub(super) fn new(
        connection: ConnectionId,
        at: Timestamp,
        fingerprint: Option<&'a Fingerprint>,
        request: Option<RequestId>,
    ) -> Self {
        Self {
            connection: connection.0,
            at_ns: at.as_nanos(),
            fingerprint: fingerprint.map(|text| Text::from(&**text)),
            request_id: request.map(HexId),
        }
    }
}

impl ReadBody for StartedRecord<'_> {
    fn into_record(self, shared: &mut Interner) -> Result<Record, UnknownValue> {
        Ok(Record::Started {
            connection: ConnectionId(self.connection),
            at: Timestamp::from_nanos(self.at_ns),
            fingerprint: self.fingerprint.map(|text| shared.share(&text.0)),
            request: self.request_id.map(|id| id.0),
        })
    }
}

/// Opaque bytes have begun an exchange that is reported much later.
#[derive(Serialize, Deserialize)]
pub(super) struct BegunRecord {
    connection: u32,
    at_ns: u64,
}

impl BegunRecord {
    pub(super) fn new(connection: ConnectionId, at: Timestamp) -> Self {
        Self {
            connection: connection.0,
            at_ns: at.as_nanos(),
        }
    }
}

impl ReadBody for BegunRecord {
    fn into_record(self, _: &mut Interner) -> Result<Record, UnknownValue> {
        Ok(Record::Begun {
            connection: ConnectionId(self.connection),
            at: Timestamp::from_nanos(self.at_ns),
        })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ConnectionRecord<'a> {
    id: u32,
    #[serde(borrow)]
    client: Text<'a>,
    #[serde(borrow)]
    server: Text<'a>,
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
    #[serde(borrow)]
    protocol: Text<'a>,
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
    at_ns: u64,
    duration_ns: u64,
    turns: u64,
    exchanges: u64,
    statements: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_side_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_side_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default, borrow)]
    rtt_source: Option<Text<'a>>,
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
            id: connection.id.0,
            client: endpoint_text(connection.client),
            server: endpoint_text(connection.server),
            client_process: client_process.map(|process| Text::from(process.name.as_str())),
            client_process_number: client_process.map(|process| process.number),
            client_container: client_process.and_then(container),
            server_process: server_process.map(|process| Text::from(process.name.as_str())),
            server_process_number: server_process.map(|process| process.number),
            server_container: server_process.and_then(container),
            protocol: connection.decoding.protocol.name().into(),
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
            at_ns: connection.at.as_nanos(),
            duration_ns: nanos(connection.duration),
            turns: connection.turns,
            exchanges: connection.exchanges,
            statements: connection.statements,
            rtt_ns: connection.rtt.map(nanos),
            client_side_rtt_ns: connection.client_side_rtt.map(nanos),
            server_side_rtt_ns: connection.server_side_rtt.map(nanos),
            rtt_source: connection.rtt_source.map(|source| source.name().into()),
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
    fn into_record(self, _: &mut Interner) -> Result<Record, UnknownValue> {
        Ok(Record::Connection(ConnectionOutcome {
            id: ConnectionId(self.id),
            client: endpoint("client", &self.client.0)?,
            server: endpoint("server", &self.server.0)?,
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
            at: Timestamp::from_nanos(self.at_ns),
            duration: Duration::from_nanos(self.duration_ns),
            decoding: Decoding {
                protocol: protocol(&self.protocol.0)?,
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
            rtt: self.rtt_ns.map(Duration::from_nanos),
            client_side_rtt: self.client_side_rtt_ns.map(Duration::from_nanos),
            server_side_rtt: self.server_side_rtt_ns.map(Duration::from_nanos),
            rtt_source: self.rtt_source.map(|word| rtt_source(&word.0)).transpose()?,
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
        }))
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

fn endpoint_text(endpoint: Endpoint) -> Text<'static> {
    Text(Cow::Owned(endpoint.to_string()))
}
