//! The targets of relays: their names, where their relays listen, and their links.

use crate::address::one_to_listen;
use anyhow::{Context, Result, bail, ensure};
use link::LinkDescription;
use model::Protocol;
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use sys::listening::PlainClients;
use sys::{Scheme, Target};

/// Targets with the addresses and links of their relays, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RelayTexts {
    pub targets: Vec<String>,
    /// `[NAME=]ADDRESS`
    pub listen: Vec<String>,
    /// `[NAME=]LINK`
    pub link: Vec<String>,
    pub plain_clients: PlainClients,
}

#[derive(Debug, Clone)]
pub struct PlannedRelay {
    /// Its name in flags, placeholders, variables and messages: the scheme, with a number from the
    /// second of a scheme on.
    pub name: String,
    pub target: Target,
    /// Listening address; port 0 for any free port.
    pub listen: SocketAddr,
    pub link: Option<LinkDescription>,
    /// Whether clients may use plain text when the relay speaks TLS to the server.
    pub plain_clients: PlainClients,
}

impl PlannedRelay {
    /// Whether it is the application itself, not one of its servers.
    pub fn is_application(&self) -> bool {
        self.target.scheme.protocol().carries_requests()
    }
}

/// The round-trip time that all links have.
///
/// # Errors
/// If there is none, or several.
pub fn link_rtt(planned: &[PlannedRelay]) -> Result<Duration> {
    let mut rtts: Vec<Duration> = planned
        .iter()
        .filter_map(|planned| Some(planned.link?.rtt))
        .collect();
    rtts.dedup();
    match rtts.as_slice() {
        [rtt] => Ok(*rtt),
        [] => bail!("--prove removes the delay of an emulated link: add --link 40ms"),
        _ => bail!("--prove compares with savings at one round-trip time: give all targets the same --link"),
    }
}

impl RelayTexts {
    /// Plans one relay for each target.
    ///
    /// # Errors
    /// When a target, an address or a link cannot be parsed, or matches no target.
    pub fn plan(&self) -> Result<Vec<PlannedRelay>> {
        let targets = self.parsed()?;
        let names = Names::from_targets(&targets);
        let (named_links, plain_links) = assigned("--link", &self.link, &names, |text| {
            Ok(text.parse::<LinkDescription>()?)
        })?;
        ensure!(
            plain_links.len() <= 1,
            "--link is given {} times for all targets: name the one each is for, --link {}=LINK",
            plain_links.len(),
            names.all.first().map_or("", String::as_str)
        );
        let listens = self.listens(&names)?;
        let only_the_application = targets
            .iter()
            .all(|target| target.scheme.protocol().carries_requests());
        let planned = names.all.into_iter().zip(targets).map(|(name, target)| {
            let for_all = only_the_application || !target.scheme.protocol().carries_requests();
            PlannedRelay {
                listen: listens.get(&name).copied().unwrap_or(ANY_PORT),
                link: named_links
                    .get(&name)
                    .or(plain_links.first().filter(|_| for_all))
                    .copied(),
                name,
                target,
                plain_clients: self.plain_clients,
            }
        });
        Ok(planned.collect())
    }

    fn parsed(&self) -> Result<Vec<Target>> {
        let targets = (1..).zip(&self.targets).map(|(place, text)| {
            let target = Target::parse(text);
            match self.targets.len() {
                1 => Ok(target?),
                // Its text may hold a password.
                _ => target.with_context(|| format!("target {place} (a command goes behind --)")),
            }
        });
        targets.collect()
    }

    /// Listening addresses by target; addresses without a name follow the order of the targets.
    fn listens(&self, names: &Names) -> Result<HashMap<String, SocketAddr>> {
        let (mut listens, plain_listens) = assigned("--listen", &self.listen, names, |text| {
            one_to_listen(text, Some(ANY_PORT.port()))
        })?;
        let mut plain_listens = plain_listens.into_iter();
        for name in &names.all {
            if !listens.contains_key(name)
                && let Some(listen) = plain_listens.next()
            {
                listens.insert(name.clone(), listen);
            }
        }
        ensure!(
            plain_listens.len() == 0,
            "--listen is given more often than there are targets"
        );
        Ok(listens)
    }
}

/// A free port of this host alone.
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[derive(Debug)]
struct Names {
    all: Vec<String>,
    protocols: Vec<Protocol>,
}

impl Names {
    fn from_targets(targets: &[Target]) -> Self {
        let is_scheme = |name: &str| targets.iter().any(|target| target.scheme.name() == name);
        let mut all: Vec<String> = Vec::new();
        for target in targets {
            let scheme = target.scheme.name();
            let numbered = (2..).map(|number| format!("{scheme}{number}"));
            let mut free = numbered.filter(|name| !is_scheme(name) && !all.contains(name));
            let name = match all.iter().any(|name| name == scheme) {
                true => free.next(),
                false => None,
            };
            all.push(name.unwrap_or_else(|| scheme.to_owned()));
        }
        let protocols = targets.iter().map(|target| target.scheme.protocol());
        Self {
            protocols: protocols.collect(),
            all,
        }
    }

    /// The target with this name. Any word for a protocol counts as that of its first target, and with
    /// a number n behind it as that of the n-th.
    fn find(&self, word: &str) -> Option<&String> {
        let exact = self.all.iter().find(|name| *name == word);
        exact.or_else(|| {
            let (protocol, number) = protocol_of(word)?;
            let mut named = self.all.iter().zip(&self.protocols);
            let mut of_protocol = named.by_ref().filter(|(_, of)| **of == protocol);
            of_protocol.nth(number - 1).map(|(name, _)| name)
        })
    }
}

/// Some words for protocols end with a digit.
fn protocol_of(word: &str) -> Option<(Protocol, usize)> {
    let whole = Scheme::from_word(word).map(|scheme| (scheme.protocol(), 1));
    whole.or_else(|| {
        let stem = word.trim_end_matches(|digit: char| digit.is_ascii_digit());
        let number = word
            .get(stem.len()..)?
            .parse()
            .ok()
            .filter(|number| *number > 0)?;
        Some((Scheme::from_word(stem)?.protocol(), number))
    })
}

/// The values of a flag by target, and those without a name. No link or address begins with a
/// target's name and `=`.
fn assigned<T>(
    flag: &str,
    values: &[String],
    names: &Names,
    parse: fn(&str) -> Result<T>,
) -> Result<(HashMap<String, T>, Vec<T>)> {
    let mut named = HashMap::new();
    let mut plain = Vec::new();
    for value in values {
        let (name, rest) = value.split_once('=').unwrap_or_default();
        if let Some(name) = names.find(name) {
            let given = parse(rest).with_context(|| format!("{flag} '{value}'"))?;
            if named.insert(name.clone(), given).is_some() {
                bail!("{flag} {name}= is given twice: give it once");
            }
        } else if protocol_of(name).is_some() {
            let names = names.all.join(", ");
            bail!("{flag} '{value}': no target is called {name}, they are called {names}");
        } else {
            plain.push(parse(value).with_context(|| format!("{flag} '{value}'"))?);
        }
    }
    Ok((named, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(targets: &[&str], listen: &[&str], link: &[&str]) -> Result<Vec<PlannedRelay>> {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let args = RelayTexts {
            targets: owned(targets),
            listen: owned(listen),
            link: owned(link),
            plain_clients: PlainClients::default(),
        };
        args.plan()
    }

    fn shown(planned: &[PlannedRelay]) -> Vec<(String, u16, String)> {
        let each = planned.iter().map(|planned| {
            let link = planned.link.map(|link| link.to_string());
            (
                planned.name.clone(),
                planned.listen.port(),
                link.unwrap_or_default(),
            )
        });
        each.collect()
    }

    fn target(name: &str, port: u16, link: &str) -> (String, u16, String) {
        (name.to_owned(), port, link.to_owned())
    }

    fn refusal(targets: &[&str], listen: &[&str], link: &[&str]) -> String {
        let error = planned(targets, listen, link).expect_err("it must be refused");
        format!("{error:#}")
    }

    const PAGE: [&str; 4] = [
        "http://127.0.0.1:8000",
        "postgres://db1",
        "redis://cache1",
        "postgres://db2",
    ];

    #[test]
    fn addresses_go_to_the_targets_in_order_but_for_those_with_a_name() {
        let planned = planned(
            &PAGE,
            &["127.0.0.1:1", "postgres=127.0.0.1:9", "127.0.0.1:2"],
            &[],
        );
        let planned = planned.expect("it is understood");
        let expected = [
            target("http", 1, ""),
            target("postgres", 9, ""),
            target("redis", 2, ""),
            target("postgres2", 0, ""),
        ];
        assert_eq!(shown(&planned), expected);
    }

    #[test]
    fn a_link_is_of_every_database_or_of_the_target_it_names() {
        let planned_links = |link: &[&str]| -> Vec<String> {
            let planned = planned(&PAGE, &[], link).expect("it is understood");
            shown(&planned).into_iter().map(|(_, _, link)| link).collect()
        };
        let each = |links: [&str; 4]| links.map(str::to_owned).to_vec();
        assert_eq!(
            planned_links(&["rtt=40ms"]),
            each(["", "rtt=40ms", "rtt=40ms", "rtt=40ms"])
        );
        assert_eq!(
            planned_links(&["rtt=40ms", "redis=rtt=1ms", "http=delay 5ms"]),
            each(["rtt=10ms", "rtt=40ms", "rtt=1ms", "rtt=40ms"])
        );
        let alone = planned(&PAGE[..1], &[], &["rtt=40ms"]).expect("it is understood");
        assert_eq!(shown(&alone), [target("http", 0, "rtt=40ms")]);
    }

    #[test]
    fn any_word_for_a_protocol_names_its_target() {
        let targets = ["http://a", "http://b", "grpc://c:1", "http2://d", "postgres://e"];
        let links = ["h2c=rtt=3ms", "h2=rtt=4ms", "http3=rtt=2ms", "postgresql=rtt=5ms"];
        assert!(refusal(&targets, &[], &links).contains("grpc= is given twice"));
        let links = ["grpc=rtt=3ms", "http2=rtt=4ms", "http3=rtt=2ms", "pg=rtt=5ms"];
        let planned = planned(&targets, &[], &links).expect("it is understood");
        let expected = [
            target("http", 0, ""),
            target("http3", 0, "rtt=2ms"),
            target("grpc", 0, "rtt=3ms"),
            target("http2", 0, "rtt=4ms"),
            target("postgres", 0, "rtt=5ms"),
        ];
        assert_eq!(shown(&planned), expected);
        let alone = super::tests::planned(&["grpc://c:1"], &[], &["h2c=rtt=3ms"]);
        assert_eq!(
            shown(&alone.expect("it is understood")),
            [target("grpc", 0, "rtt=3ms")]
        );
    }

    #[test]
    fn the_target_that_is_none_is_named_without_its_text() {
        assert_eq!(
            refusal(&["postgres://db1", "hunter2"], &[], &[]),
            "target 2 (a command goes behind --): the target is neither a URL nor a key=value string"
        );
        assert!(refusal(&["ls"], &[], &[]).starts_with("the target is neither"));
    }

    #[test]
    fn what_is_for_no_target_is_refused() {
        let refused = refusal(&PAGE, &[], &["mysql=rtt=1ms"]);
        assert!(
            refused.contains("no target is called mysql") && refused.contains("redis"),
            "{refused}"
        );
        let refused = refusal(&PAGE[..1], &["127.0.0.1:1", "127.0.0.1:2"], &[]);
        assert!(refused.contains("more often"), "{refused}");
        assert!(refusal(&PAGE, &[], &["rtt=1ms", "rtt=2ms"]).contains("--link http=LINK"));
        assert!(refusal(&PAGE, &[], &["redis=rtt=1ms", "redis=rtt=2ms"]).contains("twice"));
        let refused = refusal(&PAGE, &[], &["redis=rtt=1"]);
        assert!(
            refused.contains("--link 'redis=rtt=1'") && refused.contains("unit"),
            "{refused}"
        );
        assert!(refusal(&PAGE, &["nowhere"], &[]).contains("--listen 'nowhere'"));
    }

    #[test]
    fn no_setting_of_a_link_is_called_like_a_target() {
        for scheme in Scheme::all() {
            let refused = format!("{}=1ms", scheme.name()).parse::<LinkDescription>();
            assert!(refused.is_err(), "{}", scheme.name());
        }
    }
}
