//! longwire
fn main() {}
