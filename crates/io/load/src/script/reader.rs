//! Parses statements up to semicolons, and backslash commands.

use super::names::Names;
use super::statement::{Keep, Part, Statement};
use super::tokens::{Kind, Tokens, variables};
use super::{Error, Fault, Quoting, Step};
use std::sync::Arc;

pub(super) struct Reader<'n> {
    script: Arc<str>,
    quoting: Quoting,
    pub(super) names: &'n mut Names,
    /// Of all scripts until now.
    statements: usize,
    /// Current line, from 1.
    line: usize,
    steps: Vec<Step>,
    lines: Vec<usize>,
    statement: Open,
    blocks: Vec<Block>,
    pipeline: bool,
    /// The last command was a statement, so `\gset` may follow.
    just_stated: bool,
}

pub(super) struct Read {
    pub steps: Vec<Step>,
    pub lines: Vec<usize>,
    pub statements: usize,
}

#[derive(Default)]
struct Open {
    line: usize,
    parts: Vec<Part>,
    combined: bool,
    brackets: u32,
}

struct Block {
    line: usize,
    /// The step to jump from if the condition is false, `None` after `\else`.
    unmet: Option<usize>,
    /// Ends of branches, to continue after `\endif`.
    ends: Vec<usize>,
}

impl<'n> Reader<'n> {
    pub fn new(script: Arc<str>, quoting: Quoting, names: &'n mut Names, statements: usize) -> Self {
        Self {
            script,
            quoting,
            names,
            statements,
            line: 1,
            steps: Vec::new(),
            lines: Vec::new(),
            statement: Open::default(),
            blocks: Vec::new(),
            pipeline: false,
            just_stated: false,
        }
    }

    /// The end of `text` ends a statement.
    pub fn text(&mut self, text: &str) -> Result<(), Error> {
        let mut tokens = Tokens::new(text, self.quoting);
        while let Some((kind, piece)) = tokens
            .next_token()
            .map_err(|fault| self.error(self.line, fault))?
        {
            if kind == Kind::Command {
                self.statement_ends();
                let command = tokens.command();
                self.command(&joined(command))
                    .map_err(|fault| self.error(self.line, fault))?;
                self.line += newlines(command);
            } else {
                self.piece(kind, piece);
            }
            self.line += newlines(piece);
        }
        self.statement_ends();
        // The next text starts on a new line.
        self.line += usize::from(!text.ends_with('\n'));
        Ok(())
    }

    pub fn finish(mut self) -> Result<Read, Error> {
        if let Some(block) = self.blocks.pop() {
            return Err(self.error(block.line, Fault::NoEndif));
        }
        if self.steps.is_empty() {
            return Err(self.error(1, Fault::Empty));
        }
        Ok(Read {
            steps: self.steps,
            lines: self.lines,
            statements: self.statements,
        })
    }

    pub(super) fn error(&self, line: usize, fault: Fault) -> Error {
        Error {
            script: self.script.clone(),
            line,
            fault,
        }
    }

    fn piece(&mut self, kind: Kind, piece: &str) {
        match kind {
            Kind::Semicolon if self.statement.brackets == 0 => return self.statement_ends(),
            Kind::Combining => {
                self.statement.combined = true;
                return self.plain(";");
            }
            Kind::Comment | Kind::Blank if self.statement.parts.is_empty() => return,
            Kind::Opening => self.statement.brackets += 1,
            Kind::Closing => self.statement.brackets = self.statement.brackets.saturating_sub(1),
            Kind::Semicolon | Kind::Comment | Kind::Blank | Kind::Quoted | Kind::Plain | Kind::Command => {}
        }
        if self.statement.parts.is_empty() {
            self.statement.line = self.line;
        }
        let quoted = matches!(kind, Kind::Comment | Kind::Quoted);
        for (text, name) in variables(piece) {
            match name {
                None => self.plain(text),
                Some(name) => {
                    let variable = self.names.used(name);
                    let name = text.into();
                    self.statement.parts.push(Part::Variable {
                        variable,
                        name,
                        quoted,
                    });
                }
            }
        }
    }

    fn plain(&mut self, text: &str) {
        match self.statement.parts.last_mut() {
            Some(Part::Text(plain)) => plain.push_str(text),
            Some(Part::Variable { .. }) | None => self.statement.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn statement_ends(&mut self) {
        let mut open = std::mem::take(&mut self.statement);
        if let Some(Part::Text(last)) = open.parts.last_mut() {
            last.truncate(last.trim_end().len());
            if last.is_empty() {
                open.parts.pop();
            }
        }
        if open.parts.is_empty() {
            return;
        }
        let number = self.statements;
        self.statements += 1;
        self.push(
            open.line,
            Step::Statement(Statement {
                number,
                line: open.line,
                parts: open.parts,
                combined: open.combined,
                keep: None,
            }),
        );
        self.just_stated = true;
    }

    fn push(&mut self, line: usize, step: Step) {
        self.steps.push(step);
        self.lines.push(line);
    }

    pub(super) fn step(&mut self, step: Step) {
        self.just_stated = false;
        self.push(self.line, step);
    }

    pub(super) fn opens(&mut self, condition: super::Expression) {
        self.blocks.push(Block {
            line: self.line,
            unmet: Some(self.steps.len()),
            ends: Vec::new(),
        });
        self.step(Step::Unless {
            condition,
            otherwise: 0,
        });
    }

    /// Ends a branch at `\elif` or `\else`.
    pub(super) fn branches(
        &mut self,
        command: &'static str,
        condition: Option<super::Expression>,
    ) -> Result<(), Fault> {
        let next = self.steps.len() + 1;
        let end = self.steps.len();
        let block = self.blocks.last_mut().ok_or(Fault::NoIf(command))?;
        let unmet = block.unmet.take().ok_or(Fault::BehindElse(command))?;
        block.ends.push(end);
        block.unmet = condition.is_some().then_some(next);
        self.goes_on(unmet, next);
        self.step(Step::Jump(0));
        if let Some(condition) = condition {
            self.step(Step::Unless {
                condition,
                otherwise: 0,
            });
        }
        Ok(())
    }

    pub(super) fn closes(&mut self) -> Result<(), Fault> {
        let block = self.blocks.pop().ok_or(Fault::NoIf("endif"))?;
        let here = self.steps.len();
        for step in block.ends.into_iter().chain(block.unmet) {
            self.goes_on(step, here);
        }
        self.just_stated = false;
        Ok(())
    }

    /// Sets the target of the jump `step`.
    fn goes_on(&mut self, step: usize, to: usize) {
        match self.steps.get_mut(step) {
            Some(Step::Unless { otherwise, .. }) => *otherwise = to,
            Some(Step::Jump(target)) => *target = to,
            _ => {}
        }
    }

    /// Applies `\gset` or `\aset` to the preceding statement.
    pub(super) fn keeps(&mut self, command: &'static str, keep: Keep) -> Result<(), Fault> {
        if self.pipeline {
            return Err(Fault::ResultOfPipeline);
        }
        match self.steps.last_mut() {
            Some(Step::Statement(statement)) if self.just_stated && statement.keep.is_none() => {
                self.names.begin_with(keep.prefix())?;
                statement.keep = Some(keep);
                Ok(())
            }
            _ => Err(Fault::NoStatement(command)),
        }
    }

    pub(super) fn pipelines(&mut self, command: &'static str, step: Step) -> Result<(), Fault> {
        let begins = step == Step::StartPipeline;
        if begins == self.pipeline {
            return Err(Fault::Pipeline(command));
        }
        self.pipeline = step != Step::EndPipeline;
        self.step(step);
        Ok(())
    }
}

/// Joins continued lines with blanks.
fn joined(command: &str) -> String {
    command.replace("\\\r\n", " ").replace("\\\n", " ")
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}
