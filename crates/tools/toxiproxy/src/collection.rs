//! The proxies and their operations.
//!
//! Changes of toxics are in effect on every open connection when the call returns.

use crate::addresses;
use crate::error::ApiError;
use crate::proxy::{Command, Common, ProxyCounters, ProxyPlan};
use crate::representation as json_of;
use crate::representation::{bad, fields, flag, text};
use crate::route::Route;
use crate::running_proxy::RunningProxy;
use crate::toxics::Toxic;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::listening::raise_file_limit;

/// The proxies of one API, by name.
#[derive(Debug)]
pub struct ProxyCollection {
    proxies: Mutex<BTreeMap<String, Proxy>>,
    common: Common,
}

#[derive(Debug)]
struct Proxy {
    name: String,
    /// The configured address before the first start, then the bound address.
    listen: String,
    upstream: String,
    /// Address to connect to instead of the upstream, until the upstream changes.
    through: Option<SocketAddr>,
    toxics: Vec<Toxic>,
    running: Option<RunningProxy>,
}

#[derive(Debug)]
struct Wanted {
    name: String,
    listen: String,
    upstream: String,
    enabled: bool,
    through: Option<SocketAddr>,
}

impl ProxyCollection {
    /// Toxicity, jitter and slices are drawn from `seed`: the same seed and order of connections
    /// yields the same draws.
    ///
    /// Raises the process's limit of open files to the maximum: a connection needs two.
    pub fn new(seed: u64) -> Self {
        raise_file_limit();
        let common = Common {
            seed,
            held_bytes: Arc::default(),
            counters: Arc::default(),
        };
        Self {
            proxies: Mutex::default(),
            common,
        }
    }

    /// Creates an enabled proxy and returns the bound address. Connections go to `through` (an
    /// emulated link to the upstream) if given, until an API client changes the upstream.
    ///
    /// # Errors
    /// Fails if the name is taken, or the address cannot be bound.
    pub fn create(
        &self,
        name: &str,
        listen: &str,
        upstream: &str,
        through: Option<SocketAddr>,
    ) -> Result<String, ApiError> {
        let wanted = Wanted {
            name: name.to_owned(),
            listen: listen.to_owned(),
            upstream: upstream.to_owned(),
            enabled: true,
            through,
        };
        let mut proxies = self.lock();
        let proxy = self.added(&mut proxies, wanted)?;
        Ok(proxy.listen.clone())
    }

    pub fn counters(&self) -> &ProxyCounters {
        &self.common.counters
    }

    pub fn clear(&self) {
        self.lock().clear();
    }

    pub(crate) fn index(&self) -> Value {
        let proxies = self.lock();
        let each = proxies
            .values()
            .map(|proxy| (proxy.name.clone(), proxy.to_json()));
        Value::Object(each.collect())
    }

    pub(crate) fn create_from(&self, body: &[u8]) -> Result<Value, ApiError> {
        let value = json_of::parse(body)?;
        let wanted = Wanted::parse(&value, "")?;
        let mut proxies = self.lock();
        Ok(self.added(&mut proxies, wanted)?.to_json())
    }

    fn added<'a>(
        &self,
        proxies: &'a mut BTreeMap<String, Proxy>,
        wanted: Wanted,
    ) -> Result<&'a Proxy, ApiError> {
        if proxies.contains_key(&wanted.name) {
            return Err(ApiError::ProxyExists);
        }
        if proxies.len() >= MAX_PROXIES {
            return Err(ApiError::TooMany {
                what: "proxies",
                most: MAX_PROXIES,
            });
        }
        let enabled = wanted.enabled;
        let mut proxy = Proxy::new(wanted);
        if enabled {
            proxy.start(&self.common, &routes(proxies, &proxy.name))?;
        }
        Ok(proxies.entry(proxy.name.clone()).or_insert(proxy))
    }

    /// An existing proxy with the same addresses stays, another is replaced. Returns the completed
    /// ones, also with an error.
    pub(crate) fn populate(&self, body: &[u8]) -> (Vec<Value>, Option<ApiError>) {
        let wanted = match read_list(body) {
            Ok(wanted) => wanted,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut proxies = self.lock();
        let mut done = Vec::new();
        for wanted in wanted {
            match self.populated(&mut proxies, wanted) {
                Ok(proxy) => done.push(proxy.to_json()),
                Err(error) => return (done, Some(error)),
            }
        }
        (done, None)
    }

    fn populated<'a>(
        &self,
        proxies: &'a mut BTreeMap<String, Proxy>,
        wanted: Wanted,
    ) -> Result<&'a Proxy, ApiError> {
        let name = wanted.name.clone();
        let same = match proxies.get(&name) {
            Some(proxy) => !proxy.differs(&wanted.listen, &wanted.upstream)?,
            None => false,
        };
        if !same {
            // The old listening socket must close first: the new one may have the same address.
            proxies.remove(&name);
            return self.added(proxies, wanted);
        }
        proxies.get(&name).ok_or(ApiError::ProxyNotFound)
    }

    pub(crate) fn show(&self, name: &str) -> Result<Value, ApiError> {
        self.with(name, |proxy| Ok(proxy.to_json()))
    }

    pub(crate) fn update(&self, name: &str, body: &[u8]) -> Result<Value, ApiError> {
        self.with_routes(name, |proxy, routes| {
            let value = json_of::parse(body)?;
            let given = fields(&value, "a proxy")?;
            let listen = text(given, "listen")?.unwrap_or_else(|| proxy.listen.clone());
            let upstream = text(given, "upstream")?.unwrap_or_else(|| proxy.upstream.clone());
            let enabled = flag(given, "enabled")?.unwrap_or(proxy.running.is_some());
            if proxy.differs(&listen, &upstream)? {
                proxy.running = None;
                proxy.through = proxy.through.filter(|_| proxy.upstream == upstream);
                (proxy.listen, proxy.upstream) = (listen, upstream);
            }
            match (enabled, proxy.running.is_some()) {
                (true, false) => proxy.start(&self.common, routes)?,
                (false, true) => proxy.running = None,
                (true, true) | (false, false) => {}
            }
            Ok(proxy.to_json())
        })
    }

    pub(crate) fn delete(&self, name: &str) -> Result<(), ApiError> {
        let removed = self.lock().remove(name);
        removed.map(drop).ok_or(ApiError::ProxyNotFound)
    }

    pub(crate) fn reset(&self) -> Result<(), ApiError> {
        let mut proxies = self.lock();
        let names: Vec<String> = proxies.keys().cloned().collect();
        for name in names {
            let routes = routes(&proxies, &name);
            let proxy = proxies.get_mut(&name).ok_or(ApiError::ProxyNotFound)?;
            if proxy.running.is_none() {
                proxy.start(&self.common, &routes)?;
            }
            for toxic in std::mem::take(&mut proxy.toxics) {
                proxy.carry_out(Command::Remove(toxic.name));
            }
        }
        Ok(())
    }

    pub(crate) fn toxics(&self, name: &str) -> Result<Value, ApiError> {
        self.with(name, |proxy| Ok(proxy.toxics_to_json()))
    }

    pub(crate) fn add_toxic(&self, name: &str, body: &[u8]) -> Result<Value, ApiError> {
        self.with(name, |proxy| {
            let toxic = json_of::new_toxic(body)?;
            if proxy.toxic(&toxic.name).is_ok() {
                return Err(ApiError::ToxicExists);
            }
            if proxy.toxics.len() >= MAX_TOXICS {
                return Err(ApiError::TooMany {
                    what: "toxics",
                    most: MAX_TOXICS,
                });
            }
            proxy.toxics.push(toxic.clone());
            proxy.carry_out(Command::Add(toxic.clone()));
            Ok(json_of::toxic(&toxic))
        })
    }

    pub(crate) fn show_toxic(&self, name: &str, toxic: &str) -> Result<Value, ApiError> {
        self.with(name, |proxy| {
            proxy.toxic(toxic).map(|toxic| json_of::toxic(toxic))
        })
    }

    pub(crate) fn update_toxic(&self, name: &str, toxic: &str, body: &[u8]) -> Result<Value, ApiError> {
        self.with(name, |proxy| {
            let toxic = proxy.toxic(toxic)?;
            *toxic = json_of::changed_toxic(toxic, body)?;
            let toxic = toxic.clone();
            proxy.carry_out(Command::Change(toxic.clone()));
            Ok(json_of::toxic(&toxic))
        })
    }

    pub(crate) fn delete_toxic(&self, name: &str, toxic: &str) -> Result<(), ApiError> {
        self.with(name, |proxy| {
            proxy.toxic(toxic)?;
            proxy.toxics.retain(|one| one.name != toxic);
            proxy.carry_out(Command::Remove(toxic.to_owned()));
            Ok(())
        })
    }

    fn with<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Proxy) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        work(self.lock().get_mut(name).ok_or(ApiError::ProxyNotFound)?)
    }

    /// As [`Self::with`], with the routes of the other proxies.
    fn with_routes<T>(
        &self,
        name: &str,
        work: impl FnOnce(&mut Proxy, &[Route]) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut proxies = self.lock();
        let routes = routes(&proxies, name);
        work(proxies.get_mut(name).ok_or(ApiError::ProxyNotFound)?, &routes)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Proxy>> {
        self.proxies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Routes of all enabled proxies but `but`.
fn routes(proxies: &BTreeMap<String, Proxy>, but: &str) -> Vec<Route> {
    let others = proxies.values().filter(|proxy| proxy.name != but);
    let routes = others.filter_map(|proxy| {
        let running = proxy.running.as_ref()?;
        Some(Route {
            listen: running.local_address(),
            upstream: proxy.upstream.clone(),
        })
    });
    routes.collect()
}

impl Wanted {
    /// `place` identifies the proxy in errors.
    fn parse(value: &Value, place: &str) -> Result<Self, ApiError> {
        let given = fields(value, "a proxy")?;
        let needed = |key: &str| {
            let found = text(given, key)?.filter(|text| !text.is_empty());
            found.ok_or_else(|| ApiError::MissingField {
                field: format!("{key}{place}"),
            })
        };
        Ok(Self {
            name: needed("name")?,
            upstream: needed("upstream")?,
            listen: text(given, "listen")?.unwrap_or_default(),
            enabled: flag(given, "enabled")?.unwrap_or(true),
            through: None,
        })
    }
}

fn read_list(body: &[u8]) -> Result<Vec<Wanted>, ApiError> {
    let Value::Array(values) = json_of::parse(body)? else {
        return Err(bad("a list of proxies is expected"));
    };
    let each = (1..).zip(&values);
    each.map(|(place, value)| Wanted::parse(value, &format!(" at proxy {place}")))
        .collect()
}

impl Proxy {
    fn new(wanted: Wanted) -> Self {
        Self {
            name: wanted.name,
            listen: wanted.listen,
            upstream: wanted.upstream,
            through: wanted.through,
            toxics: Vec::new(),
            running: None,
        }
    }

    fn start(&mut self, common: &Common, routes: &[Route]) -> Result<(), ApiError> {
        let through = self.through.map(|address| address.to_string());
        let plan = ProxyPlan {
            upstream: through.unwrap_or_else(|| self.upstream.clone()),
            toxics: self.toxics.clone(),
            common: common.clone(),
        };
        let running = RunningProxy::start(addresses::to_listen(&self.listen)?, plan, routes)?;
        self.listen = running.local_address().to_string();
        self.running = Some(running);
        Ok(())
    }

    /// Compares listening addresses after resolution.
    fn differs(&self, listen: &str, upstream: &str) -> Result<bool, ApiError> {
        if self.upstream != upstream {
            return Ok(true);
        }
        Ok(self.listen != listen && self.listen != addresses::to_listen(listen)?.to_string())
    }

    fn carry_out(&self, command: Command) {
        if let Some(running) = &self.running {
            running.carry_out(command);
        }
    }

    fn toxic(&mut self, name: &str) -> Result<&mut Toxic, ApiError> {
        let found = self.toxics.iter_mut().find(|toxic| toxic.name == name);
        found.ok_or(ApiError::ToxicNotFound)
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(self.name));
        fields.insert("listen".to_owned(), json!(self.listen));
        fields.insert("upstream".to_owned(), json!(self.upstream));
        fields.insert("enabled".to_owned(), json!(self.running.is_some()));
        fields.insert("toxics".to_owned(), self.toxics_to_json());
        Value::Object(fields)
    }

    /// Upstream toxics first, as in toxiproxy.
    fn toxics_to_json(&self) -> Value {
        let mut toxics: Vec<&Toxic> = self.toxics.iter().collect();
        toxics.sort_by_key(|toxic| toxic.direction.index());
        toxics.into_iter().map(json_of::toxic).collect()
    }
}

/// A proxy has a thread.
const MAX_PROXIES: usize = 1000;

const MAX_TOXICS: usize = 100;
