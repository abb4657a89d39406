//! The screen of `longwire top`: what is drawn, and what keys do.
//!
//! [`Screen`] holds the state. It is given a [`Snapshot`] of the run once or twice a second, and keys;
//! [`Screen::draw`] fills a buffer of the terminal's size. It knows neither terminal nor clock: the time is
//! in the snapshots, so that tests draw any moment at any size.
//!
//! Start reading at [`Screen`], then [`snapshot`] and `rows`.

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
