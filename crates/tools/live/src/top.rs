//! What the screen of `top` shows: a run that goes on, or a recording at any moment.

pub mod forecasts;
pub mod live;
pub mod page;
pub mod recorded;
pub mod source;
