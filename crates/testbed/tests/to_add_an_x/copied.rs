//! A copy of some crates of the workspace, what is added to it, and its tests.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy, and the page that says what to add where.
pub struct Copied {
    root: PathBuf,
    page: String,
    /// The files as they are to be, by their path from the root.
    files: std::cell::RefCell<BTreeMap<PathBuf, String>>,
}

/// A row of the table "To add an X".
pub struct Row<'a> {
    copy: &'a Copied,
    text: String,
}

impl Copied {
    pub fn new(crates: &[&str]) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = BTreeMap::new();
        let mut take = |path: &Path| {
            let text = fs::read_to_string(source.join(path)).expect("sources are text");
            files.insert(path.to_owned(), text);
        };
        take(Path::new("Cargo.lock"));
        for name in crates {
            let root = Path::new("crates").join(name);
            take(&root.join("Cargo.toml"));
            for folder in ["src", "benches"] {
                sources(&source, &root.join(folder), &mut take);
            }
        }
        let manifest = fs::read_to_string(source.join("Cargo.toml")).expect("the manifest");
        let manifest = manifest.replace("\"crates/", &format!("\"{FOLDER}/"));
        files.insert("Cargo.toml".into(), manifest);
        Self {
            root: target().join("to-add-an-x"),
            page: fs::read_to_string(source.join("ARCHITECTURE.md")).expect("the page"),
            files: files.into(),
        }
    }

    /// The row for `x`.
    #[track_caller]
    pub fn page(&self, x: &str) -> Row<'_> {
        let begin = format!("| {x} |");
        let row = self.page.lines().find(|line| line.starts_with(&begin));
        let text = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for '{x}'"));
        Row {
            copy: self,
            text: text.to_owned(),
        }
    }

    /// Adds a file, which must be new.
    #[track_caller]
    pub fn create(&self, path: &Path, text: &str) {
        let before = self.files.borrow_mut().insert(path.to_owned(), text.to_owned());
        assert!(before.is_none(), "{} is there already", path.display());
    }

    /// Adds `lines` behind `anchor`, which stands once in the file.
    #[track_caller]
    pub fn insert(&self, path: &Path, anchor: &str, lines: &str) {
        let mut files = self.files.borrow_mut();
        let text = files.get_mut(path).expect("the row names files that are there");
        let count = text.matches(anchor).count();
        assert_eq!(count, 1, "'{}' in {}", anchor.trim(), path.display());
        *text = text.replace(anchor, &format!("{anchor}{lines}"));
    }

    /// Writes the copy, and holds that `cargo test` of it with these arguments passes. What has passed once
    /// is not run again until a file of the copy or the compiler is another one.
    #[track_caller]
    pub fn passes(&self, arguments: &[&str]) {
        let passed = testbed::cache::folder("passed").join(self.digest(arguments));
        if passed.exists() {
            println!("passed before, with the same files and compiler");
            return;
        }
        self.write();
        // Not --locked: the lock file has the packages of all crates, and cargo leaves out those of crates
        // that are not here.
        let cargo = std::env::var_os("CARGO").expect("cargo sets CARGO for its tests");
        let mut command = Command::new(cargo);
        command.args(["test", "--offline", "--quiet"]).args(arguments);
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", target());
        // Build scripts that look at these would run again, here and in the next build of the workspace, with
        // all that depends on them.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if OF_ONE_CRATE.iter().any(|prefix| text.starts_with(prefix)) {
                command.env_remove(&name);
            }
        }
        let output = command.output().expect("cargo can be started again");
        let printed = String::from_utf8_lossy(&output.stdout);
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{complaint}");
        fs::write(&passed, "").unwrap_or_else(|error| panic!("{}: {error}", passed.display()));
    }

    /// Of the files, the compiler and what is run.
    fn digest(&self, arguments: &[&str]) -> String {
        let compiler = Command::new("rustc").arg("-vV").output();
        let mut hasher = DefaultHasher::new();
        (compiler.expect("rustc is here").stdout, arguments).hash(&mut hasher);
        self.files.borrow().hash(&mut hasher);
        format!("to-add-an-x-{:016x}", hasher.finish())
    }

    /// Leaves files alone that are as they should be: cargo goes by their times.
    fn write(&self) {
        let files = self.files.borrow();
        let mut there = Vec::new();
        sources(&self.root, Path::new(FOLDER), &mut |path| {
            there.push(original(path));
        });
        for path in there.iter().filter(|path| !files.contains_key(*path)) {
            let path = copied(path);
            fs::remove_file(self.root.join(&path)).expect("it is ours");
            // A folder that is empty now goes too: cargo takes each in `crates` for a crate.
            let folders = path.ancestors().skip(1);
            folders
                .map_while(|folder| fs::remove_dir(self.root.join(folder)).ok())
                .count();
        }
        for (path, text) in files.iter() {
            let path = self.root.join(copied(path));
            if fs::read_to_string(&path).is_ok_and(|there| there == *text) {
                continue;
            }
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            fs::write(&path, text).expect("it can be written");
        }
    }
}

impl Row<'_> {
    /// The first file that the row has written, with this for `<name>`.
    #[track_caller]
    pub fn new_file(&self, name: &str) -> PathBuf {
        let mut spans = self.text.split('`').skip(1).step_by(2);
        let path = spans.find(|span| span.contains("<name>") && span.ends_with(".rs"));
        let path = path.unwrap_or_else(|| panic!("no new file in {}", self.text));
        PathBuf::from(path.replace("<name>", name))
    }

    /// The file that the row names behind `word`: from the root, or from `src/` of the new file's crate.
    #[track_caller]
    pub fn place_of(&self, word: &str) -> PathBuf {
        let word = format!("`{word}`");
        let behind = self.text.split_once(&word).map(|(_, behind)| behind);
        let behind = behind.unwrap_or_else(|| panic!("{word} is not in {}", self.text));
        let path = behind
            .split('`')
            .skip(1)
            .step_by(2)
            .find(|span| span.ends_with(".rs"));
        let path = Path::new(path.unwrap_or_else(|| panic!("no file behind {word} in {}", self.text)));
        let source: PathBuf = self.new_file("name").iter().take(3).collect();
        let files = self.copy.files.borrow();
        let places = [path.to_owned(), source.join(path)];
        let found = places.into_iter().find(|path| files.contains_key(path));
        found.unwrap_or_else(|| panic!("there is no {}, named behind {word}", path.display()))
    }
}

/// Gives each file below a folder, by its path from `root`.
fn sources(root: &Path, folder: &Path, give: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        match entry.path().is_dir() {
            true => sources(root, &path, give),
            false => give(&path),
        }
    }
}

/// The target directory that this test was built in.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this test's program");
    // target/debug/deps/name-hash
    let directory = program
        .ancestors()
        .nth(3)
        .expect("it is below the target directory");
    directory.to_owned()
}

/// Where a file of the workspace is in the copy.
fn copied(path: &Path) -> PathBuf {
    path.strip_prefix("crates")
        .map_or_else(|_| path.to_owned(), |rest| Path::new(FOLDER).join(rest))
}

/// Which file of the workspace one of the copy is.
fn original(path: &Path) -> PathBuf {
    path.strip_prefix(FOLDER)
        .map_or_else(|_| path.to_owned(), |rest| Path::new("crates").join(rest))
}

/// What cargo tells a test of the crate that it belongs to.
const OF_ONE_CRATE: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_CRATE_"];

/// Instead of `crates`: cargo knows a crate by its path from the workspace, and would take the copy's crates
/// in the target directory, which is shared for what both depend on, for those of the workspace.
const FOLDER: &str = "with-toys";
