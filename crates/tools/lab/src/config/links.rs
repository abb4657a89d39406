//! Parses tables of links, `[links.NAME]`.

use super::section::{Section, advice};
use super::tree::{ConfigNode, ConfigValue, Entry, FileSpan};
use super::{ALL_LINKS, ConfigError, LabLink, check_name, known_host, texts};
use link::LinkDescription;
use model::ConfigFile as File;

/// Settings of a link that may be separate keys; values as in the text form.
pub const KEYS: [&str; 9] = [
    "rtt", "rate", "burst", "queue", "loss", "jitter", "outage", "mtu", "seed",
];

pub fn parse_links(
    file: File<'_>,
    entry: Option<&Entry>,
    hosts: &[String],
    seed: u64,
) -> Result<Vec<LabLink>, ConfigError> {
    let Some(entry) = entry else {
        return Ok(Vec::new());
    };
    let all = Section::new(file, entry, "[links.NAME]".to_owned())?;
    let mut links: Vec<LabLink> = Vec::new();
    for entry in all.entries() {
        check_name(file, &entry.key, &entry.place)?;
        if entry.key == ALL_LINKS {
            let what = "no link can be called 'all', which sweeps use for every link: give it another name";
            return Err(file.error(&entry.place, what));
        }
        let link = read_one(
            &Section::new(file, entry, format!("[links.{}]", entry.key))?,
            &entry.key,
            hosts,
            seed,
        )?;
        let same = |other: &&LabLink| other.between.iter().all(|host| link.between.contains(host));
        if let Some(other) = links.iter().find(same) {
            let what = format!(
                "links '{}' and '{}' join the same hosts, so it is unclear which one is used: leave one out",
                other.name, link.name
            );
            return Err(file.error(&entry.place, what));
        }
        links.push(link);
    }
    Ok(links)
}

fn read_one(section: &Section<'_>, name: &str, hosts: &[String], seed: u64) -> Result<LabLink, ConfigError> {
    let file = section.file;
    let example = format!("{:?}", hosts.iter().take(2).collect::<Vec<_>>());
    let node = section.required("between", &example)?;
    let pair = texts(file, "between", node)?;
    let [(a, a_place), (b, b_place)] = pair[..] else {
        return Err(section.wrong("between", node, &format!("two hosts, such as {example}")));
    };
    known_host(file, a, a_place, hosts)?;
    known_host(file, b, b_place, hosts)?;
    if a == b {
        return Err(file.error(
            b_place,
            format!("a link joins two hosts: write another one than '{a}'"),
        ));
    }
    let link = description(section, seed)?;
    section.finish()?;
    Ok(LabLink {
        name: name.to_owned(),
        between: [a.to_owned(), b.to_owned()],
        link,
    })
}

/// Parses the text form in `link` and applies separate keys one at a time, so that errors have a
/// position.
fn description(section: &Section<'_>, seed: u64) -> Result<LinkDescription, ConfigError> {
    let file = section.file;
    let mut words: Vec<String> = Vec::new();
    if let Some((text, place)) = section.text("link")? {
        let link = parse(file, place, text)?;
        words = link.to_string().split_whitespace().map(str::to_owned).collect();
    }
    let mut last: Option<&ConfigNode> = None;
    for key in KEYS {
        let Some(node) = section.node(key) else {
            continue;
        };
        words.retain(|word| word.split('=').next() != Some(key));
        let value = value(section, key, node)?;
        // Reports invalid values before combining settings that depend on each other.
        if !matches!(key, "burst" | "queue" | "jitter") {
            parse(file, &node.place, &format!("{key}={value}"))?;
        }
        words.push(format!("{key}={value}"));
        last = Some(node);
    }
    if !words.iter().any(|word| word.starts_with("seed=")) {
        words.push(format!("seed={seed}"));
    }
    if !words.iter().any(|word| word.starts_with("rate=")) {
        // Without a rate limit no queue forms; `queue` and `burst` may be set for points with a
        // limit.
        words.retain(|word| !word.starts_with("queue=") && !word.starts_with("burst="));
    }
    let place = ["jitter", "burst", "queue"]
        .iter()
        .find_map(|key| section.node(key))
        .or(last)
        .map_or(&section.place, |node| &node.place);
    parse(file, place, &words.join(" "))
}

fn value(section: &Section<'_>, key: &'static str, node: &ConfigNode) -> Result<String, ConfigError> {
    match &node.value {
        ConfigValue::Text(text) if !text.contains(char::is_whitespace) && !text.is_empty() => {
            Ok(text.clone())
        }
        ConfigValue::Integer(number) if matches!(key, "mtu" | "seed") => Ok(number.to_string()),
        _ => {
            let example = match key {
                "rtt" => "a text with its unit, such as \"40ms\"",
                "rate" => "a text with its unit, such as \"10mbit\" or \"10mbit/2mbit\"",
                "burst" | "queue" => "a text with its unit, such as \"64KiB\"",
                "loss" => "a text, such as \"0.1%\"",
                "jitter" => "a text, such as \"2ms\" or \"2ms:normal\"",
                "outage" => "a text, such as \"2s@10s/60s\"",
                _ => "a whole number",
            };
            Err(section.wrong(key, node, example))
        }
    }
}

fn parse(file: File<'_>, place: &FileSpan, text: &str) -> Result<LinkDescription, ConfigError> {
    text.parse::<LinkDescription>()
        .map_err(|error| file.error(place, error.to_string()))
}

/// Suggests a replacement for an unknown `key`.
pub fn key_advice(key: &str) -> String {
    advice(key, KEYS.into_iter().chain(["link"]))
}
