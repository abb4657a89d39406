//! Keys, and requests to the program.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenKey {
    Char(char),
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Interrupt,
    Suspend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenRequest {
    Quit,
    Interrupt,
    /// Suspends the process, with the terminal restored meanwhile.
    Suspend,
    WritePage,
    SetBaseline,
    /// Sums from the beginning again.
    RemoveBaseline,
    Move(TimeStep),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeStep {
    /// Seconds back (negative) or forward.
    Seconds(i32),
    Begin,
    End,
}
