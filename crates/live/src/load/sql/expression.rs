//! Expressions of `\set`: whole numbers, variables, `+ - * / %`, brackets and `random(low, high)`.

use super::script::Random;
use std::collections::HashMap;

/// An expression, read once and evaluated for each operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expression {
    Number(i64),
    Variable(usize),
    Negative(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// Drawn from the whole range, both ends included.
    Random(Box<Expression>, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Something is missing, or too much.
    #[error("an expression is whole numbers, :variables, + - * / %, brackets and random(low, high)")]
    Syntax,
    /// A variable is used before a `\set` gave it a value.
    #[error("a variable is used before a \\set gave it a value")]
    Unset,
    /// Brackets in brackets, deeper than anybody writes.
    #[error("the expression has too many brackets in brackets")]
    Deep,
    /// A division by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A value beyond 64 bits.
    #[error("a value is beyond 64 bits")]
    Overflow,
    /// `random` of a range whose end lies before its beginning.
    #[error("random(low, high) with low greater than high")]
    EmptyRange,
}

impl Expression {
    /// Reads `text`; `names` are the variables that have a value.
    pub fn parse(text: &str, names: &HashMap<String, usize>) -> Result<Self, Fault> {
        let mut reading = Reading {
            rest: text.trim(),
            names,
            depth: 0,
        };
        let expression = reading.sum()?;
        if reading.rest.is_empty() {
            Ok(expression)
        } else {
            Err(Fault::Syntax)
        }
    }

    /// Its value now.
    pub fn evaluate(&self, values: &[i64], random: &mut Random) -> Result<i64, Fault> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Variable(variable) => values.get(*variable).copied().ok_or(Fault::Unset),
            Self::Negative(inner) => {
                let value = inner.evaluate(values, random)?;
                value.checked_neg().ok_or(Fault::Overflow)
            }
            Self::Binary(operator, one, other) => {
                let (one, other) = (one.evaluate(values, random)?, other.evaluate(values, random)?);
                operator.apply(one, other)
            }
            Self::Random(low, high) => {
                let (low, high) = (low.evaluate(values, random)?, high.evaluate(values, random)?);
                if low > high {
                    Err(Fault::EmptyRange)
                } else {
                    Ok(random.between(low, high))
                }
            }
        }
    }
}

impl Operator {
    fn apply(self, one: i64, other: i64) -> Result<i64, Fault> {
        if other == 0 && matches!(self, Self::Over | Self::Modulo) {
            return Err(Fault::DivisionByZero);
        }
        let value = match self {
            Self::Plus => one.checked_add(other),
            Self::Minus => one.checked_sub(other),
            Self::Times => one.checked_mul(other),
            Self::Over => one.checked_div(other),
            Self::Modulo => one.checked_rem(other),
        };
        value.ok_or(Fault::Overflow)
    }
}

struct Reading<'a> {
    rest: &'a str,
    names: &'a HashMap<String, usize>,
    depth: u32,
}

impl<'a> Reading<'a> {
    fn sum(&mut self) -> Result<Expression, Fault> {
        let mut sum = self.product()?;
        loop {
            let operator = match self.take_one_of("+-") {
                Some('+') => Operator::Plus,
                Some(_) => Operator::Minus,
                None => return Ok(sum),
            };
            sum = Expression::Binary(operator, Box::new(sum), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, Fault> {
        let mut product = self.factor()?;
        loop {
            let operator = match self.take_one_of("*/%") {
                Some('*') => Operator::Times,
                Some('/') => Operator::Over,
                Some(_) => Operator::Modulo,
                None => return Ok(product),
            };
            product = Expression::Binary(operator, Box::new(product), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Expression, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::Deep);
        }
        let factor = match self.take_one_of("-(:") {
            Some('-') => Expression::Negative(Box::new(self.factor()?)),
            Some('(') => {
                let inner = self.sum()?;
                self.expect(")")?;
                inner
            }
            Some(_) => {
                let name = self.word();
                Expression::Variable(*self.names.get(name).ok_or(Fault::Unset)?)
            }
            None => self.number_or_random()?,
        };
        self.depth -= 1;
        Ok(factor)
    }

    fn number_or_random(&mut self) -> Result<Expression, Fault> {
        let word = self.word();
        if word != "random" {
            return word.parse().map(Expression::Number).map_err(|_| Fault::Syntax);
        }
        self.expect("(")?;
        let low = self.sum()?;
        self.expect(",")?;
        let high = self.sum()?;
        self.expect(")")?;
        Ok(Expression::Random(Box::new(low), Box::new(high)))
    }

    fn word(&mut self) -> &'a str {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let end = self
            .rest
            .find(|letter| !is_part(letter))
            .unwrap_or(self.rest.len());
        let (word, behind) = self.rest.split_at(end);
        self.rest = behind.trim_start();
        word
    }

    fn expect(&mut self, text: &'static str) -> Result<(), Fault> {
        self.take_one_of(text).map(|_| ()).ok_or(Fault::Syntax)
    }

    /// The next letter, when it is one of `letters`.
    fn take_one_of(&mut self, letters: &'static str) -> Option<char> {
        let letter = self
            .rest
            .chars()
            .next()
            .filter(|letter| letters.contains(*letter))?;
        self.rest = self
            .rest
            .get(letter.len_utf8()..)
            .unwrap_or_default()
            .trim_start();
        Some(letter)
    }
}

const DEEPEST: u32 = 100;
