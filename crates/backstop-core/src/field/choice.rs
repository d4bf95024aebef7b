//! Fields that hold one of a few names.

/// Makes an enum a field: one of these names.
macro_rules! choices {
    ($type:ty { $($name:literal => $variant:ident),* $(,)? }) => {
        impl $type {
            /// Every name that a document may write, in order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name that documents write.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }
        }

        impl $crate::field::Field for $type {
            fn read(
                node: &$crate::document::Node,
                key: &str,
                findings: &mut $crate::field::Findings,
            ) -> Option<Self> {
                let $crate::document::Value::String(text) = &node.value else {
                    findings.wrong_type(node, key, &format!(
                        "one of {}", $crate::field::listed(Self::NAMES.iter().copied())
                    ));
                    return None;
                };
                match text.as_str() {
                    $($name => Some(Self::$variant),)*
                    other => {
                        findings.push($crate::field::unknown_choice(other, key, Self::NAMES, node));
                        None
                    }
                }
            }

            fn write(&self) -> serde_json::Value {
                self.name().into()
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": Self::NAMES })
            }
        }
    };
}

pub(crate) use choices;
