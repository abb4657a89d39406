//! Capabilities that change the encoding.

/// Flags agreed by both sides, as far as they change decoding. They are `CLIENT_...` and
/// `MARIADB_CLIENT_...` of the two manuals; MariaDB's extended flags are shifted up by 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Capabilities(u64);

impl Capabilities {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u64::MAX);

    pub const fn new(flags: u32, mariadb_flags: u32) -> Self {
        Self(flags as u64 | (mariadb_flags as u64) << 32)
    }

    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }
}

/// Set by MySQL's own clients and servers; MariaDB clears it to announce its extended flags.
pub(super) const MYSQL: u64 = 1;
pub(super) const COMPRESS: u64 = 1 << 5;
pub(super) const PROTOCOL_41: u64 = 1 << 9;
pub(super) const SSL: u64 = 1 << 11;
pub(super) const CONNECT_WITH_DB: u64 = 1 << 3;
pub(super) const SECURE_CONNECTION: u64 = 1 << 15;
pub(super) const PLUGIN_AUTH: u64 = 1 << 19;
pub(super) const CONNECT_ATTRIBUTES: u64 = 1 << 20;
pub(super) const LENGTH_ENCODED_AUTH: u64 = 1 << 21;
pub(super) const DEPRECATE_EOF: u64 = 1 << 24;
/// In MySQL the first byte of a result set tells whether column definitions follow.
pub(super) const OPTIONAL_METADATA: u64 = 1 << 25;
pub(super) const COMPRESS_ZSTD: u64 = 1 << 26;
pub(super) const QUERY_ATTRIBUTES: u64 = 1 << 27;
/// In MariaDB a byte after the column count tells whether column definitions follow.
pub(super) const CACHE_METADATA: u64 = 1 << 36;
