//! Copies some crates of the workspace, adds files, and runs their tests.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy, and the page "To add an X".
pub struct Copied {
    root: PathBuf,
    /// Of the crates. Not named `crates`, because cargo identifies a crate by its path in the
    /// workspace, and would confuse the copies with the originals in the shared target directory.
    folder: String,
    page: String,
    /// Contents of the copy by path from the root.
    files: std::cell::RefCell<BTreeMap<PathBuf, String>>,
}

/// A row of the table "To add an X".
pub struct Row<'a> {
    copy: &'a Copied,
    text: String,
}

impl Copied {
    /// `name` is the folder of this copy in the target directory.
    pub fn new(name: &str, crates: &[&str]) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = BTreeMap::new();
        let mut take = |path: &Path| {
            let text = fs::read_to_string(source.join(path)).expect("sources are text");
            files.insert(path.to_owned(), text);
        };
        take(Path::new("Cargo.lock"));
        for each in crates {
            let root = Path::new("crates").join(each);
            take(&root.join("Cargo.toml"));
            for folder in ["src", "benches"] {
                sources(&source, &root.join(folder), &mut take);
            }
        }
        let manifest = fs::read_to_string(source.join("Cargo.toml")).expect("the manifest");
        let folder = format!("with-{name}");
        let (before, members) = manifest.split_once("\nmembers = [").expect("a workspace");
        let (_, after) = members.split_once(']').expect("a list of members");
        let members: Vec<String> = crates.iter().map(|each| format!("\"crates/{each}\"")).collect();
        let manifest = format!("{before}\nmembers = [{}]{after}", members.join(", "));
        let manifest = manifest.replace("\"crates/", &format!("\"{folder}/"));
        files.insert("Cargo.toml".into(), manifest);
        Self {
            root: target().join(name),
            folder,
            page: fs::read_to_string(source.join("ARCHITECTURE.md")).expect("the page"),
            files: files.into(),
        }
    }

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

    /// Adds a new file.
    #[track_caller]
    pub fn create(&self, path: &Path, text: &str) {
        let before = self.files.borrow_mut().insert(path.to_owned(), text.to_owned());
        assert!(before.is_none(), "{} is there already", path.display());
    }

    /// Inserts `lines` after `anchor`, which occurs once in the file.
    #[track_caller]
    pub fn insert(&self, path: &Path, anchor: &str, lines: &str) {
        let mut files = self.files.borrow_mut();
        let text = files.get_mut(path).expect("the row names files that are there");
        let count = text.matches(anchor).count();
        assert_eq!(count, 1, "'{}' in {}", anchor.trim(), path.display());
        *text = text.replace(anchor, &format!("{anchor}{lines}"));
    }

    /// Writes the copy and runs `cargo test`, which must pass. A successful run is repeated only if
    /// a file or the compiler changes.
    #[track_caller]
    pub fn passes(&self, arguments: &[&str]) {
        let passed = testbed::cache::folder("passed").join(self.digest(arguments));
        if passed.exists() {
            println!("passed before, with the same files and compiler");
            return;
        }
        self.write();
        // Not --locked: the lock file lists the packages of all crates, and cargo removes those of
        // missing crates.
        let cargo = std::env::var_os("CARGO").expect("cargo sets CARGO for its tests");
        let mut command = Command::new(cargo);
        command.args(["test", "--offline", "--quiet"]).args(arguments);
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", target());
        // These variables would make build scripts run again, here and in the next build of the
        // workspace.
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

    /// Of files, compiler and arguments.
    fn digest(&self, arguments: &[&str]) -> String {
        let compiler = Command::new("rustc").arg("-vV").output();
        let mut hasher = DefaultHasher::new();
        (compiler.expect("rustc is here").stdout, arguments).hash(&mut hasher);
        self.files.borrow().hash(&mut hasher);
        format!("to-add-an-x-{:016x}", hasher.finish())
    }

    /// Leaves unchanged files alone: cargo compares modification times.
    fn write(&self) {
        let files = self.files.borrow();
        let mut there = Vec::new();
        sources(&self.root, Path::new(&self.folder), &mut |path| {
            there.push(renamed(path, &self.folder, "crates"));
        });
        for path in there.iter().filter(|path| !files.contains_key(*path)) {
            let path = renamed(path, "crates", &self.folder);
            fs::remove_file(self.root.join(&path)).expect("it is ours");
            // Removes empty folders: cargo takes each folder in `crates` for a crate.
            let folders = path.ancestors().skip(1);
            folders
                .map_while(|folder| fs::remove_dir(self.root.join(folder)).ok())
                .count();
        }
        for (path, text) in files.iter() {
            let path = self.root.join(renamed(path, "crates", &self.folder));
            if fs::read_to_string(&path).is_ok_and(|there| there == *text) {
                continue;
            }
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
            fs::write(&path, text).expect("it can be written");
        }
    }
}

impl Row<'_> {
    /// The row's first file, with `<name>` replaced.
    #[track_caller]
    pub fn new_file(&self, name: &str) -> PathBuf {
        let mut spans = self.text.split('`').skip(1).step_by(2);
        let path = spans.find(|span| span.contains("<name>") && span.ends_with(".rs"));
        let path = path.unwrap_or_else(|| panic!("no new file in {}", self.text));
        PathBuf::from(path.replace("<name>", name))
    }

    /// The file that the row names after `word`: relative to the root, or to `src/` of the new
    /// file's crate.
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
        let new = self.new_file("name");
        let source = new
            .ancestors()
            .find(|folder| folder.ends_with("src"))
            .expect("it is in a src");
        let files = self.copy.files.borrow();
        let places = [path.to_owned(), source.join(path)];
        let found = places.into_iter().find(|path| files.contains_key(path));
        found.unwrap_or_else(|| panic!("there is no {}, named behind {word}", path.display()))
    }
}

/// Passes each file below a folder to `give`, by path from `root`.
fn sources(root: &Path, folder: &Path, give: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let path = folder.join(entry.file_name());
        match entry.path().is_dir() {
            true => sources(root, &path, give),
            false => give(&path),
        }
    }
}

/// The target directory of this test.
fn target() -> PathBuf {
    let program = std::env::current_exe().expect("this test's program");
    // target/debug/deps/name-hash
    let directory = program
        .ancestors()
        .nth(3)
        .expect("it is below the target directory");
    directory.to_owned()
}

fn renamed(path: &Path, from: &str, to: &str) -> PathBuf {
    path.strip_prefix(from)
        .map_or_else(|_| path.to_owned(), |rest| Path::new(to).join(rest))
}

/// Variables that cargo sets for the tests of one crate.
const OF_ONE_CRATE: [&str; 3] = ["CARGO_MANIFEST_", "CARGO_PKG_", "CARGO_CRATE_"];
