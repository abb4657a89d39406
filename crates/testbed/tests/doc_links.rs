//! Checks the pages of docs/, contributing/ and the root: links are valid, and docs/SUMMARY.md
//! lists every user page once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

#[test]
fn every_link_leads_somewhere() {
    let wrong = wrong_links(&root());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let wrong = wrong_in_summary(&root());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Tests the checks themselves: without this they would pass if they found no links.
#[test]
fn what_is_wrong_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("docs")).expect("docs");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a page");
    };
    write(
        "README.md",
        "# Top\n\n[a](docs/a.md#twice-1) [gone](docs/gone.md) ![p](p.svg) <img src=\"q.png\">\n[s](https://) `[c](no.md)`\n```\n[f](no.md)\n```\n",
    );
    write(
        "docs/a.md",
        "## Twice\n## Twice\n### It's `a`, 3 %: x_y\n[up](../README.md#top) [own](#its-a-3--x_y)\n[no](#nothing) [out](../../x) [w](https://example.org/a)\n[d]: ../gone.txt\n",
    );
    write("docs/b.md", "# B\n");
    write("ARCHITECTURE.md", "# How it is built\n[a](docs/none.md)\n");
    write(
        "docs/SUMMARY.md",
        "- [Top](../README.md)\n- [A](a.md)\n- [A](a.md)\n",
    );
    assert_eq!(
        wrong_links(folder.path()),
        [
            "ARCHITECTURE.md:2: docs/none.md is no file",
            "README.md:3: docs/gone.md is no file",
            "README.md:3: p.svg is no file",
            "README.md:3: q.png is no file",
            "README.md:4: https:// is no address",
            "docs/a.md:5: #nothing: a.md has no such heading",
            "docs/a.md:5: ../../x leaves the project",
            "docs/a.md:6: ../gone.txt is no file",
        ]
    );
    assert_eq!(
        wrong_in_summary(folder.path()),
        ["docs/a.md is listed 2 times", "docs/b.md is not listed"]
    );
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let mut found = markdown_in(root);
    let folders = ["docs", "contributing"].map(|name| root.join(name));
    let mut folders: Vec<PathBuf> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        found.extend(markdown_in(&folder));
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        folders.extend(
            entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.is_dir()),
        );
    }
    found.sort();
    found
}

fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect()
}

fn wrong_links(root: &Path) -> Vec<String> {
    let mut anchors_of = BTreeMap::new();
    let mut wrong = Vec::new();
    for page in pages(root) {
        let name = page
            .strip_prefix(root)
            .expect("it is below the root")
            .display()
            .to_string();
        for (line, link) in links(&read_file(&page)) {
            if let Some(why) = why_wrong(root, &page, &link, &mut anchors_of) {
                wrong.push(format!("{name}:{line}: {why}"));
            }
        }
    }
    wrong
}

fn why_wrong(
    root: &Path,
    page: &Path,
    link: &str,
    anchors_of: &mut BTreeMap<PathBuf, BTreeSet<String>>,
) -> Option<String> {
    if let Some(address) = link
        .strip_prefix("https://")
        .or_else(|| link.strip_prefix("http://"))
    {
        let host = address.split(['/', '#', '?']).next().unwrap_or_default();
        let fine = host.contains('.') && !address.contains(char::is_whitespace);
        return (!fine).then(|| format!("{link} is no address"));
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = page.parent().expect("a page is in a folder");
    let target = if path.is_empty() {
        page.to_path_buf()
    } else {
        plain(&folder.join(path))
    };
    if !target.starts_with(root) {
        return Some(format!("{link} leaves the project"));
    }
    if !target.exists() {
        return Some(format!("{link} is no file"));
    }
    if anchor.is_empty() {
        return None;
    }
    let known = anchors_of
        .entry(target.clone())
        .or_insert_with(|| anchors(&read_file(&target)));
    let file = target.file_name().unwrap_or_default().display();
    (!known.contains(anchor)).then(|| format!("{link}: {file} has no such heading"))
}

/// The path without `.` and `..`. Symbolic links are not followed.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// Targets of links and images with line numbers, outside of code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let line = without_code(line);
        let mut add = |target: &str| found.push((number, target.to_owned()));
        for after in line.split("](").skip(1) {
            add(after.split([')', ' ']).next().unwrap_or_default());
        }
        for mark in ["src=\"", "href=\""] {
            for after in line.split(mark).skip(1) {
                add(after.split('"').next().unwrap_or_default());
            }
        }
        if let Some((_, target)) = line.split_once("]: ").filter(|_| line.starts_with('[')) {
            add(target.trim());
        }
    }
    found
}

/// Heading anchors as GitHub and mdBook generate them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name: String = title
            .trim()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'))
            .map(|letter| {
                if letter == ' ' {
                    '-'
                } else {
                    letter.to_ascii_lowercase()
                }
            })
            .collect();
        let mut free = name.clone();
        let mut times = 0;
        while !found.insert(free.clone()) {
            times += 1;
            free = format!("{name}-{times}");
        }
    }
    found
}

/// Lines outside of fenced code, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        (!fence && !in_code).then_some((index + 1, line))
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// These pages are not on the users' site.
fn is_for_contributors(root: &Path, page: &Path) -> bool {
    let for_contributors = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];
    for_contributors.iter().any(|name| page == root.join(name)) || page.starts_with(root.join("contributing"))
}

fn wrong_in_summary(root: &Path) -> Vec<String> {
    let docs = root.join("docs");
    let listed: Vec<PathBuf> = links(&read_file(&docs.join("SUMMARY.md")))
        .into_iter()
        .map(|(_, link)| plain(&docs.join(link)))
        .collect();
    let mut wrong = Vec::new();
    for page in pages(root) {
        if is_for_contributors(root, &page) {
            continue;
        }
        let name = page.strip_prefix(root).expect("it is below the root").display();
        match listed.iter().filter(|path| **path == page).count() {
            1 => {}
            _ if page.ends_with("SUMMARY.md") => {}
            0 => wrong.push(format!("{name} is not listed")),
            times => wrong.push(format!("{name} is listed {times} times")),
        }
    }
    wrong
}

fn read_file(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn root() -> PathBuf {
    plain(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}
