use super::reader::Reader;
use super::shell::Words;
use super::statement::Keep;
use super::syntax::expression;
use super::{Count, Fault, Pause, Step};
use std::time::Duration;

impl Reader<'_> {
    /// Parses a command without the backslash.
    pub(super) fn command(&mut self, text: &str) -> Result<(), Fault> {
        let (command, rest) = cut(text);
        match command.to_ascii_lowercase().as_str() {
            "set" => self.set(rest),
            "if" => {
                let condition = self.condition("if", rest)?;
                self.opens(condition);
                Ok(())
            }
            "elif" => {
                let condition = self.condition("elif", rest)?;
                self.branches("elif", Some(condition))
            }
            "else" => alone("else", rest).and_then(|()| self.branches("else", None)),
            "endif" => alone("endif", rest).and_then(|()| self.closes()),
            "sleep" => {
                let pause = self.pause(rest)?;
                self.step(Step::Sleep(pause));
                Ok(())
            }
            "gset" => {
                let prefix = prefix("gset", rest)?;
                self.keeps("gset", Keep::One { prefix })
            }
            "aset" => {
                let prefix = prefix("aset", rest)?;
                self.keeps("aset", Keep::All { prefix })
            }
            "startpipeline" => {
                alone("startpipeline", rest)?;
                self.pipelines("startpipeline", Step::StartPipeline)
            }
            "syncpipeline" => {
                alone("syncpipeline", rest)?;
                self.pipelines("syncpipeline", Step::SyncPipeline)
            }
            "endpipeline" => {
                alone("endpipeline", rest)?;
                self.pipelines("endpipeline", Step::EndPipeline)
            }
            "setshell" => {
                let (name, rest) = cut(rest);
                let variable = self.name("setshell", name)?;
                self.shell("setshell", Some(variable), rest)
            }
            "shell" => self.shell("shell", None, rest),
            _ => Err(Fault::Command(command.to_owned())),
        }
    }

    fn set(&mut self, rest: &str) -> Result<(), Fault> {
        let (name, text) = cut(rest);
        let variable = self.name("set", name)?;
        if text.is_empty() {
            return Err(missing("set", "an expression"));
        }
        let value = expression(text, self.names)?;
        self.step(Step::Set { variable, value });
        Ok(())
    }

    fn name(&mut self, command: &str, name: &str) -> Result<usize, Fault> {
        if name.is_empty() {
            return Err(missing(command, "the name of a variable"));
        }
        self.names.given(name)
    }

    fn condition(&mut self, command: &str, text: &str) -> Result<super::Expression, Fault> {
        if text.is_empty() {
            return Err(missing(command, "a condition"));
        }
        expression(text, self.names)
    }

    fn shell(&mut self, command: &'static str, variable: Option<usize>, rest: &str) -> Result<(), Fault> {
        if rest.is_empty() {
            return Err(missing(command, "a program"));
        }
        let words = Words::parse(command, rest, self.names);
        self.step(Step::Shell { variable, words });
        Ok(())
    }

    /// `10 ms`, `10ms`, `:pause us`; seconds without a unit.
    fn pause(&mut self, text: &str) -> Result<Pause, Fault> {
        let (mut count, mut rest) = cut(text);
        if count.is_empty() {
            return Err(missing("sleep", "how long to wait"));
        }
        let digits = count
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(count.len());
        if digits > 0 && digits < count.len() && rest.is_empty() {
            (count, rest) = count.split_at(digits);
        }
        let (unit, behind) = cut(rest);
        if !behind.is_empty() {
            return Err(extra("sleep", behind));
        }
        let fault = || Fault::Sleep(text.to_owned());
        let unit = match unit.to_ascii_lowercase().as_str() {
            "us" => Duration::from_micros(1),
            "ms" => Duration::from_millis(1),
            "s" | "" => Duration::from_secs(1),
            _ => return Err(fault()),
        };
        let count = match count.strip_prefix(':') {
            Some(name) => Count::Variable(self.names.used(name)),
            None => Count::Number(count.parse().map_err(|_| fault())?),
        };
        Ok(Pause { count, unit })
    }
}

/// Splits off the first word.
fn cut(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (word, rest.trim_start())
}

fn prefix(command: &str, rest: &str) -> Result<String, Fault> {
    let (prefix, behind) = cut(rest);
    if behind.is_empty() {
        Ok(prefix.to_owned())
    } else {
        Err(extra(command, behind))
    }
}

fn alone(command: &str, rest: &str) -> Result<(), Fault> {
    if rest.is_empty() {
        Ok(())
    } else {
        Err(extra(command, rest))
    }
}

fn extra(command: &str, rest: &str) -> Fault {
    Fault::Extra {
        command: command.to_owned(),
        word: cut(rest).0.to_owned(),
    }
}

fn missing(command: &str, wanted: &'static str) -> Fault {
    Fault::Missing {
        command: command.to_owned(),
        wanted,
    }
}
