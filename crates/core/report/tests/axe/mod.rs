//! Runs Deque's axe on a page in a browser.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use testbed::Browser;

pub struct Axe {
    browser: Browser,
    script: String,
}

impl Axe {
    pub fn start() -> Self {
        Self {
            browser: Browser::start(1400, 900),
            script: std::fs::read_to_string(script()).expect("axe is text"),
        }
    }

    /// Tests the widths of a phone and a desktop, light and dark.
    pub fn clean(&self, name: &str, html: &str) {
        let directory = tempfile::tempdir().expect("a private directory can be made");
        let file = directory.path().join("page.html");
        std::fs::write(&file, html).expect("the page can be written");
        for (width, scheme) in [(390, "light"), (390, "dark"), (1400, "light"), (1400, "dark")] {
            self.browser.resize(width, 900);
            let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
            self.browser.devtools("Emulation.setEmulatedMedia", &feature);
            self.browser.open(&file);
            self.browser.run(&self.script);
            let is = self
                .browser
                .run("return [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]");
            assert_eq!(
                is,
                json!([width, scheme == "dark"]),
                "{name}: what the page is shown in"
            );
            let found = self.browser.run(
                "return axe.run().then((result) => [result.passes.length, result.violations.map((one) =>
                   one.id + ': ' + one.nodes.map((node) => node.target + ' ' + node.html).join(' | '))])",
            );
            let passed = found[0].as_u64().unwrap_or_default();
            assert!(passed > 10, "{name}: axe looked at something: {found}");
            assert_eq!(
                found[1],
                Value::Array(Vec::new()),
                "{name}, {width} pixels, {scheme}"
            );
        }
    }
}

fn script() -> PathBuf {
    let environment = testbed::python::environment(&["axe-core-python==0.1.0"]);
    let root = environment.parent().unwrap_or(Path::new("/"));
    let libraries = std::fs::read_dir(root.join("lib")).expect("an environment has a lib");
    libraries
        .filter_map(|library| {
            Some(
                library
                    .ok()?
                    .path()
                    .join("site-packages/axe_core_python/axe.min.js"),
            )
        })
        .find(|script| script.is_file())
        .expect("the package has the script")
}
