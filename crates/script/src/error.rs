//! What can be wrong with a script.

use std::sync::Arc;

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{script}:{line}: {fault}")]
pub struct ScriptError {
    /// Its file, or what else it is called.
    pub script: Arc<str>,
    /// Line, from 1, in which the command begins.
    pub line: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with a command of a script. Words are those of the script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is nothing in it.
    #[error("the script has no command")]
    Empty,
    /// A command that begins with a backslash and is none.
    #[error(
        "\\{0} is not a command: the commands are \\set, \\if, \\elif, \\else, \\endif, \\sleep, \\gset, \\aset, \\startpipeline, \
         \\syncpipeline, \\endpipeline, \\setshell and \\shell"
    )]
    Command(String),
    /// A command without what it needs.
    #[error("\\{command} lacks {wanted}")]
    Missing {
        /// The command.
        command: String,
        /// What it needs.
        wanted: &'static str,
    },
    /// A command with too much text after it.
    #[error("\\{command} does not take \"{word}\"")]
    Extra {
        /// The command.
        command: String,
        /// The first word too much.
        word: String,
    },
    /// A variable's name that is none.
    #[error("\"{0}\" is not a variable name: use letters, digits and _, and no digit first")]
    Name(String),
    /// A time of `\sleep` that is none.
    #[error("\\sleep cannot wait for \"{0}\": write a whole number or a :variable, and us, ms or s")]
    Sleep(String),
    /// A word that is not allowed there in an expression.
    #[error("\"{0}\" is not allowed there in an expression")]
    Unexpected(String),
    /// An expression that ends too early.
    #[error("the expression ends before it is complete")]
    Incomplete,
    /// A number beyond what there is.
    #[error("{0} is beyond 64 bits")]
    Literal(String),
    /// A function that there is not.
    #[error("there is no function \"{0}\"")]
    Function(String),
    /// A function with the wrong number of arguments.
    #[error("{function}() takes {wanted}, not {given}")]
    Arguments {
        /// The function.
        function: String,
        /// How many it takes, in words.
        wanted: &'static str,
        /// How many there are.
        given: usize,
    },
    /// Brackets nested deeper than any user writes, or as many operators.
    #[error("the expression is too long, or has too many nested brackets")]
    Deep,
    /// A variable that never gets a value.
    #[error("variable \"{0}\" has no value: give it one with \\set or -D")]
    Unset(String),
    /// A condition's command that does not belong there.
    #[error("\\{0} has no \\if before it")]
    NoIf(&'static str),
    /// A branch after `\else`.
    #[error("\\{0} after \\else")]
    BehindElse(&'static str),
    /// `\if` without its end.
    #[error("\\if has no \\endif after it")]
    NoEndif,
    /// `\gset` or `\aset` without a statement before it.
    #[error("\\{0} must follow a statement")]
    NoStatement(&'static str),
    /// `\gset` or `\aset` inside a pipeline.
    #[error("a statement inside a pipeline cannot have \\gset or \\aset: its results come later")]
    ResultOfPipeline,
    /// A pipeline inside one, or an end without a beginning.
    #[error("\\{0} does not belong there")]
    Pipeline(&'static str),
    /// A pipeline of statements sent as text.
    #[error("there are no pipelines with statements sent as text: use -M extended or prepared")]
    PipelineOfTexts,
    /// A variable within quotes where values are sent separately from the text.
    #[error(
        ":{0} is within quotes, where a value sent separately from the text has no effect: use -M simple, or remove the \
         quotes"
    )]
    Quoted(String),
    /// Statements combined by `\;` where each is sent separately.
    #[error("statements combined by \\; can only be sent as text: use -M simple")]
    Combined,
    /// A quote or a comment that does not end.
    #[error("the text that begins with {0} does not end")]
    Open(&'static str),
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A value beyond 64 bits.
    #[error("a value of {0} is beyond 64 bits")]
    Overflow(&'static str),
    /// A value of a kind that does not do.
    #[error("{from} cannot be used as {to}")]
    Kind {
        /// What it is.
        from: &'static str,
        /// What is wanted.
        to: &'static str,
    },
    /// A range whose end lies before its beginning.
    #[error("a random value of an empty range: its end is below its beginning")]
    EmptyRange,
    /// A range of more than 2^63 values.
    #[error("a random value of too large a range")]
    LargeRange,
    /// A parameter outside the range that a function accepts.
    #[error("{function}() takes a parameter {wanted}")]
    Parameter {
        /// The function.
        function: &'static str,
        /// What it takes.
        wanted: &'static str,
    },
    /// A variable whose text is not a number.
    #[error("the text of variable \"{0}\" is not a value that an expression can use")]
    Malformed(String),
    /// A statement with `\gset` that did not give one row.
    #[error("\\gset expects one row, and the statement gave {0}")]
    Rows(u64),
    /// A program of `\shell` or `\setshell` that failed.
    #[error("\\{command}: {reason}")]
    Shell {
        /// The command.
        command: &'static str,
        /// How.
        reason: String,
    },
}
