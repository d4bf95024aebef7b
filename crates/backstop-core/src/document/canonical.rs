//! JSON in its one canonical form (RFC 8785), and the hash of text.

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The canonical JSON of a value: keys sorted by UTF-16 code units, no white space, numbers as
/// ECMAScript writes them.
///
/// Every number is a double there, so an integer beyond 2⁵³ is written as the nearest double:
/// 9007199254740993 becomes `9007199254740992`.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

/// The SHA-256 of the text's UTF-8 bytes, as `sha256:` and 64 hexadecimal digits.
pub fn sha256_hex(text: &str) -> String {
    let mut out = String::from("sha256:");
    for byte in Sha256::digest(text.as_bytes()) {
        push(&mut out, format_args!("{byte:02x}"));
    }
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index);
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                separate(out, index);
                write_string(out, key);
                out.push(':');
                write_value(out, value);
            }
            out.push('}');
        }
    }
}

fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => push(out, format_args!("\\u{:04x}", u32::from(control))),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// `Number::prototype::toString` of ECMAScript.
fn write_number(out: &mut String, number: &Number) {
    let number = number.as_f64().unwrap_or_default();
    if number == 0.0 {
        // Negative zero too.
        out.push('0');
        return;
    }
    if number < 0.0 {
        out.push('-');
    }
    let (digits, point) = shortest_digits(number.abs());
    let zeros = |count: usize| "0".repeat(count);
    match usize::try_from(point) {
        Ok(whole @ 1..=21) if digits.len() <= whole => {
            push(out, format_args!("{digits}{}", zeros(whole - digits.len())));
        }
        Ok(whole @ 1..=21) => {
            let (whole, fraction) = digits.split_at(whole);
            push(out, format_args!("{whole}.{fraction}"));
        }
        _ if (-5..=0).contains(&point) => {
            let leading = zeros(usize::try_from(-point).unwrap_or_default());
            push(out, format_args!("0.{leading}{digits}"));
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            push(out, format_args!("{first}{dot}{rest}e{:+}", point - 1));
        }
    }
}

/// The fewest digits that read back as the same number, and how many of them stand before the
/// point.
///
/// They come from the JSON library because it breaks ties towards the even digit, as ECMAScript
/// does; the formatting of Rust itself does not.
fn shortest_digits(number: f64) -> (String, i64) {
    let text = Number::from_f64(number).map_or_else(String::new, |number| number.to_string());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    // Lengths of a few hundred at most, so the conversions are exact.
    let point = whole.len() as i64 - (all.len() - significant.len()) as i64
        + exponent.parse::<i64>().unwrap_or_default();
    (significant.trim_end_matches('0').to_owned(), point)
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments)
        .expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Appendix B of RFC 8785: the bits of a double and how it is written.
    #[test]
    fn numbers_match_the_published_vectors() {
        let vectors: [(u64, &str); 24] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ];
        for (bits, expected) in vectors {
            let number = json!(f64::from_bits(bits));
            assert_eq!(canonical_json(&number), expected, "bits {bits:016x}");
        }
    }

    #[test]
    fn keys_sort_by_utf16_code_units() {
        let object = json!({
            "\u{20ac}": "Euro Sign",
            "\r": "Carriage Return",
            "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\u{1f600}": "Emoji: Grinning Face",
            "\u{80}": "Control",
            "\u{f6}": "Latin Small Letter O With Diaeresis",
        });
        let text = canonical_json(&object);
        let expected = [
            "Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew",
        ];
        let found: Vec<usize> = expected
            .iter()
            .map(|word| text.find(word).unwrap())
            .collect();
        assert!(found.is_sorted(), "{text}");
    }

    #[test]
    fn the_example_of_the_standard() {
        let input = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let value: Value = serde_json::from_str(input).unwrap();
        assert_eq!(
            canonical_json(&value),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
    }

    #[test]
    fn integers_are_written_as_doubles() {
        assert_eq!(
            canonical_json(&json!(9_007_199_254_740_991_i64)),
            "9007199254740991"
        );
        assert_eq!(
            canonical_json(&json!(9_007_199_254_740_993_i64)),
            "9007199254740992"
        );
        assert_eq!(canonical_json(&json!(u64::MAX)), "18446744073709552000");
        assert_eq!(canonical_json(&json!(-50)), "-50");
        assert_eq!(canonical_json(&json!(50.0)), "50");
        assert_eq!(canonical_json(&json!({})), "{}");
        assert_eq!(canonical_json(&json!([])), "[]");
    }

    #[test]
    fn hashes_are_those_of_the_text() {
        assert_eq!(
            sha256_hex("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    proptest! {
        #[test]
        fn doubles_read_back(number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            let text = canonical_json(&json!(number));
            prop_assert_eq!(text.parse::<f64>().unwrap(), number);
        }
    }
}
