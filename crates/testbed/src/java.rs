//! Compiles single-file Java programs and runs them with JDBC drivers named by Maven coordinates.
//!
//! Maven fetches each driver once (`~/.m2`); a copy in [`cache::folder`] saves later runs of Maven.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::cache;
use crate::process::{require, run};

#[derive(Debug)]
pub struct JavaProgram {
    classes: TempDir,
    main: String,
}

impl JavaProgram {
    /// Compiles `source` against `jars`; the main class has the name of the file.
    pub fn compile(source: &Path, jars: &[PathBuf]) -> Self {
        let classes = tempfile::Builder::new().prefix("testbed-java-").tempdir();
        let classes = classes.unwrap_or_else(|error| panic!("temporary directory: {error}"));
        let main = source
            .file_stem()
            .unwrap_or_else(|| panic!("{}: not a Java source", source.display()));
        let main = main.to_string_lossy().into_owned();
        let mut compiler = Command::new(require("javac"));
        compiler
            .args(["-encoding", "UTF-8", "-Xlint:all", "-Werror", "-d"])
            .arg(classes.path())
            .arg("-classpath")
            .arg(class_path(classes.path(), jars))
            .arg(source);
        run(compiler);
        Self { classes, main }
    }

    /// Runs the program with `jars` on the class path; the caller adds arguments.
    pub fn command(&self, jars: &[PathBuf]) -> Command {
        let mut command = Command::new(require("java"));
        command
            .args(QUICK_START)
            .arg("-classpath")
            .arg(class_path(self.classes.path(), jars))
            .arg(&self.main);
        command
    }
}

/// The jars of `coordinates`, each `group:artifact:version`, without dependencies, since drivers
/// have none. Maven fetches missing jars.
pub fn jars(coordinates: &[&str]) -> Vec<PathBuf> {
    let directory = cache::folder("java");
    let wanted: Vec<Artifact<'_>> = coordinates.iter().map(|text| Artifact::parse(text)).collect();
    // Other tests and processes may fetch the same at this time.
    let lock = File::create(directory.join("lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let missing: Vec<&Artifact<'_>> = wanted
        .iter()
        .filter(|artifact| !artifact.file(&directory).exists())
        .collect();
    if !missing.is_empty() {
        fetch(&missing, &directory);
    }
    wanted.iter().map(|artifact| artifact.file(&directory)).collect()
}

/// The jar of the JDBC bridge, built by Maven if older than its sources.
pub fn bridge() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bridges/jdbc");
    let jar = project.join("target/longwire-jdbc.jar");
    let lock =
        File::create(cache::folder("java").join("bridge-lock")).and_then(|file| file.lock().map(|()| file));
    let _lock = lock.unwrap_or_else(|error| panic!("{}: {error}", project.display()));
    if is_older(
        &jar,
        &[project.join("src/longwire/jdbc"), project.join("pom.xml")],
    ) {
        let mut maven = Command::new(require("mvn"));
        maven.args(["--quiet", "--batch-mode", "--file"]);
        maven.arg(project.join("pom.xml")).arg("package");
        run(maven);
    }
    jar
}

/// Whether `file` is missing, or older than `sources` or files in them.
fn is_older(file: &Path, sources: &[PathBuf]) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    let Some(made) = changed(file) else {
        return true;
    };
    let within = |source: &PathBuf| {
        let entries = std::fs::read_dir(source).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let mut all = sources
        .iter()
        .flat_map(|source| [within(source), vec![source.clone()]].concat());
    all.any(|source| changed(&source) > Some(made))
}

struct Artifact<'a> {
    group: &'a str,
    name: &'a str,
    version: &'a str,
}

impl<'a> Artifact<'a> {
    fn parse(coordinate: &'a str) -> Self {
        match coordinate.split(':').collect::<Vec<_>>()[..] {
            [group, name, version] => Self { group, name, version },
            _ => panic!("'{coordinate}' is not group:artifact:version"),
        }
    }

    fn file(&self, directory: &Path) -> PathBuf {
        directory.join(format!("{}-{}.jar", self.name, self.version))
    }

    fn element(&self) -> String {
        let Self { group, name, version } = self;
        format!(
            "<artifactItem><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></artifactItem>"
        )
    }
}

/// Maven copies `artifacts` into a subdirectory first, so that a jar in `directory` is always
/// complete.
fn fetch(artifacts: &[&Artifact<'_>], directory: &Path) {
    let maven = require("mvn");
    let arriving =
        tempfile::tempdir_in(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let project = arriving.path().join("pom.xml");
    let items: String = artifacts.iter().map(|artifact| artifact.element()).collect();
    std::fs::write(&project, PROJECT.replace("ITEMS", &items))
        .unwrap_or_else(|error| panic!("{}: {error}", project.display()));
    let mut command = Command::new(maven);
    command.args(["--quiet", "--batch-mode", "--file"]).arg(&project);
    command
        .arg("dependency:copy")
        .arg(format!("-DoutputDirectory={}", arriving.path().display()));
    run(command);
    for artifact in artifacts {
        let (from, to) = (artifact.file(arriving.path()), artifact.file(directory));
        std::fs::rename(&from, &to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}

fn class_path(classes: &Path, jars: &[PathBuf]) -> String {
    let mut parts = vec![classes.display().to_string()];
    parts.extend(jars.iter().map(|jar| jar.display().to_string()));
    parts.join(":")
}

/// Half of a JVM's start is its compilers and garbage collector.
const QUICK_START: [&str; 3] = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto"];

/// A project that only copies jars. The plug-in's version is fixed because Maven's default is from
/// 2013.
const PROJECT: &str = "<project>
<modelVersion>4.0.0</modelVersion>
<groupId>testbed</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
<build><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId><version>3.6.1</version>
<configuration><artifactItems>ITEMS</artifactItems></configuration>
</plugin></plugins></build>
</project>
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "'postgresql' is not group:artifact:version")]
    fn a_coordinate_has_three_parts() {
        Artifact::parse("postgresql");
    }

    #[test]
    fn a_jar_is_named_as_maven_names_it() {
        let artifact = Artifact::parse("org.postgresql:postgresql:42.7.4");
        assert_eq!(
            artifact.file(Path::new("java")),
            Path::new("java/postgresql-42.7.4.jar")
        );
    }
}
