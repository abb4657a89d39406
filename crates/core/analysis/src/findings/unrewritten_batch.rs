//! A driver's batch that takes one round trip per row.
//!
//! On the wire it is a tight row-by-row loop, as a program's own loop would be. If the driver sends
//! batches so by default, a batch is assumed. The remedy covers both cases.

use super::software::Software;
use model::Protocol;

/// Whether batches take a round trip per row by default. pgjdbc and MariaDB Connector/J pipeline
/// batches; Oracle's driver sends an array, Derby's and Db2's a chain.
pub(super) const fn is_usual_of(software: Software) -> bool {
    matches!(
        software,
        Software::ConnectorJ | Software::Speaks(Protocol::Informix)
    )
}
