//! Functions and operators of expressions.

use super::Fault;
use super::random::{Random, fnv1a, murmur2, permute};
use super::scalar::Scalar;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Arithmetic(Arithmetic),
    Modulo,
    Comparison(Comparison),
    Bitwise(Bitwise),
    Not,
    Is,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    Fnv1a,
    Murmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random(Draw),
    Sqrt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bitwise {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    Uniform,
    Exponential,
    Gaussian,
    Zipfian,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    Exactly(usize),
    /// Up to the maximum of a call.
    AtLeastOne,
    /// The optional argument is `:default_seed`.
    OneOrTwo,
    TwoOrThree,
}

const NAMED: [(&str, Function, Arity); 21] = [
    ("abs", Function::Abs, Arity::Exactly(1)),
    ("debug", Function::Debug, Arity::Exactly(1)),
    ("double", Function::Double, Arity::Exactly(1)),
    ("exp", Function::Exp, Arity::Exactly(1)),
    ("greatest", Function::Greatest, Arity::AtLeastOne),
    ("hash", Function::Murmur2, Arity::OneOrTwo),
    ("hash_fnv1a", Function::Fnv1a, Arity::OneOrTwo),
    ("hash_murmur2", Function::Murmur2, Arity::OneOrTwo),
    ("int", Function::Int, Arity::Exactly(1)),
    ("least", Function::Least, Arity::AtLeastOne),
    ("ln", Function::Ln, Arity::Exactly(1)),
    ("mod", Function::Modulo, Arity::Exactly(2)),
    ("permute", Function::Permute, Arity::TwoOrThree),
    ("pi", Function::Pi, Arity::Exactly(0)),
    ("pow", Function::Power, Arity::Exactly(2)),
    ("power", Function::Power, Arity::Exactly(2)),
    ("random", Function::Random(Draw::Uniform), Arity::Exactly(2)),
    (
        "random_exponential",
        Function::Random(Draw::Exponential),
        Arity::Exactly(3),
    ),
    (
        "random_gaussian",
        Function::Random(Draw::Gaussian),
        Arity::Exactly(3),
    ),
    (
        "random_zipfian",
        Function::Random(Draw::Zipfian),
        Arity::Exactly(3),
    ),
    ("sqrt", Function::Sqrt, Arity::Exactly(1)),
];

impl Function {
    pub fn named(name: &str) -> Option<(Self, Arity)> {
        NAMED
            .iter()
            .find(|(known, ..)| known.eq_ignore_ascii_case(name))
            .map(|(_, function, arity)| (*function, *arity))
    }

    /// Null if any argument is null, except for `IS` and `debug`.
    pub fn apply(self, arguments: &[Scalar], random: &mut Random) -> Result<Scalar, Fault> {
        if arguments.contains(&Scalar::Null) && !matches!(self, Self::Is | Self::Debug) {
            return Ok(Scalar::Null);
        }
        match (self, arguments) {
            (Self::Arithmetic(operator), [one, other]) => operator.apply(*one, *other),
            (Self::Modulo, [one, other]) => modulo(one.integer()?, other.integer()?),
            (Self::Comparison(operator), [one, other]) => operator.apply(*one, *other),
            (Self::Bitwise(operator), [one, other]) => Ok(operator.apply(one.integer()?, other.integer()?)),
            (Self::Not, [one]) => Ok(Scalar::Boolean(!one.boolean()?)),
            (Self::Is, [one, other]) => Ok(Scalar::Boolean(one == other)),
            (Self::Abs, [Scalar::Integer(number)]) => Ok(Scalar::Integer(number.wrapping_abs())),
            (Self::Debug, [one]) => Ok(*one),
            (Self::Int, [one]) => one.integer().map(Scalar::Integer),
            (Self::Abs, [one]) => Ok(Scalar::Double(one.double()?.abs())),
            (Self::Double, [one]) => one.double().map(Scalar::Double),
            (Self::Exp, [one]) => Ok(Scalar::Double(one.double()?.exp())),
            (Self::Ln, [one]) => Ok(Scalar::Double(one.double()?.ln())),
            (Self::Sqrt, [one]) => Ok(Scalar::Double(one.double()?.sqrt())),
            (Self::Pi, _) => Ok(Scalar::Double(std::f64::consts::PI)),
            (Self::Power, [one, other]) => Ok(Scalar::Double(one.double()?.powf(other.double()?))),
            (Self::Least | Self::Greatest, several) => self.extreme(several),
            (Self::Fnv1a, [one, seed]) => Ok(Scalar::Integer(fnv1a(one.integer()?, seed.integer()?))),
            (Self::Murmur2, [one, seed]) => Ok(Scalar::Integer(murmur2(one.integer()?, seed.integer()?))),
            (Self::Permute, [one, size, seed]) => {
                let (one, size, seed) = (one.integer()?, size.integer()?, seed.integer()?);
                wanted(size > 0, "permute", "for the size that is greater than zero")?;
                Ok(Scalar::Integer(permute(one, size, seed)))
            }
            (Self::Random(draw), [low, high, parameter @ ..]) => {
                let (low, high) = (low.integer()?, high.integer()?);
                let parameter = parameter.first().map_or(Ok(0.0), |one| one.double())?;
                draw.apply(low, high, parameter, random).map(Scalar::Integer)
            }
            // The parser checks the number of arguments.
            (_, few) => Err(Fault::Arguments {
                function: format!("{self:?}"),
                wanted: "another number of arguments",
                given: few.len(),
            }),
        }
    }

    /// Minimum or maximum, a double if any argument is one.
    fn extreme(self, several: &[Scalar]) -> Result<Scalar, Fault> {
        let least = self == Self::Least;
        if is_double(several) {
            let numbers: Result<Vec<f64>, Fault> = several.iter().map(|one| one.double()).collect();
            let extreme = numbers?
                .into_iter()
                .reduce(|one, other| if (one < other) == least { one } else { other });
            return Ok(extreme.map_or(Scalar::Null, Scalar::Double));
        }
        let numbers: Result<Vec<i64>, Fault> = several.iter().map(|one| one.integer()).collect();
        let numbers = numbers?.into_iter();
        let extreme = if least { numbers.min() } else { numbers.max() };
        Ok(extreme.map_or(Scalar::Null, Scalar::Integer))
    }
}

impl Arithmetic {
    fn apply(self, one: Scalar, other: Scalar) -> Result<Scalar, Fault> {
        if !is_double(&[one, other]) {
            return self.of_integers(one.integer()?, other.integer()?);
        }
        let (one, other) = (one.double()?, other.double()?);
        Ok(Scalar::Double(match self {
            Self::Add => one + other,
            Self::Subtract => one - other,
            Self::Multiply => one * other,
            Self::Divide => one / other,
        }))
    }

    fn of_integers(self, one: i64, other: i64) -> Result<Scalar, Fault> {
        let (value, sign) = match self {
            Self::Add => (one.checked_add(other), "+"),
            Self::Subtract => (one.checked_sub(other), "-"),
            Self::Multiply => (one.checked_mul(other), "*"),
            Self::Divide if other == 0 => return Err(Fault::DivisionByZero),
            Self::Divide => (one.checked_div(other), "/"),
        };
        value.map(Scalar::Integer).ok_or(Fault::Overflow(sign))
    }
}

fn modulo(one: i64, other: i64) -> Result<Scalar, Fault> {
    if other == 0 {
        return Err(Fault::DivisionByZero);
    }
    Ok(Scalar::Integer(one.wrapping_rem(other)))
}

impl Comparison {
    fn apply(self, one: Scalar, other: Scalar) -> Result<Scalar, Fault> {
        let holds = if is_double(&[one, other]) {
            self.compares(&one.double()?, &other.double()?)
        } else {
            self.compares(&one.integer()?, &other.integer()?)
        };
        Ok(Scalar::Boolean(holds))
    }

    fn compares<T: PartialOrd>(self, one: &T, other: &T) -> bool {
        match self {
            Self::Equal => one == other,
            Self::Unequal => one != other,
            Self::Less => one < other,
            Self::LessOrEqual => one <= other,
        }
    }
}

impl Bitwise {
    fn apply(self, one: i64, other: i64) -> Scalar {
        Scalar::Integer(match self {
            Self::And => one & other,
            Self::Or => one | other,
            Self::Xor => one ^ other,
            // As on x86-64: uses the lowest six bits of the count.
            Self::ShiftLeft => one.wrapping_shl(other as u32),
            Self::ShiftRight => one.wrapping_shr(other as u32),
        })
    }
}

impl Draw {
    fn apply(self, low: i64, high: i64, parameter: f64, random: &mut Random) -> Result<i64, Fault> {
        if low > high {
            return Err(Fault::EmptyRange);
        }
        // The number of values must fit, too.
        high.checked_sub(low)
            .and_then(|span| span.checked_add(1))
            .ok_or(Fault::LargeRange)?;
        match self {
            Self::Exponential => {
                wanted(parameter > 0.0, "random_exponential", "greater than 0")?;
                Ok(random.exponential(low, high, parameter))
            }
            Self::Gaussian => {
                wanted(parameter >= 2.0, "random_gaussian", "of at least 2")?;
                Ok(random.gaussian(low, high, parameter))
            }
            Self::Zipfian => {
                let fits = (1.001..=1000.0).contains(&parameter);
                wanted(fits, "random_zipfian", "from 1.001 to 1000")?;
                Ok(random.zipfian(low, high, parameter))
            }
            Self::Uniform => Ok(random.between(low, high)),
        }
    }
}

fn is_double(values: &[Scalar]) -> bool {
    values.iter().any(|value| matches!(value, Scalar::Double(_)))
}

fn wanted(fits: bool, function: &'static str, wanted: &'static str) -> Result<(), Fault> {
    if fits {
        Ok(())
    } else {
        Err(Fault::Parameter { function, wanted })
    }
}
