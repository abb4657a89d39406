//! README.md lists every public name of this crate, and no others; docs/protocols.md every protocol.

use std::collections::BTreeSet;
use std::path::Path;

fn read_file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// Names exported by `lib.rs`.
fn exported() -> BTreeSet<String> {
    let text = read_file("src/lib.rs");
    text.split("pub use ")
        .skip(1)
        .filter_map(|export| export.split(';').next())
        .filter_map(|export| export.split_once("::"))
        .flat_map(|(_, names)| names.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')))
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Names in the last column of the page's table.
fn on_page() -> BTreeSet<String> {
    read_file("README.md")
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .filter_map(|line| line.trim_end_matches('|').rsplit('|').next().map(str::to_owned))
        .flat_map(|cell| {
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn the_page_holds_every_public_name_and_no_other() {
    assert!(exported().contains("Exchange"));
    assert_eq!(on_page(), exported());
}

#[test]
fn each_protocol_has_its_row_and_page() {
    let page = read_file("../../../docs/protocols.md").to_lowercase();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    for name in model::Protocol::all_known().map(model::Protocol::name) {
        let first_cell = |row: &&str| row.split(" | ").next().is_some_and(|cell| cell.contains(name));
        assert!(rows.iter().any(first_cell), "{name} has no row");
    }
    for (path, _) in page.split("](").skip(1).filter_map(|link| link.split_once(')')) {
        read_file(&format!(
            "../../../docs/{}",
            path.split('#').next().unwrap_or(path)
        ));
    }
}
