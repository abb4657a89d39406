//! The screen of `longwire top` and its keys.
//!
//! [`Screen`] holds the state. It receives a [`Snapshot`] once or twice a second, and keys;
//! [`Screen::draw`] fills a buffer of the terminal's size. It uses neither terminal nor clock:
//! times are in the snapshots, so tests can draw any moment at any size.
//!
//! Start reading at [`Screen`], then [`snapshot`] and `rows`.

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

mod baseline;
mod distance;
mod figures;
mod history;
mod keys;
mod look;
mod rows;
pub mod snapshot;
mod state;
mod tab;
mod view;

pub use distance::COST_RTT;
pub use history::WINDOW;
pub use keys::{ScreenKey, ScreenRequest, TimeStep};
pub use look::{Glyphs, ScreenLook};
pub use snapshot::{LinkForecast, Position, RingCounts, Snapshot};
pub use state::{Screen, Wants};
pub use tab::Tab;
