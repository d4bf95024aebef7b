//! A way into a JSON value, such as `usage.input` or `models.*.tokens` or `calls[].cost`.

use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

/// Names with dots between them. `*` and `[]` stand for every element of an array or object.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// A key, or the place in an array.
    Key(String),
    Each,
}

/// Why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathError {
    #[error("a path is empty")]
    Empty,
    #[error("the path `{path}` has an empty name in it")]
    EmptyName { path: String },
    #[error("the path `{path}` has brackets with something in them: `[]` stands for every element")]
    Brackets { path: String },
    #[error("the path `{path}` has more than {MOST_STEPS} names")]
    TooLong { path: String },
}

impl JsonPath {
    /// The values that it leads to, in their order.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = match step {
                Step::Key(key) => found.into_iter().filter_map(|value| child(value, key)).collect(),
                Step::Each => found.into_iter().flat_map(children).collect(),
            };
        }
        found
    }
}

fn child<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    match value {
        Value::Array(elements) => elements.get(key.parse::<usize>().ok()?),
        _ => value.get(key),
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(elements) => elements.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

impl FromStr for JsonPath {
    type Err = JsonPathError;

    fn from_str(path: &str) -> Result<Self, JsonPathError> {
        if path.is_empty() {
            return Err(JsonPathError::Empty);
        }
        let mut steps = Vec::new();
        for part in path.split('.') {
            let name = part.trim_end_matches("[]");
            if name.contains(['[', ']']) {
                return Err(JsonPathError::Brackets { path: path.to_owned() });
            }
            match name {
                "*" => steps.push(Step::Each),
                // A path may begin with brackets, where the record itself is taken apart.
                "" if !part.is_empty() && steps.is_empty() => {}
                "" => return Err(JsonPathError::EmptyName { path: path.to_owned() }),
                name => steps.push(Step::Key(name.to_owned())),
            }
            let brackets = (part.len() - name.len()) / "[]".len();
            steps.extend(std::iter::repeat_n(Step::Each, brackets));
        }
        if steps.len() > MOST_STEPS {
            return Err(JsonPathError::TooLong { path: path.to_owned() });
        }
        Ok(Self(steps))
    }
}

impl TryFrom<String> for JsonPath {
    type Error = JsonPathError;

    fn try_from(path: String) -> Result<Self, JsonPathError> {
        path.parse()
    }
}

const MOST_STEPS: usize = 16;

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("a.b", json!([1]))]
    #[case("list[].n", json!([10, 20]))]
    #[case("list.*.n", json!([10, 20]))]
    #[case("list.1.n", json!([20]))]
    #[case("models.*.t", json!([5, 6]))]
    #[case("nested[][]", json!([1, 2, 3]))]
    #[case("missing.b", json!([]))]
    #[case("a.b.c", json!([]))]
    fn a_path_leads_to_values(#[case] path: JsonPath, #[case] expected: Value) {
        let value = json!({
            "a": {"b": 1},
            "list": [{"n": 10}, {"n": 20}, {}],
            "models": {"x": {"t": 5}, "y": {"t": 6}},
            "nested": [[1, 2], [3]],
        });
        let found: Vec<Value> = path.find(&value).into_iter().cloned().collect();
        assert_eq!(Value::Array(found), expected);
    }

    #[rstest]
    #[case("", JsonPathError::Empty)]
    #[case("a..b", JsonPathError::EmptyName { path: "a..b".to_owned() })]
    #[case("a[0]", JsonPathError::Brackets { path: "a[0]".to_owned() })]
    #[case("a[", JsonPathError::Brackets { path: "a[".to_owned() })]
    fn a_path_that_leads_nowhere_is_refused(#[case] path: &str, #[case] expected: JsonPathError) {
        assert_eq!(path.parse::<JsonPath>(), Err(expected));
    }
}
