//! Parses expressions of scripts.
//!
//! The precedence from lowest is `OR`, `AND`, `NOT`, `IS` and `ISNULL`, comparisons,
//! `| # & << >> ~`, `+ -`, `* / %`, signs. Chained comparisons and chained `IS` need brackets.

use super::Fault;
use super::expression::Expression;
use super::functions::{Arithmetic, Arity, Bitwise, Comparison, Function};
use super::names::Names;
use super::scalar::Scalar;

pub(super) fn expression(text: &str, names: &mut Names) -> Result<Expression, Fault> {
    let mut reading = Reading {
        tokens: tokens(text)?.into_iter().peekable(),
        names,
        depth: 0,
        operators: 0,
    };
    let expression = reading.at_least(0)?;
    match reading.tokens.next() {
        None => Ok(expression),
        Some(token) => Err(Fault::Unexpected(token.to_owned())),
    }
}

/// Precedence of binary operators.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITS: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const SIGN: u8 = 9;

const BETWEEN: [(&str, u8, Function); 16] = [
    ("<", COMPARISON, Function::Comparison(Comparison::Less)),
    ("<=", COMPARISON, Function::Comparison(Comparison::LessOrEqual)),
    ("=", COMPARISON, Function::Comparison(Comparison::Equal)),
    ("<>", COMPARISON, Function::Comparison(Comparison::Unequal)),
    ("!=", COMPARISON, Function::Comparison(Comparison::Unequal)),
    (">", COMPARISON, Function::Comparison(Comparison::Less)),
    (">=", COMPARISON, Function::Comparison(Comparison::LessOrEqual)),
    ("|", BITS, Function::Bitwise(Bitwise::Or)),
    ("#", BITS, Function::Bitwise(Bitwise::Xor)),
    ("&", BITS, Function::Bitwise(Bitwise::And)),
    ("<<", BITS, Function::Bitwise(Bitwise::ShiftLeft)),
    (">>", BITS, Function::Bitwise(Bitwise::ShiftRight)),
    ("+", SUM, Function::Arithmetic(Arithmetic::Add)),
    ("-", SUM, Function::Arithmetic(Arithmetic::Subtract)),
    ("*", PRODUCT, Function::Arithmetic(Arithmetic::Multiply)),
    ("/", PRODUCT, Function::Arithmetic(Arithmetic::Divide)),
];

struct Reading<'t, 'n> {
    tokens: std::iter::Peekable<std::vec::IntoIter<&'t str>>,
    names: &'n mut Names,
    depth: u32,
    /// Each may nest one level deeper.
    operators: u32,
}

impl<'t> Reading<'t, '_> {
    /// Parses an expression with operators of at least this precedence.
    fn at_least(&mut self, tightness: u8) -> Result<Expression, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Fault::Deep);
        }
        let mut one = self.first()?;
        // Limits chaining without brackets.
        let mut above = u8::MAX;
        while let Some(token) = self.tokens.peek().copied() {
            let Some(binds) = binds(token).filter(|binds| *binds >= tightness) else {
                break;
            };
            if binds == above {
                return Err(Fault::Unexpected(token.to_owned()));
            }
            self.tokens.next();
            self.operators += 1;
            if self.operators > MAX_OPERATORS {
                return Err(Fault::Deep);
            }
            above = if matches!(binds, COMPARISON | IS) {
                binds
            } else {
                u8::MAX
            };
            one = self.joined(one, token, binds)?;
        }
        self.depth -= 1;
        Ok(one)
    }

    fn joined(&mut self, one: Expression, token: &str, binds: u8) -> Result<Expression, Fault> {
        if binds == IS {
            return self.is(one, token);
        }
        let other = self.at_least(binds + 1)?;
        Ok(match binds {
            OR => Expression::Or(Box::new([one, other])),
            AND => Expression::And(Box::new([one, other])),
            _ => {
                let function = BETWEEN
                    .iter()
                    .find(|(known, ..)| *known == token)
                    .map_or(Function::Modulo, |(.., function)| *function);
                let sides = if matches!(token, ">" | ">=") {
                    [other, one]
                } else {
                    [one, other]
                };
                Expression::Call(function, Box::new(sides))
            }
        })
    }

    /// `IS [NOT] NULL|TRUE|FALSE`, `ISNULL`, `NOTNULL`.
    fn is(&mut self, one: Expression, token: &str) -> Result<Expression, Fault> {
        let (negative, value) = if token.eq_ignore_ascii_case("is") {
            let negative = self.accept_word("not");
            let word = self.tokens.next().ok_or(Fault::Incomplete)?;
            let value = constant(word).ok_or_else(|| Fault::Unexpected(word.to_owned()))?;
            (negative, value)
        } else {
            (token.eq_ignore_ascii_case("notnull"), Scalar::Null)
        };
        let is = Expression::Call(Function::Is, Box::new([one, Expression::Constant(value)]));
        Ok(if negative {
            Expression::Call(Function::Not, Box::new([is]))
        } else {
            is
        })
    }

    /// Parses a primary expression.
    fn first(&mut self) -> Result<Expression, Fault> {
        let token = self.tokens.next().ok_or(Fault::Incomplete)?;
        match token {
            "(" => {
                let inner = self.at_least(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            "+" => self.at_least(SIGN),
            "-" => self.negative(),
            "~" => {
                let inner = self.at_least(BITS + 1)?;
                let ones = Expression::Constant(Scalar::Integer(-1));
                Ok(Expression::Call(
                    Function::Bitwise(Bitwise::Xor),
                    Box::new([ones, inner]),
                ))
            }
            _ => self.named(token),
        }
    }

    fn negative(&mut self) -> Result<Expression, Fault> {
        // The minimum integer has no positive counterpart.
        if self.tokens.next_if_eq(&MIN_INTEGER_DIGITS).is_some() {
            return Ok(Expression::Constant(Scalar::Integer(i64::MIN)));
        }
        let inner = self.at_least(SIGN)?;
        let zero = Expression::Constant(Scalar::Integer(0));
        Ok(Expression::Call(
            Function::Arithmetic(Arithmetic::Subtract),
            Box::new([zero, inner]),
        ))
    }

    fn named(&mut self, token: &'t str) -> Result<Expression, Fault> {
        if let Some(name) = token.strip_prefix(':') {
            return Ok(Expression::Variable(self.names.used(name)));
        }
        if let Some(value) = constant(token) {
            return Ok(Expression::Constant(value));
        }
        if token.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            return number(token).map(Expression::Constant);
        }
        if token.eq_ignore_ascii_case("not") {
            let inner = self.at_least(NOT)?;
            return Ok(Expression::Call(Function::Not, Box::new([inner])));
        }
        if token.eq_ignore_ascii_case("case") {
            return self.case();
        }
        if !token.starts_with(|letter: char| letter.is_alphabetic() || letter == '_') {
            return Err(Fault::Unexpected(token.to_owned()));
        }
        self.call(token)
    }

    fn case(&mut self) -> Result<Expression, Fault> {
        let mut branches = Vec::new();
        while self.accept_word("when") {
            let condition = self.at_least(0)?;
            self.expect("then")?;
            branches.push([condition, self.at_least(0)?]);
        }
        if branches.is_empty() {
            self.expect("when")?;
        }
        let otherwise = if self.accept_word("else") {
            self.at_least(0)?
        } else {
            Expression::Constant(Scalar::Null)
        };
        self.expect("end")?;
        Ok(Expression::Case(branches.into(), Box::new(otherwise)))
    }

    fn call(&mut self, name: &str) -> Result<Expression, Fault> {
        let (function, arity) = Function::named(name).ok_or_else(|| Fault::Function(name.to_owned()))?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.accept_word(")") {
            if !arguments.is_empty() {
                self.expect(",")?;
            }
            arguments.push(self.at_least(0)?);
        }
        let given = arguments.len();
        let (fits, wanted) = match arity {
            Arity::Exactly(0) => (given == 0, "no argument"),
            Arity::Exactly(1) => (given == 1, "one argument"),
            Arity::Exactly(2) => (given == 2, "two arguments"),
            Arity::Exactly(count) => (given == count, "three arguments"),
            Arity::AtLeastOne => ((1..=MAX_ARGUMENTS).contains(&given), "1 to 16 arguments"),
            Arity::OneOrTwo => ((1..=2).contains(&given), "one or two arguments"),
            Arity::TwoOrThree => ((2..=3).contains(&given), "two or three arguments"),
        };
        if !fits {
            let function = name.to_owned();
            return Err(Fault::Arguments {
                function,
                wanted,
                given,
            });
        }
        if (arity == Arity::OneOrTwo && given == 1) || (arity == Arity::TwoOrThree && given == 2) {
            arguments.push(Expression::Variable(Names::DEFAULT_SEED));
        }
        Ok(Expression::Call(function, arguments.into()))
    }

    fn accept_word(&mut self, word: &str) -> bool {
        self.tokens
            .next_if(|token| token.eq_ignore_ascii_case(word))
            .is_some()
    }

    fn expect(&mut self, word: &str) -> Result<(), Fault> {
        match self.tokens.next() {
            Some(token) if token.eq_ignore_ascii_case(word) => Ok(()),
            Some(token) => Err(Fault::Unexpected(token.to_owned())),
            None => Err(Fault::Incomplete),
        }
    }
}

fn binds(token: &str) -> Option<u8> {
    let word = |word: &str| token.eq_ignore_ascii_case(word);
    if word("or") {
        Some(OR)
    } else if word("and") {
        Some(AND)
    } else if word("is") || word("isnull") || word("notnull") {
        Some(IS)
    } else if token == "%" {
        Some(PRODUCT)
    } else {
        BETWEEN
            .iter()
            .find(|(known, ..)| *known == token)
            .map(|(_, binds, _)| *binds)
    }
}

fn constant(word: &str) -> Option<Scalar> {
    [
        ("null", Scalar::Null),
        ("true", Scalar::Boolean(true)),
        ("false", Scalar::Boolean(false)),
    ]
    .into_iter()
    .find(|(known, _)| known.eq_ignore_ascii_case(word))
    .map(|(_, value)| value)
}

fn number(token: &str) -> Result<Scalar, Fault> {
    if token.bytes().all(|byte| byte.is_ascii_digit()) {
        return token
            .parse()
            .map(Scalar::Integer)
            .map_err(|_| Fault::Literal(token.to_owned()));
    }
    match token.parse() {
        Ok(number) if f64::is_finite(number) => Ok(Scalar::Double(number)),
        Ok(_) => Err(Fault::Literal(token.to_owned())),
        Err(_) => Err(Fault::Unexpected(token.to_owned())),
    }
}

/// Splits an expression into words, numbers, variables and operators.
fn tokens(text: &str) -> Result<Vec<&str>, Fault> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            ':' => 1 + name_length(rest.get(1..).unwrap_or_default()),
            letter if letter.is_ascii_digit() || letter == '.' => number_length(rest),
            letter if is_name(letter) => name_length(rest),
            _ if SIGNS.iter().any(|sign| rest.starts_with(sign)) => 2,
            letter => letter.len_utf8(),
        };
        let (token, behind) = rest.split_at(length.max(1));
        if token == ":" || token == "." || token == "\\" {
            return Err(Fault::Unexpected(token.to_owned()));
        }
        tokens.push(token);
        rest = behind.trim_start();
    }
    Ok(tokens)
}

const SIGNS: [&str; 6] = ["<=", ">=", "<>", "!=", "<<", ">>"];

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii()
}

fn name_length(text: &str) -> usize {
    text.find(|letter| !is_name(letter)).unwrap_or(text.len())
}

/// Digits, a point with digits, an exponent.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        from + rest
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(rest.len())
    };
    let mut end = digits(0);
    if text.get(end..).is_some_and(|rest| rest.starts_with('.')) {
        end = digits(end + 1);
    }
    if let Some(exponent) = text.get(end..).and_then(|rest| rest.strip_prefix(['e', 'E'])) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let behind = digits(end + 1 + sign);
        if behind > end + 1 + sign {
            end = behind;
        }
    }
    end
}

/// Equals 2^63.
const MIN_INTEGER_DIGITS: &str = "9223372036854775808";
const DEEPEST: u32 = 100;
const MAX_OPERATORS: u32 = 200;
const MAX_ARGUMENTS: usize = 16;
