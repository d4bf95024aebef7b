//! Numbers, and the plain scalars of YAML's core schema.

use super::tree::Value;

/// A decimal literal without underscores: an integer if it looks like one and fits.
pub(super) fn decimal(literal: &str) -> Value {
    match literal.parse::<i64>() {
        Ok(integer) => Value::Integer(integer),
        // What reaches this has the form of a number, which `f64` always reads.
        Err(_) => Value::Float(literal.parse().unwrap_or(f64::NAN)),
    }
}

/// Digits in the given base, with an optional sign.
pub(super) fn integer(digits: &str, radix: u32) -> Value {
    if radix == 10 {
        return decimal(digits);
    }
    i64::from_str_radix(digits, radix).map_or_else(
        |_| {
            let digits = digits.chars().filter_map(|digit| digit.to_digit(radix));
            Value::Float(digits.fold(0.0, |sum, digit| sum * f64::from(radix) + f64::from(digit)))
        },
        Value::Integer,
    )
}

/// What an unquoted YAML scalar means by the core schema of YAML 1.2.
pub(super) fn yaml_plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        _ => {}
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|digit| digit.is_digit(radix))
        {
            return integer(digits, radix);
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        let negative = text.starts_with('-');
        return Value::Float(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    if is_yaml_number(unsigned) {
        decimal(text)
    } else {
        Value::String(text.to_owned())
    }
}

/// `[0-9]+`, or `( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`.
fn is_yaml_number(unsigned: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    exponent_fits && digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let strings = [
            "yes", "no", "on", "off", "y", "nULL", "tRUE", "1_000", "0b1", "0x", "0xg", "-0x1",
            "0o8", ".", "+", "-", "e5", "1e", "1e+", "..1", "1.2.3", "inf", "nan", "-.nan",
            "12:30", "1 2", "٣",
        ];
        for text in strings {
            assert_eq!(yaml_plain(text), Value::String(text.to_owned()), "{text}");
        }
        let integers = [
            ("0", 0),
            ("-0", 0),
            ("+12", 12),
            ("-7", -7),
            ("0x1F", 31),
            ("0o17", 15),
            ("010", 10),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ];
        for (text, expected) in integers {
            assert_eq!(yaml_plain(text), Value::Integer(expected), "{text}");
        }
        let floats = [
            ("1.", 1.0),
            (".5", 0.5),
            ("-1.5e3", -1500.0),
            ("1e3", 1000.0),
            ("+.5E-1", 0.05),
            (".inf", f64::INFINITY),
            ("-.INF", f64::NEG_INFINITY),
            ("+.Inf", f64::INFINITY),
            ("9223372036854775808", 9_223_372_036_854_775_808.0),
            ("0xFFFFFFFFFFFFFFFF", 18_446_744_073_709_551_615.0),
            ("1e999", f64::INFINITY),
        ];
        for (text, expected) in floats {
            assert_eq!(yaml_plain(text), Value::Float(expected), "{text}");
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            assert_eq!(yaml_plain(text), Value::Null);
        }
        assert!(matches!(yaml_plain(".NaN"), Value::Float(number) if number.is_nan()));
        assert_eq!(yaml_plain("True"), Value::Bool(true));
        assert_eq!(yaml_plain("FALSE"), Value::Bool(false));
    }
}
