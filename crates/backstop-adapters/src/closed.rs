//! A JSON document that was cut off, up to where it was whole.

use crate::framing::encoding::decoded;

/// The document with everything behind its last complete value left out, and what is open then
/// closed; none if the bytes are no object or list that was cut off.
///
/// It takes one pass, and never more memory than the document and its depth.
pub fn closed(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = decoded(bytes);
    let mut cut = Cut::default();
    for (at, &byte) in text.iter().enumerate() {
        cut.read(at, byte)?;
    }
    if cut.open.is_empty() {
        return None;
    }
    let mut whole = text[..cut.sound].to_vec();
    whole.extend(cut.open.iter().rev());
    Some(whole)
}

/// Follows a document from byte to byte.
#[derive(Default)]
struct Cut {
    /// The brackets that will close what is open, the outermost first.
    open: Vec<u8>,
    in_string: bool,
    escaped: bool,
    /// The string that is read, or the next one, is a key.
    is_key: bool,
    /// Up to here everything is whole, but for the brackets.
    sound: usize,
}

impl Cut {
    /// None if this can't be the beginning of one document.
    fn read(&mut self, at: usize, byte: u8) -> Option<()> {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    if !self.is_key {
                        self.sound = at + 1;
                    }
                }
                _ => {}
            }
            return Some(());
        }
        match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                // Nothing follows a document that has ended, and a key has no brackets.
                let is_misplaced = self.is_key || (self.open.is_empty() && self.sound > 0);
                if is_misplaced || self.open.len() >= DEEPEST {
                    return None;
                }
                self.open.push(if is_object { b'}' } else { b']' });
                self.is_key = is_object;
                self.sound = at + 1;
            }
            b'}' | b']' => {
                if self.open.pop() != Some(byte) {
                    return None;
                }
                self.is_key = false;
                self.sound = at + 1;
            }
            b',' => {
                self.is_key = *self.open.last()? == b'}';
                self.sound = at;
            }
            b':' => self.is_key = false,
            b'"' => {
                self.open.last()?;
                self.in_string = true;
            }
            byte if byte.is_ascii_whitespace() => {}
            // Part of a number or of a word. What comes behind it tells whether it is complete.
            _ => _ = self.open.last()?,
        }
        Some(())
    }
}

/// As deep as a parser reads.
const DEEPEST: usize = 127;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    #[rstest]
    #[case(r#"{"a":1,"b":[{"c":"x"},{"d":"cut"#, Some(r#"{"a":1,"b":[{"c":"x"},{}]}"#))]
    #[case(r#"{"a":"x","key"#, Some(r#"{"a":"x"}"#))]
    #[case(r#"{"a":"x","key":"#, Some(r#"{"a":"x"}"#))]
    #[case(r#"{"a":"}]\"","b":tr"#, Some(r#"{"a":"}]\""}"#))]
    #[case(r#"[1,2,3"#, Some("[1,2]"))]
    #[case("[", Some("[]"))]
    #[case("\u{feff}{\"a\":[", Some(r#"{"a":[]}"#))]
    #[case(r#"{"a":1}"#, None)]
    #[case(r#"{"a":1} {"b":"#, None)]
    #[case("{\"a\":1}\n{\"b\":", None)]
    #[case("text {", None)]
    #[case("[}", None)]
    #[case("", None)]
    fn what_is_open_is_closed(#[case] text: &str, #[case] expected: Option<&str>) {
        let closed = closed(text.as_bytes()).map(|closed| String::from_utf8(closed).unwrap());
        assert_eq!(closed.as_deref(), expected);
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(closed("[".repeat(1_000_000).as_bytes()), None);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            r#"[a-z"\\{}\[\],:é]{0,6}"#.prop_map(Value::from),
        ];
        let inner = leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z\"]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        });
        prop::collection::vec(inner, 0..4).prop_map(Value::from)
    }

    proptest! {
        #[test]
        fn any_cut_document_can_be_read(value in value(), cut in any::<prop::sample::Index>()) {
            let text = value.to_string();
            let cut = 1 + cut.index(text.len() - 1).min(text.len().saturating_sub(2));
            let closed = closed(&text.as_bytes()[..cut]).expect("it is open");
            prop_assert!(serde_json::from_slice::<Value>(&closed).is_ok(), "{text} {cut}");
        }

        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = closed(&bytes);
        }
    }
}
