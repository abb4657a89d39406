//! Expressions, parsed once and evaluated per operation.

use super::functions::Function;
use super::names::Names;
use super::random::Random;
use super::scalar::Scalar;
use super::{Debug, Fault, Value};

#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    Constant(Scalar),
    Variable(usize),
    /// A function or operator that evaluates all arguments.
    Call(Function, Box<[Expression]>),
    /// Evaluates the second argument only if the first is true.
    And(Box<[Expression; 2]>),
    /// Evaluates the second argument only if the first is false.
    Or(Box<[Expression; 2]>),
    /// Conditions with values, then the default.
    Case(Box<[[Expression; 2]]>, Box<Expression>),
}

pub struct Environment<'e> {
    pub values: &'e [Option<Value>],
    pub names: &'e Names,
    pub random: &'e mut Random,
    pub debug: Option<&'e Debug>,
    pub script: &'e str,
    pub line: usize,
}

impl Expression {
    /// Finds a variable that is never assigned.
    pub fn check(&self, names: &Names) -> Result<(), Fault> {
        let mut unset = None;
        self.variables(&mut |variable| {
            if unset.is_none() && !names.may_be_set(variable) {
                unset = Some(variable);
            }
        });
        match unset {
            Some(variable) => Err(Fault::Unset(names.name(variable).to_owned())),
            None => Ok(()),
        }
    }

    pub fn evaluate(&self, environment: &mut Environment<'_>) -> Result<Scalar, Fault> {
        match self {
            Self::Constant(value) => Ok(*value),
            Self::Variable(variable) => environment.value(*variable),
            Self::Call(function, arguments) => call(*function, arguments, environment),
            Self::And(sides) => logical(sides, true, environment),
            Self::Or(sides) => logical(sides, false, environment),
            Self::Case(branches, otherwise) => {
                for [condition, value] in branches {
                    if condition.evaluate(environment)?.truth() {
                        return value.evaluate(environment);
                    }
                }
                otherwise.evaluate(environment)
            }
        }
    }

    /// Calls `look` with each variable.
    pub fn variables(&self, look: &mut dyn FnMut(usize)) {
        match self {
            Self::Constant(_) => {}
            Self::Variable(variable) => look(*variable),
            Self::Call(_, arguments) => arguments.iter().for_each(|each| each.variables(look)),
            Self::And(sides) | Self::Or(sides) => sides.iter().for_each(|each| each.variables(look)),
            Self::Case(branches, otherwise) => {
                branches.iter().flatten().for_each(|each| each.variables(look));
                otherwise.variables(look);
            }
        }
    }
}

impl Environment<'_> {
    fn value(&self, variable: usize) -> Result<Scalar, Fault> {
        let name = || self.names.name(variable).to_owned();
        match self.values.get(variable) {
            Some(Some(Value::Computed(value))) => Ok(*value),
            Some(Some(Value::Text(text))) => Scalar::parse(text).ok_or_else(|| Fault::Malformed(name())),
            Some(None) | None => Err(Fault::Unset(name())),
        }
    }
}

/// `AND` continues if the first side is true, `OR` if it is false, and null stays null.
fn logical(
    [one, other]: &[Expression; 2],
    goes_on: bool,
    environment: &mut Environment<'_>,
) -> Result<Scalar, Fault> {
    let value = one.evaluate(environment)?;
    if value == Scalar::Null || value.boolean()? != goes_on {
        return Ok(value);
    }
    let value = other.evaluate(environment)?;
    if value != Scalar::Null {
        value.boolean()?;
    }
    Ok(value)
}

fn call(
    function: Function,
    arguments: &[Expression],
    environment: &mut Environment<'_>,
) -> Result<Scalar, Fault> {
    match arguments {
        [] => function.apply(&[], environment.random),
        [one] => {
            let value = one.evaluate(environment)?;
            if function == Function::Debug {
                print_debug(value, environment);
            }
            function.apply(&[value], environment.random)
        }
        [one, other] => {
            let values = [one.evaluate(environment)?, other.evaluate(environment)?];
            function.apply(&values, environment.random)
        }
        more => {
            let values: Result<Vec<Scalar>, Fault> =
                more.iter().map(|each| each.evaluate(environment)).collect();
            function.apply(&values?, environment.random)
        }
    }
}

fn print_debug(value: Scalar, environment: &Environment<'_>) {
    if let Some(debug) = environment.debug {
        let text = match value {
            Scalar::Null => "null".to_owned(),
            Scalar::Boolean(_) | Scalar::Integer(_) | Scalar::Double(_) => {
                format!("{} {value}", value.kind())
            }
        };
        debug(&format!(
            "{}:{}: debug: {text}",
            environment.script, environment.line
        ));
    }
}
