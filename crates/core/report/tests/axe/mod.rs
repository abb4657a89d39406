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

    /// Tests the widths of a phone and a desktop, light and dark; and that charts can be read.
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
            for (script, fault) in [(UNTITLED, "charts without titled axes"), (UNREADABLE, "labels")] {
                let found = self.browser.run(script);
                assert_eq!(found, json!([]), "{name}, {width} pixels: {fault}");
            }
        }
    }
}

/// Charts without a title on each axis, at least one of which has a unit. A bar has its figures next
/// to it, a map has no axes.
const UNTITLED: &str = r"
    const titles = (svg) => [...(svg.closest('.waterfall') ?? svg).querySelectorAll('.axis')].map((title) => title.textContent);
    return [...document.querySelectorAll('svg')]
      .filter((svg) => svg.checkVisibility() && !svg.matches('.bar, .places, [aria-hidden]'))
      .filter((svg) => titles(svg).length < 2 || titles(svg).some((title) => /^$|\(\)/.test(title)) ||
        !titles(svg).some((title) => /\(.+\)/.test(title)))
      .map((svg) => svg.getAttribute('aria-label'));";

/// Labels of a drawing that overlap, or leave it.
const UNREADABLE: &str = "
    const found = [];
    for (const svg of document.querySelectorAll('svg')) {
      const edge = svg.getBoundingClientRect();
      const texts = [...svg.querySelectorAll('text')].filter((text) => text.checkVisibility());
      const places = texts.map((text) => text.getBoundingClientRect());
      places.forEach((a, one) => {
        if (a.left < edge.left - 1 || a.right > edge.right + 1) found.push(texts[one].textContent);
        places.slice(one + 1).forEach((b, other) => {
          const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          if (wide > 1 && high > 3) found.push(texts[one].textContent + ' / ' + texts[one + 1 + other].textContent);
        });
      });
    }
    return found;";

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
