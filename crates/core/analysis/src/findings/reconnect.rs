//! Repeated connecting and logging in.
//!
//! A connection counts if an earlier one between the same client host and server was closed before,
//! and if it did little ([`MAX_WORK_TURNS`]) but more than a load balancer's check. Refused
//! connections, and those after refused ones, do not count. Saved are the round trips of connect,
//! tls and login, and the settings and catalogue reads of the driver: a pool keeps connections. A
//! program may repeat settings, and reads of them, on each kept connection
//! ([`super::software::Software::may_leave_settings_to_programs`]): the saving is then a range,
//! without and with them.

use super::control::Control;
use super::fingerprint_ids::is_catalogue;
use super::ledger::Waste;
use super::operation_view::OperationView;
use super::remedies::turns_left;
use super::software::Software;
use crate::verb::is_trial;
use foldhash::HashSet;
use model::{ConnectionId, Exchange, FindingKind, NotSeen, OperationStep, Phase, Protocol};

/// With more round trips of work, a connection is justified.
const MAX_WORK_TURNS: u64 = 50;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let mut made = reopened(view);
    made.retain(|made| made.work <= MAX_WORK_TURNS && !made.only_tests && !made.is_refused);
    for made in &made {
        let waste = Waste {
            count: 1,
            turns: made.setup,
            saves_turns: made.setup,
            programs_perhaps: made.programs_perhaps,
            ..Waste::new(FindingKind::Reconnect, made.connection, made.protocol)
        };
        view.note_steps(waste, &made.steps);
    }
    for turn in &mut view.turns.all {
        let of_it = made.iter().find(|made| made.connection == turn.connection);
        turn.is_claimed |= of_it.is_some_and(|made| made.steps.contains(&turn.step));
    }
}

/// The operation's connections that replace closed ones.
fn reopened(view: &OperationView<'_>) -> Vec<Made> {
    let mut made: Vec<Made> = Vec::new();
    // The next step is usually on the same connection.
    let mut last: Option<(ConnectionId, bool)> = None;
    let decrypted = decrypted(&view.operation.steps);
    let is_dependency =
        |step: &OperationStep| step.is_dependency() || decrypted.contains(&step.exchange.connection);
    let steps = view.operation.steps.iter().enumerate();
    for (step_number, step) in steps.filter(|(_, step)| is_dependency(step)) {
        let exchange = &step.exchange;
        let is_reopened = match last {
            Some((connection, is_reopened)) if connection == exchange.connection => is_reopened,
            _ => view.clients.is_reopened(exchange.connection),
        };
        last = Some((exchange.connection, is_reopened));
        if !is_reopened {
            continue;
        }
        let place = made
            .iter()
            .rposition(|made| made.connection == exchange.connection);
        match (place, exchange.phase) {
            (Some(place), _) => made[place].add(step_number, step),
            (None, Phase::Connect | Phase::Tls | Phase::Login) if made.len() < MAX_EXAMINED_CONNECTIONS => {
                let mut opened = Made::new(exchange.connection, step.protocol);
                opened.add(step_number, step);
                made.push(opened);
            }
            (None, Phase::Connect | Phase::Tls | Phase::Login | Phase::Work | Phase::Close) => {}
        }
    }
    made
}

/// Connections to databases and services that were opened with keys: until their first request they
/// are known as TLS alone.
fn decrypted(steps: &[OperationStep]) -> HashSet<ConnectionId> {
    if !steps.iter().any(|step| step.protocol == Protocol::Tls) {
        return HashSet::default();
    }
    let dependencies = steps.iter().filter(|step| step.is_dependency());
    dependencies.map(|step| step.exchange.connection).collect()
}

struct Made {
    connection: ConnectionId,
    protocol: Protocol,
    setup: u64,
    programs_perhaps: u64,
    steps: Vec<usize>,
    work: u64,
    is_opening: bool,
    /// The last step was TLS; an encrypted login follows.
    is_login_hidden: bool,
    only_tests: bool,
    /// The login was refused: a pool would keep no connection.
    is_refused: bool,
}

impl Made {
    fn new(connection: ConnectionId, protocol: Protocol) -> Self {
        Self {
            connection,
            protocol,
            setup: 0,
            programs_perhaps: 0,
            steps: Vec::new(),
            work: 0,
            is_opening: true,
            is_login_hidden: false,
            only_tests: true,
            is_refused: false,
        }
    }

    fn add(&mut self, number: usize, step: &OperationStep) {
        let exchange = &step.exchange;
        match exchange.phase {
            Phase::Connect | Phase::Tls | Phase::Login => {
                self.add_setup(number, exchange);
                self.is_login_hidden = exchange.phase == Phase::Tls;
            }
            Phase::Work if self.is_setup(exchange) => {
                self.add_setup(number, exchange);
                if is_programs_perhaps(exchange) {
                    self.programs_perhaps += u64::from(exchange.turns);
                }
            }
            Phase::Work if self.is_hidden_login(step) => {
                self.is_login_hidden = false;
                self.add_setup(number, exchange);
            }
            Phase::Work => {
                self.is_opening = false;
                self.work += u64::from(exchange.turns);
                let text = exchange.fingerprint.as_deref();
                self.only_tests &= text.is_some_and(is_trial);
            }
            Phase::Close => {}
        }
    }

    fn add_setup(&mut self, step: usize, exchange: &Exchange) {
        self.setup += u64::from(exchange.turns);
        self.steps.push(step);
        self.is_refused |= exchange.phase != Phase::Work && exchange.error.is_some();
    }

    /// Whether this is an encrypted login: a database client's first message after TLS. A login may
    /// take more round trips.
    fn is_hidden_login(&self, step: &OperationStep) -> bool {
        let exchange = &step.exchange;
        let is_hidden = exchange.not_seen == Some(NotSeen::Encrypted) && exchange.turns > 0;
        self.is_login_hidden && is_hidden && step.protocol.is_database()
    }

    /// Whether a driver does this on opening: it makes or reads settings, or reads the database's
    /// types.
    fn is_setup(&self, exchange: &Exchange) -> bool {
        let text = exchange.fingerprint.as_deref().unwrap_or_default();
        self.is_opening && exchange.turns > 0 && sets_up(text)
    }
}

fn sets_up(text: &str) -> bool {
    // asyncpg sends it before and after reading types. With row-level security it is work, but
    // does not come at the opening.
    let is_setting = || is_setting(text) || text.to_ascii_lowercase().starts_with("select set_config(");
    !text.is_empty() && (is_setting() || is_catalogue(text))
}

/// Whether a driver or a pool may send this once for each connection, directly after its login.
/// SQLAlchemy ends its tests of a new connection with ROLLBACK.
pub fn sets_up_connection(text: &str) -> bool {
    sets_up(text) || text == "rollback" || ABOUT_SESSION.contains(&text)
}

/// Round trips that this client software makes at each use of a kept connection.
pub fn round_trips_kept(driver: &str) -> u64 {
    Software::from_name(driver).map_or(0, |software| turns_left(FindingKind::Reconnect, software))
}

/// Whether a program may make this at each use: a setting, or a read of one, that is not a driver's
/// own.
fn is_programs_perhaps(exchange: &Exchange) -> bool {
    let text = exchange.fingerprint.as_deref().unwrap_or_default();
    let is_drivers = |own: &&str| text.to_ascii_lowercase().starts_with(own);
    let reads_or_sets = is_setting(text) || text.to_ascii_lowercase().starts_with("show ");
    reads_or_sets && !text.contains("set_config(") && !DRIVERS_OWN.iter().any(is_drivers)
}

/// pgjdbc sends these once per connection, under any program name.
const DRIVERS_OWN: [&str; 2] = ["set extra_float_digits ", "set application_name "];

fn is_setting(text: &str) -> bool {
    matches!(
        Control::from_fingerprint(text),
        Some(Control::Setting | Control::SessionRead)
    )
}

const ABOUT_SESSION: [&str; 5] = [
    "select current_schema()",
    "select current_database()",
    "select version()",
    "select database()",
    "select connection_id()",
];
const MAX_EXAMINED_CONNECTIONS: usize = 256;
