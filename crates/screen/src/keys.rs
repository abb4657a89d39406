//! Keys, and what they ask of the program around the screen.

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenKey {
    /// One that writes a character.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
    /// Tab.
    Tab,
    /// Tab with shift.
    BackTab,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
}

/// What the program is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenRequest {
    /// To end.
    Quit,
    /// To end as interrupted.
    Interrupt,
    /// To stop until the shell lets it go on, the terminal as it was meanwhile.
    Suspend,
    /// To write the page.
    WritePage,
    /// To sum up from now on.
    SetBaseline,
    /// To sum up from the beginning again.
    RemoveBaseline,
    /// To go to another moment of the recording.
    Move(TimeStep),
}

/// To which moment of a recording to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeStep {
    /// So many seconds back (below 0) or on.
    Seconds(i32),
    /// To its beginning.
    Begin,
    /// To its end.
    End,
}
