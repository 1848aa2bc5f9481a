//! Numbers: whole ones stay whole, nothing overflows or becomes endless without an error.

use std::cmp::Ordering;
use std::fmt;

use fixed_decimal::{Decimal, FloatPrecision, SignedRoundingMode, UnsignedRoundingMode};
use minijinja::Value;

use super::stop::FillStop;

/// Floats up to here print without an exponent.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A number of a value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Whole(i128),
    Float(f64),
}

/// Half away from zero.
pub(super) const HALF_AWAY: SignedRoundingMode = SignedRoundingMode::Unsigned(UnsignedRoundingMode::HalfExpand);

/// An operator on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Power,
}

impl Arithmetic {
    /// As it is written.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::FloorDivide => "//",
            Arithmetic::Remainder => "%",
            Arithmetic::Power => "**",
        }
    }
}

impl Number {
    /// The number a value holds; true and false are none.
    pub(super) fn from_value(value: &Value) -> Option<Number> {
        if !value.is_number() {
            return None;
        }
        if !value.is_integer() {
            return f64::try_from(value.clone()).ok().map(Number::Float);
        }
        match value.as_i64() {
            Some(whole) => Some(Number::Whole(whole.into())),
            None => i128::try_from(value.clone()).ok().map(Number::Whole),
        }
    }

    /// Reads a text such as ` 12 ` or `1.5`.
    pub(super) fn parse(text: &str) -> Option<Number> {
        let text = text.trim();
        match text.parse::<i128>() {
            Ok(whole) => Some(Number::Whole(whole)),
            Err(_) => text.parse::<f64>().ok().filter(|float| float.is_finite()).map(Number::Float),
        }
    }

    /// As a float.
    pub(super) fn float(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Float(float) => float,
        }
    }

    /// The decimal that it is written as: 10.075, and not the float a little below it. `None`: it is endless.
    pub(super) fn decimal(self) -> Option<Decimal> {
        match self {
            Number::Whole(whole) => Some(Decimal::from(whole)),
            Number::Float(float) => Decimal::try_from_f64(float, FloatPrecision::RoundTrip).ok(),
        }
    }

    /// As JSON has it, unless it is too large there.
    pub(super) fn json(self) -> Option<serde_json::Number> {
        match self {
            Number::Whole(whole) => serde_json::Number::from_i128(whole),
            Number::Float(float) => serde_json::Number::from_f64(float),
        }
    }

    /// A value, unless the number is too large for JSON readers.
    pub(super) fn into_value(self) -> Result<Value, FillStop> {
        let too_large = || FillStop::failed("a number grows too large here");
        match self {
            Number::Whole(whole) => match (i64::try_from(whole), u64::try_from(whole)) {
                (Ok(small), _) => Ok(Value::from(small)),
                (_, Ok(large)) => Ok(Value::from(large)),
                _ => Err(too_large()),
            },
            // Zero has no sign, so 0 is added: -0.0 becomes 0.0.
            Number::Float(float) if float.is_finite() => Ok(Value::from(float + 0.0)),
            Number::Float(_) => Err(too_large()),
        }
    }

    /// Calculates; two whole numbers give a whole one, but for `/` and negative powers.
    pub(super) fn calculate(self, operator: Arithmetic, other: Number) -> Result<Value, FillStop> {
        use Arithmetic::{Add, Divide, FloorDivide, Multiply, Power, Remainder, Subtract};
        if matches!(operator, Divide | FloorDivide | Remainder) && other.float() == 0.0 {
            return Err(FillStop::failed("a number cannot be divided by 0"));
        }
        if let (Number::Whole(a), Number::Whole(b)) = (self, other) {
            let whole = match operator {
                Add => a.checked_add(b),
                Subtract => a.checked_sub(b),
                Multiply => a.checked_mul(b),
                FloorDivide => a.checked_div(b).map(|whole| if (a % b != 0) && ((a < 0) != (b < 0)) { whole - 1 } else { whole }),
                Remainder => a.checked_rem(b).map(|rest| if rest != 0 && ((rest < 0) != (b < 0)) { rest + b } else { rest }),
                Power if b >= 0 => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
                Power | Divide => return Number::Float(self.by_float(operator, other)).into_value(),
            };
            return whole.map_or(Number::Float(f64::INFINITY), Number::Whole).into_value();
        }
        Number::Float(self.by_float(operator, other)).into_value()
    }

    fn by_float(self, operator: Arithmetic, other: Number) -> f64 {
        let (a, b) = (self.float(), other.float());
        match operator {
            Arithmetic::Add => a + b,
            Arithmetic::Subtract => a - b,
            Arithmetic::Multiply => a * b,
            Arithmetic::Divide => a / b,
            Arithmetic::FloorDivide => ((a - floor_remainder(a, b)) / b).round(),
            Arithmetic::Remainder => floor_remainder(a, b),
            Arithmetic::Power => a.powf(b),
        }
    }

    /// The order of two numbers, whole or not; zero has no sign.
    pub(super) fn order(self, other: Number) -> Ordering {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
            (a, b) => (a.float() + 0.0).total_cmp(&(b.float() + 0.0)),
        }
    }
}

/// The rest of a division that is rounded down: it has the sign of the divisor.
fn floor_remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && ((rest < 0.0) != (b < 0.0)) { rest + b } else { rest }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(whole) => write!(f, "{whole}"),
            Number::Float(float) if float.abs() < EXACT => write!(f, "{}", if *float == 0.0 { 0.0 } else { *float }),
            Number::Float(float) => write!(f, "{float:e}"),
        }
    }
}
