//! The functions of pages that are still written as text; to be removed with the last of them.

use super::{attribution, markup};
use crate::text::escape::printable;
use maud::{PreEscaped, Render};
use model::Attribution;
use std::fmt;

/// Text from outside, escaped for element content and quoted attributes.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable(self.0).as_ref().render().0)
    }
}

pub fn statement(text: &str, out: &mut String) {
    out.push_str(&markup::harmless(markup::statement(text)).0);
}

pub fn small_print(text: &str, out: &mut String) {
    out.push_str(&markup::harmless(markup::small_print(PreEscaped(text))).0);
}

pub fn bar(attribution: &Attribution, out: &mut String) {
    out.push_str(&markup::harmless(attribution::bar(attribution)).0);
}

pub fn labels(attribution: &Attribution, operations: u64, client: &str, out: &mut String) {
    out.push_str(&markup::harmless(attribution::labels(attribution, operations, client)).0);
}
