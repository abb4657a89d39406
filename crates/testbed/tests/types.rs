//! The names of types: each has one meaning, and `docs/types.md` lists those of the libraries.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Names that several modules define with one meaning: the arguments of a command, as clap's users call them.
const SHARED: [&str; 1] = ["Args"];

/// Crates whose types are listed elsewhere or are not for others: GLOSSARY.md has those of `model`, and
/// `longwire` is a binary.
const NOT_LISTED: [&str; 2] = ["model", "longwire"];

const PAGE: &str = "docs/types.md";
const INTRODUCTION: &str = "# Public types

Every public type of the library crates, by crate; those of `model` are in [GLOSSARY.md](../GLOSSARY.md). A name is defined once in the
workspace. The sentences are the first ones of the types' own documentation. A test compares this page with the code;
`LONGWIRE_BLESS=1 cargo test -p testbed --test types` writes it anew.
";

struct Type {
    name: String,
    /// Of the file, from the root of the workspace.
    path: String,
    line: usize,
    /// First sentence of its documentation.
    sentence: String,
    /// Whether it stands at the outermost level of its file.
    outermost: bool,
}

impl Type {
    fn crate_name(&self) -> &str {
        self.path
            .split('/')
            .nth(1)
            .expect("sources are below crates/<name>/")
    }
}

#[test]
fn no_name_is_defined_twice() {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let types = types();
    assert!(types.len() > 500, "only {} types were found", types.len());
    for found in &types {
        let place = format!("{}:{}", found.path, found.line);
        places.entry(&found.name).or_default().push(place);
    }
    let twice: Vec<String> = places
        .iter()
        .filter(|(name, places)| places.len() > 1 && !SHARED.contains(*name))
        .map(|(name, places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert!(twice.is_empty(), "one word, one meaning:\n{}", twice.join("\n"));
}

#[test]
fn the_page_of_types_is_true() {
    let wanted = page(&types());
    let path = root().join(PAGE);
    if std::env::var_os("LONGWIRE_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == wanted,
        "{PAGE} is stale: LONGWIRE_BLESS=1 cargo test -p testbed --test types writes it anew"
    );
}

fn page(types: &[Type]) -> String {
    let mut crates: BTreeMap<&str, Vec<&Type>> = BTreeMap::new();
    for found in types.iter().filter(|found| found.outermost) {
        crates.entry(found.crate_name()).or_default().push(found);
    }
    let mut page = INTRODUCTION.to_owned();
    for (name, mut types) in crates.into_iter().filter(|(name, _)| !NOT_LISTED.contains(name)) {
        types.sort_by(|one, other| one.name.cmp(&other.name));
        write!(
            page,
            "\n## {name}\n\n| type | what it is | in `src/` |\n|---|---|---|\n"
        )
        .expect("a string takes all");
        for found in types {
            let file = found.path.split_once("/src/").map_or("", |(_, file)| file);
            writeln!(
                page,
                "| `{}` | {} | `{file}` |",
                found.name,
                found.sentence.replace('|', "\\|")
            )
            .expect("a string takes all");
        }
    }
    page
}

/// The public types of all crates, by file.
fn types() -> Vec<Type> {
    let mut paths = Vec::new();
    for entry in entries(&root().join("crates")) {
        sources(&entry.join("src"), &mut paths);
    }
    paths.sort();
    paths.iter().flat_map(|path| types_of(path)).collect()
}

fn types_of(path: &Path) -> Vec<Type> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let path = path
        .strip_prefix(root())
        .expect("sources are in the workspace")
        .display()
        .to_string();
    let (mut types, mut documentation) = (Vec::new(), String::new());
    for (line, code) in text.lines().enumerate() {
        let bare = code.trim_start();
        if let Some(comment) = bare.strip_prefix("///") {
            documentation.push_str(comment);
        } else if let Some(name) = defined(bare) {
            types.push(Type {
                name: name.to_owned(),
                path: path.clone(),
                line: line + 1,
                sentence: first_sentence(&documentation),
                outermost: bare == code,
            });
            documentation.clear();
        } else if bare.is_empty() {
            documentation.clear();
        }
    }
    types
}

/// The name of the public type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// Up to the first full stop that ends a word, without links.
fn first_sentence(documentation: &str) -> String {
    let text = documentation.trim();
    let end = text.find(". ").map_or(text.len(), |at| at + 1);
    let words = text[..end].replace("[`", "`").replace("`]", "`");
    words.trim_end_matches(['.', ':']).to_owned()
}

fn sources(directory: &Path, paths: &mut Vec<PathBuf>) {
    for path in entries(directory) {
        if path.is_dir() {
            sources(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.expect("the entries of a directory can be read").path())
        .collect()
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate is inside the workspace")
}
