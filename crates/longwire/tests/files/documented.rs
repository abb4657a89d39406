//! Transcripts of docs/symptoms and docs/how-to: the recordings and captures of the tests still
//! print these lines.

use std::fs;
use std::path::{Path, PathBuf};
use testbed::binary;

/// The commands of the first block of code of a page. Files are in `tests/data`.
const PAGES: [(&str, &[&str]); 22] = [
    (
        "how-to/informix",
        &["read captures/ifxjdbc-4.50.10-synthetic-server-fetbuf4096.pcap"],
    ),
    ("how-to/kingbase", &["read captures/kb860-pg15-simple.pcap"]),
    (
        "how-to/oracle",
        &["read captures/ojdbc11-23.5-connect-resend-refuse.pcap"],
    ),
    (
        "symptoms/batch-inserts",
        &["read captures/mysqljdbc910-mariadb10.11-serverprep-cursor.pcap"],
    ),
    (
        "symptoms/cross-zone",
        &["plan symptoms/estate.toml symptoms/pages.lwr --placement database=zone-b"],
    ),
    ("symptoms/each-query-40-ms", &["read symptoms/two-writes.lwr"]),
    (
        "symptoms/fetch-size",
        &["read captures/pgjdbc4274-pg15-trust.pcap"],
    ),
    ("symptoms/first-query-slow", &["read symptoms/first-query.lwr"]),
    ("symptoms/health-checks", &["read symptoms/health-checks.lwr"]),
    (
        "symptoms/large-results",
        &["predict symptoms/large-result.lwr --rtt 40ms --rate 20mbit"],
    ),
    ("symptoms/many-queries", &["read remedies/django.pcap.gz"]),
    ("symptoms/php-reconnects", &["read symptoms/php.lwr"]),
    (
        "symptoms/phpmyadmin",
        &[
            "read symptoms/phpmyadmin.lwr",
            "predict symptoms/phpmyadmin.lwr --rtt 40ms --on http",
        ],
    ),
    ("symptoms/pool-checks", &["read remedies/sqlalchemy.pcap.gz"]),
    ("symptoms/pool-resets", &["read symptoms/pool-resets.lwr"]),
    ("symptoms/savepoints", &["read symptoms/savepoints.lwr"]),
    ("symptoms/serverless", &["read symptoms/serverless.lwr"]),
    ("symptoms/slow-after-a-pause", &["read symptoms/idle.lwr"]),
    ("symptoms/slow-only-over-the-vpn", &["read symptoms/vpn.lwr"]),
    ("symptoms/tls-twice", &["read symptoms/tls-twice.lwr"]),
    ("symptoms/wordpress", &["read symptoms/wordpress.lwr"]),
    ("symptoms/server-or-network", &["read symptoms/network.lwr"]),
];

fn below(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// The output in the first block of code, without lines that are left out (`...`).
fn transcript(page: &str) -> Vec<&str> {
    let block = page.lines().skip_while(|line| *line != "```").skip(1);
    let mut lines = Vec::new();
    let mut is_checked = true;
    let mut is_continued = false;
    for line in block.take_while(|line| *line != "```") {
        let is_command = line.starts_with("$ ");
        if is_command {
            // The output of ping differs each time.
            is_checked = !line.starts_with("$ longwire ping");
        }
        let is_output = !is_command && !is_continued;
        is_continued = (is_command || is_continued) && line.ends_with('\\');
        let text = line.trim().trim_end_matches("...").trim_end();
        if is_output && is_checked && !text.is_empty() {
            lines.push(text);
        }
    }
    lines
}

fn output(command: &str) -> String {
    let argument = |word: &str| match word.contains('/') {
        true => below("tests/data").join(word).display().to_string(),
        false => word.to_owned(),
    };
    let arguments: Vec<String> = command.split(' ').map(argument).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = binary::run(&arguments);
    binary::done(&output);
    binary::stdout(&output)
}

#[test]
fn transcripts_of_pages_are_printed() {
    let mut wrong = Vec::new();
    for (name, commands) in PAGES {
        let path = below("../../docs").join(format!("{name}.md"));
        let page = fs::read_to_string(&path).expect("the page");
        let printed: String = commands.iter().map(|command| output(command)).collect();
        let lines = transcript(&page);
        assert!(!lines.is_empty(), "{name} has no transcript");
        let missing = lines.iter().filter(|line| !printed.contains(**line));
        wrong.extend(missing.map(|line| format!("{name}: {line}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The index, docs/symptoms/README.md, and each page have at most 250 words.
#[test]
fn pages_by_symptom_are_short() {
    let mut count = 0;
    for entry in fs::read_dir(below("../../docs/symptoms")).expect("the folder") {
        let path = entry.expect("an entry").path();
        let words = fs::read_to_string(&path)
            .expect("a page")
            .split_whitespace()
            .count();
        assert!(words <= 250, "{}: {words} words", path.display());
        count += 1;
    }
    assert!(count > 20, "{count} pages");
}
