//! Errors of the bridge and of requests through it.

use std::path::PathBuf;
use std::time::Duration;
use sys::error::{Blame, LiveError, OsError};

/// Texts hold no literal, no value and of a URL only the host.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BridgeError {
    #[error(transparent)]
    System(#[from] LiveError),
    #[error("there is no Java here: looked for {looked}")]
    NoJava {
        /// The places that were searched.
        looked: String,
    },
    #[error("{java} is older than Java 11, which the JDBC bridge needs")]
    JavaTooOld {
        /// Path of the program.
        java: String,
    },
    #[error("the driver needs a newer Java than {java} is: {said}")]
    DriverTooNew {
        /// The version of Java.
        java: String,
        said: String,
    },
    #[error("longwire-jdbc.jar is missing: looked for {looked}")]
    NoJar {
        /// The places that were searched.
        looked: String,
    },
    #[error("could not read {}: {reason}", path.display())]
    NotReadable {
        path: PathBuf,
        /// Error of the operating system.
        reason: OsError,
    },
    #[error("{} is not a jar", path.display())]
    NotAJar {
        /// Path of the file.
        path: PathBuf,
    },
    #[error("{coordinate} is not in the local Maven repository: no {}", path.display())]
    NotFetched {
        coordinate: String,
        /// The path it should have.
        path: PathBuf,
    },
    #[error("'{given}' is neither a jar nor group:artifact:version")]
    NotADriverName {
        /// The name as given.
        given: String,
    },
    #[error("a JDBC driver is for a jdbc: URL")]
    NotJdbc,
    /// The URL has no host and port for a relay to replace.
    #[error("there is no host and port in {url} that a relay could take the place of")]
    NoPlace {
        /// The URL without secrets.
        url: String,
    },
    #[error("could not start {java}: {reason}")]
    NotStarted {
        java: String,
        /// Error of the operating system.
        reason: OsError,
    },
    #[error("the JDBC bridge ended ({status}){said}")]
    Died {
        /// Exit status or signal, in words.
        status: String,
        /// Last output after a colon, empty without any.
        said: String,
    },
    #[error("the JDBC bridge and longwire do not understand each other: its jar is of another version")]
    Garbled,
    #[error("a statement is too long for the JDBC bridge (64 MiB)")]
    TooLong,
    #[error("no complete reply through the driver within {}", model::format_duration(*after))]
    TimedOut {
        /// Duration of the wait.
        after: Duration,
    },
    #[error("stopped")]
    Stopped,
    #[error("no driver takes {url}: {}", there(drivers))]
    NoDriver {
        url: String,
        /// Classes of the available drivers, possibly empty.
        drivers: String,
    },
    #[error("there is no class {class} in the driver's jars")]
    NoClass {
        /// Name of the class.
        class: String,
    },
    #[error("{class} is not a java.sql.Driver")]
    NotADriver {
        /// Name of the class.
        class: String,
    },
    #[error("the driver ran out of memory in Java")]
    NoMemory,
    /// Refusal by the database, or by the driver on its behalf.
    #[error("server: {code} {text}")]
    Sql {
        /// SQLSTATE, `ORA-` and its number, or the vendor's own number.
        code: String,
        text: String,
    },
    #[error("the driver failed: {class}: {text}")]
    Driver {
        /// Class of the exception.
        class: String,
        text: String,
    },
}

fn there(drivers: &str) -> String {
    match drivers {
        "" => "the jars hold no driver that says it is one".to_owned(),
        some => format!("the drivers there are {some}"),
    }
}

impl BridgeError {
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoJava { .. } | Self::JavaTooOld { .. } => {
                "install Java 11 or newer (Debian: apt-get install default-jre-headless), or point JAVA_HOME at it".to_owned()
            }
            Self::DriverTooNew { .. } => "point JAVA_HOME at a newer Java, or take an older version of the driver".to_owned(),
            Self::NoJar { .. } => {
                "build it with `make jdbc` in longwire's sources; put it there, or name it with --bridge FILE or LONGWIRE_JDBC_BRIDGE".to_owned()
            }
            Self::NotFetched { coordinate, .. } => {
                format!("fetch it: mvn dependency:get -Dtransitive=false -Dartifact={coordinate}")
            }
            Self::NotADriverName { .. } => {
                "write --driver FILE.jar, FILE.jar:FILE.jar, or org.postgresql:postgresql:42.7.4".to_owned()
            }
            Self::NotJdbc => "write the target as the driver wants it, such as jdbc:postgresql://db1/shop".to_owned(),
            Self::Garbled => "build the jar that belongs to this longwire: `make jdbc`".to_owned(),
            Self::NoDriver { drivers, .. } if drivers.is_empty() => {
                "is it the jar with the driver? Some drivers are several jars, and some have to be named: --driver-class CLASS"
                    .to_owned()
            }
            Self::NoDriver { .. } => "is the URL spelled as this driver wants it?".to_owned(),
            Self::NoClass { .. } => "is it the right jar, and are the jars it needs next to it in --driver?".to_owned(),
            Self::NoMemory => "give it more: JAVA_TOOL_OPTIONS=-Xmx4g; or fetch fewer rows at once".to_owned(),
            Self::Sql { code, .. } => return hint_of(code),
            Self::System(error) => return error.hint(),
            Self::NotReadable { .. }
            | Self::NotAJar { .. }
            | Self::NoPlace { .. }
            | Self::NotStarted { .. }
            | Self::Died { .. }
            | Self::TooLong
            | Self::TimedOut { .. }
            | Self::Stopped
            | Self::NotADriver { .. }
            | Self::Driver { .. } => return None,
        })
    }

    pub const fn blame(&self) -> Blame {
        match self {
            Self::Sql { .. } | Self::TimedOut { .. } => Blame::Server,
            Self::Driver { .. } | Self::NoMemory => Blame::Client,
            _ => Blame::Longwire,
        }
    }
}

fn hint_of(code: &str) -> Option<String> {
    let hint = match code {
        "ORA-12514" | "ORA-12505" => {
            "the listener is there and does not know the service: `lsnrctl services` on the server lists those it knows"
        }
        "ORA-12541" | "08001" | "08S01" => "is it the right host and port, and is the server running?",
        "28P01" | "28000" | "ORA-01017" => {
            "user and password come from the URL, or from LONGWIRE_JDBC_USER and LONGWIRE_JDBC_PASSWORD"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
