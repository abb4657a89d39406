//! MySQL and MariaDB client/server protocol.
