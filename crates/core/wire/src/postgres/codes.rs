//! Codes inside bodies of messages.

/// First byte of the body of `Close` and `Describe`.
pub mod object {
    pub const STATEMENT: u8 = b'S';
    pub const PORTAL: u8 = b'P';
}

/// Answer of one byte to `SSLRequest` or `GSSENCRequest`.
pub mod encryption {
    pub const TLS: u8 = b'S';
    pub const NONE: u8 = b'N';
    pub const GSS: u8 = b'G';
}

/// Body of `ReadyForQuery`.
pub mod transaction {
    pub const IDLE: u8 = b'I';
    pub const OPEN: u8 = b'T';
    pub const FAILED: u8 = b'E';
}

/// First byte of `CopyData` in streaming replication.
pub mod replication {
    pub const PRIMARY_KEEP_ALIVE: u8 = b'k';
    pub const STANDBY_STATUS_UPDATE: u8 = b'r';
}

/// Fields of `ErrorResponse` and `NoticeResponse`.
pub mod error_field {
    /// Translated to the server's language.
    pub const SEVERITY: u8 = b'S';
    /// Since PostgreSQL 9.6.
    pub const SEVERITY_IN_ENGLISH: u8 = b'V';
    pub const CODE: u8 = b'C';
    pub const MESSAGE: u8 = b'M';
}
