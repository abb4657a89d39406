use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{script}:{line}: {fault}")]
pub struct Error {
    /// File name or other name of the script.
    pub script: Arc<str>,
    /// First line of the command, from 1.
    pub line: usize,
    pub fault: Fault,
}

/// Faults of a command. Words come from the script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the script has no command")]
    Empty,
    /// An unknown backslash command.
    #[error(
        "\\{0} is not a command: the commands are \\set, \\if, \\elif, \\else, \\endif, \\sleep, \\gset, \\aset, \\startpipeline, \
         \\syncpipeline, \\endpipeline, \\setshell and \\shell"
    )]
    Command(String),
    #[error("\\{command} lacks {wanted}")]
    Missing { command: String, wanted: &'static str },
    #[error("\\{command} does not take \"{word}\"")]
    Extra {
        command: String,
        /// The first extra word.
        word: String,
    },
    #[error("\"{0}\" is not a variable name: use letters, digits and _, and no digit first")]
    Name(String),
    #[error("\\sleep cannot wait for \"{0}\": write a whole number or a :variable, and us, ms or s")]
    Sleep(String),
    #[error("\"{0}\" is not allowed there in an expression")]
    Unexpected(String),
    #[error("the expression ends before it is complete")]
    Incomplete,
    #[error("{0} is beyond 64 bits")]
    Literal(String),
    #[error("there is no function \"{0}\"")]
    Function(String),
    #[error("{function}() takes {wanted}, not {given}")]
    Arguments {
        function: String,
        wanted: &'static str,
        given: usize,
    },
    /// Too many nested brackets or operators.
    #[error("the expression is too long, or has too many nested brackets")]
    Deep,
    /// A variable never gets a value.
    #[error("variable \"{0}\" has no value: give it one with \\set or -D")]
    Unset(String),
    /// Outside of an `\if` block.
    #[error("\\{0} has no \\if before it")]
    NoIf(&'static str),
    /// A branch after `\else`.
    #[error("\\{0} after \\else")]
    BehindElse(&'static str),
    #[error("\\if has no \\endif after it")]
    NoEndif,
    #[error("\\{0} must follow a statement")]
    NoStatement(&'static str),
    #[error("a statement inside a pipeline cannot have \\gset or \\aset: its results come later")]
    ResultOfPipeline,
    /// A nested pipeline, or an end without a start.
    #[error("\\{0} does not belong there")]
    Pipeline(&'static str),
    /// A pipeline in simple mode.
    #[error("there are no pipelines with statements sent as text: use -M extended or prepared")]
    PipelineOfTexts,
    /// A quoted variable in a mode with separate values.
    #[error(
        ":{0} is within quotes, where a value sent separately from the text has no effect: use -M simple, or remove the \
         quotes"
    )]
    Quoted(String),
    /// Statements combined by `\;` in a mode that sends each separately.
    #[error("statements combined by \\; can only be sent as text: use -M simple")]
    Combined,
    #[error("the text that begins with {0} does not end")]
    Open(&'static str),
    #[error("division by zero")]
    DivisionByZero,
    #[error("a value of {0} is beyond 64 bits")]
    Overflow(&'static str),
    #[error("{from} cannot be used as {to}")]
    Kind { from: &'static str, to: &'static str },
    #[error("a random value of an empty range: its end is below its beginning")]
    EmptyRange,
    /// More than 2^63 values.
    #[error("a random value of too large a range")]
    LargeRange,
    #[error("{function}() takes a parameter {wanted}")]
    Parameter {
        function: &'static str,
        wanted: &'static str,
    },
    #[error("the text of variable \"{0}\" is not a value that an expression can use")]
    Malformed(String),
    /// `\gset` requires exactly one row.
    #[error("\\gset expects one row, and the statement gave {0}")]
    Rows(u64),
    #[error("\\{command}: {reason}")]
    Shell { command: &'static str, reason: String },
}
