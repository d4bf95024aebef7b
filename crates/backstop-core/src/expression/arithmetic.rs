//! Arithmetic on numbers: whole with whole stays whole, and any fraction makes a fraction.

use super::node::Arithmetic;
use super::value::Value;

/// The result, or why there is none. Only for two numbers.
pub(super) fn numbers<'a>(
    operation: Arithmetic,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<Result<Value<'a>, String>> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(whole(operation, *left, *right)),
        (Value::Int(left), Value::Float(right)) => Some(fractions(operation, *left as f64, *right)),
        (Value::Float(left), Value::Int(right)) => Some(fractions(operation, *left, *right as f64)),
        (Value::Float(left), Value::Float(right)) => Some(fractions(operation, *left, *right)),
        _ => None,
    }
}

fn whole<'a>(operation: Arithmetic, left: i64, right: i64) -> Result<Value<'a>, String> {
    if right == 0 && matches!(operation, Arithmetic::Divide | Arithmetic::Remainder) {
        return Err(BY_ZERO.to_owned());
    }
    match operation {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
    }
    .map(Value::Int)
    .ok_or_else(|| TOO_LARGE.to_owned())
}

fn fractions<'a>(operation: Arithmetic, left: f64, right: f64) -> Result<Value<'a>, String> {
    let result = match operation {
        Arithmetic::Add => left + right,
        Arithmetic::Subtract => left - right,
        Arithmetic::Multiply => left * right,
        // CEL gives infinity or not-a-number here, and a comparison with those is a silent "no".
        Arithmetic::Divide if right == 0.0 => return Err(BY_ZERO.to_owned()),
        Arithmetic::Divide => left / right,
        Arithmetic::Remainder => return Err("`%` works on whole numbers only".to_owned()),
    };
    if result.is_finite() { Ok(Value::Float(result)) } else { Err(TOO_LARGE.to_owned()) }
}

const BY_ZERO: &str = "division by zero";
/// Why a number is not given: also for conversions and negation.
pub(super) const TOO_LARGE: &str = "a number got too large";
