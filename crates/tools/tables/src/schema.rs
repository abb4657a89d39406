//! Tables and their columns: the keys of the records in `docs/output.md`.

/// Changes when a column changes its meaning or is removed, not when one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// Metadata key of [`SCHEMA_VERSION`] in a file.
pub(crate) const SCHEMA_KEY: &str = "longwire.schema";

/// A table, with a separate folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableName {
    Exchanges,
    Connections,
    Operations,
    Statements,
    /// One row per finding of a run or window and round trip it is priced at.
    Findings,
    /// All other records of a run, unchanged: conditions, warnings, totals, and the rest needed to
    /// read it again.
    Runs,
}

impl TableName {
    /// `runs` is last, as a run's end is recorded after all else is stored.
    pub const ALL: [Self; 6] = [
        Self::Exchanges,
        Self::Connections,
        Self::Operations,
        Self::Statements,
        Self::Findings,
        Self::Runs,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Exchanges => "exchanges",
            Self::Connections => "connections",
            Self::Operations => "operations",
            Self::Statements => "statements",
            Self::Findings => "findings",
            Self::Runs => "runs",
        }
    }

    pub fn of_record(kind: &str) -> Self {
        let of_rows = Self::ALL.into_iter().find(|table| table.record() == Some(kind));
        of_rows.unwrap_or(Self::Runs)
    }

    /// `None` for `runs`, which holds several types.
    pub fn record(self) -> Option<&'static str> {
        match self {
            Self::Exchanges => Some("exchange"),
            Self::Connections => Some("connection"),
            Self::Operations => Some("operation"),
            Self::Statements => Some("statement"),
            Self::Findings => Some("finding"),
            Self::Runs => None,
        }
    }

    /// False for tables that readers of a run compute again.
    pub fn is_read_back(self) -> bool {
        matches!(self, Self::Exchanges | Self::Connections | Self::Runs)
    }

    /// Operations and findings may have several protocols.
    pub fn is_by_protocol(self) -> bool {
        matches!(self, Self::Exchanges | Self::Connections)
    }

    /// The first two and the last are the same in all tables.
    pub const fn columns(self) -> &'static [TableColumn] {
        match self {
            Self::Exchanges => EXCHANGES,
            Self::Connections => CONNECTIONS,
            Self::Operations => OPERATIONS,
            Self::Statements => STATEMENTS,
            Self::Findings => FINDINGS,
            Self::Runs => RUNS,
        }
    }

    /// Name prefix of the columns for the keys of object `key`; `None` if it is one JSON column, or
    /// not stored.
    pub(crate) fn prefix(self, key: &str) -> Option<&'static str> {
        if self != Self::Exchanges {
            return None;
        }
        OBJECTS
            .iter()
            .copied()
            .find(|prefix| prefix.strip_suffix('_') == Some(key))
    }

    /// Sort order within a row group: a query for one statement then reads few pages.
    pub fn sorted_by(self) -> &'static [&'static str] {
        match self {
            Self::Exchanges => &["fingerprint", "at_ns", "sequence"],
            Self::Connections => &["server", "at_ns", "sequence"],
            Self::Operations => &["operation_name", "at_ns", "sequence"],
            Self::Statements | Self::Findings => &["fingerprint", "sequence"],
            Self::Runs => &["sequence"],
        }
    }
}

/// Null if the record lacks the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableColumn {
    pub name: &'static str,
    pub kind: ColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// `_ns` are nanoseconds, `at_ns` since the epoch.
    Integer,
    Flag,
    Text,
    /// Objects and arrays, as JSON.
    Nested,
    /// First half of a digest, as digests are only compared and barely compress.
    Digest,
}

/// Adds the columns of all tables: run, record number, and keys without a fitting column, so that
/// no data is lost.
macro_rules! columns {
    ($($name:literal: $kind:ident,)*) => {
        &[
            TableColumn { name: "run", kind: ColumnKind::Text },
            TableColumn { name: "sequence", kind: ColumnKind::Integer },
            $(TableColumn { name: $name, kind: ColumnKind::$kind },)*
            TableColumn { name: "more", kind: ColumnKind::Nested },
        ]
    };
}

const OBJECTS: [&str; 2] = ["asked_", "tags_"];

impl TableColumn {
    /// Object and key that the column holds.
    pub(crate) fn key(&self) -> (Option<&'static str>, &'static str) {
        let in_object = OBJECTS
            .iter()
            .find_map(|prefix| Some((prefix.strip_suffix('_'), self.name.strip_prefix(prefix)?)));
        in_object.unwrap_or((None, self.name))
    }
}

const EXCHANGES: &[TableColumn] = columns![
    "connection": Integer,
    "protocol_name": Text,
    "phase": Text,
    "at_ns": Integer,
    "turns": Integer,
    "request_bytes": Integer,
    "reply_bytes": Integer,
    "request_messages": Integer,
    "reply_messages": Integer,
    "rows": Integer,
    "executions": Integer,
    "request_ns": Integer,
    "first_byte_ns": Integer,
    "reply_ns": Integer,
    "client_inside_request_ns": Integer,
    "server_ns": Integer,
    "server_min_ns": Integer,
    "server_max_ns": Integer,
    "server_inside_reply_ns": Integer,
    "recovery_ns": Integer,
    "client_side_rtt_ns": Integer,
    "server_side_rtt_ns": Integer,
    "transaction": Text,
    "fingerprint": Text,
    "error": Text,
    "asked_prepares": Integer,
    "asked_prepared_executions": Integer,
    "asked_fetches": Integer,
    "asked_closes": Integer,
    "asked_fetch_rows": Integer,
    "asked_fetch_bytes": Integer,
    "asked_sets": Integer,
    "asked_returns_rows": Flag,
    "asked_on_stream": Flag,
    "asked_request_digest": Digest,
    "asked_rows_digest": Digest,
    "tags_request_id": Text,
    "tags_span_id": Text,
    "tags_route": Text,
    "tags_controller": Text,
    "tags_action": Text,
    "tags_application": Text,
    "tags_framework": Text,
    "tags_db_driver": Text,
    "steps": Nested,
    "levels": Nested,
];

const CONNECTIONS: &[TableColumn] = columns![
    "id": Integer,
    "client": Text,
    "server": Text,
    "client_process": Text,
    "client_process_number": Integer,
    "client_container": Text,
    "server_process": Text,
    "server_process_number": Integer,
    "server_container": Text,
    "protocol_name": Text,
    "encrypted": Flag,
    "opaque": Flag,
    "opaque_reason": Text,
    "server_version": Text,
    "driver": Text,
    "settings": Nested,
    "at_ns": Integer,
    "duration_ns": Integer,
    "turns": Integer,
    "exchanges": Integer,
    "statements": Integer,
    "rtt_ns": Integer,
    "client_side_rtt_ns": Integer,
    "server_side_rtt_ns": Integer,
    "rtt_source": Text,
    "ended_by": Text,
    "client_seen": Flag,
    "server_seen": Flag,
    "client_payload_bytes": Integer,
    "server_payload_bytes": Integer,
    "client_packets": Integer,
    "server_packets": Integer,
    "client_wire_bytes": Integer,
    "server_wire_bytes": Integer,
    "retransmitted_packets": Integer,
    "client_unseen_bytes": Integer,
    "server_unseen_bytes": Integer,
];

const OPERATIONS: &[TableColumn] = columns![
    "id": Integer,
    "kind": Text,
    "operation_name": Text,
    "at_ns": Integer,
    "duration_ns": Integer,
    "turns": Integer,
    "exchanges": Integer,
    "connections": Integer,
    "client_ns": Integer,
    "server_ns": Integer,
    "server_min_ns": Integer,
    "server_max_ns": Integer,
    "pooler_ns": Integer,
    "network_ns": Integer,
    "round_trip_ns": Integer,
    "transfer_ns": Integer,
    "recovery_ns": Integer,
    "unknown_ns": Integer,
    "setup_ns": Integer,
    "client_after_ns": Integer,
    "continues": Flag,
];

const STATEMENTS: &[TableColumn] = columns![
    "fingerprint": Text,
    "calls": Integer,
    "turns": Integer,
    "fetches": Integer,
    "fetch_rows": Integer,
    "fetch_bytes": Integer,
    "rows": Integer,
    "request_bytes": Integer,
    "reply_bytes": Integer,
    "errors": Integer,
    "total_ns": Integer,
    "server_ns": Integer,
    "server_min_ns": Integer,
    "server_max_ns": Integer,
    "network_ns": Integer,
    "samples": Integer,
    "min_ns": Integer,
    "max_ns": Integer,
    "mean_ns": Integer,
    "p50_ns": Integer,
    "p90_ns": Integer,
    "p95_ns": Integer,
    "p99_ns": Integer,
];

const FINDINGS: &[TableColumn] = columns![
    "kind": Text,
    "fingerprint": Text,
    "operation_name": Text,
    "operations": Integer,
    "count": Integer,
    "turns": Integer,
    "saves_turns": Integer,
    "rtt_ns": Integer,
    "saves_ns": Integer,
    "dependent": Flag,
    "driver": Text,
    "remedy": Text,
];

const RUNS: &[TableColumn] = columns!["record_type": Text, "at_ns": Integer, "record": Nested,];
