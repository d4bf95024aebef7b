//! Evaluation, with a bound on the work: an answer or the reason why there is none, always.

use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;
use std::rc::Rc;

use super::arithmetic::{TOO_LARGE, numbers};
use super::fact::{FactSource, FactValue};
use super::failure::{
    Evaluated, Failure, described, is_absent, met, missing, no_value, unknown, without,
};
use super::node::{
    Arithmetic, Comparison, Conversion, Kind, Literal, Loop, Node, Quantifier, TextTest,
};
use super::value::{Items, Text, Value, compare_int_with_float};

/// The answer of a whole expression.
pub(super) fn evaluate(
    root: &Node,
    names: &[&'static str],
    facts: &dyn FactSource,
) -> Result<bool, String> {
    let evaluation = Evaluation {
        facts,
        known: names.iter().map(|_| OnceCell::new()).collect(),
        steps: Cell::new(MAX_STEPS),
    };
    match evaluation.value(root, None) {
        Ok(Value::Bool(answer)) => Ok(answer),
        Ok(other) => {
            Err(format!("the expression gave {}, not true or false", other.kind().words()))
        }
        Err(Failure::Unknown(why)) => Err(why),
        Err(Failure::Absent) => Ok(false),
        Err(Failure::Exhausted) => {
            Err(format!("the expression took more than {MAX_STEPS} steps on these facts"))
        }
    }
}

struct Evaluation<'a> {
    facts: &'a dyn FactSource,
    /// The facts asked for so far, by slot.
    known: Vec<OnceCell<Option<FactValue>>>,
    steps: Cell<u32>,
}

impl<'a> Evaluation<'_> {
    fn value(&'a self, node: &'a Node, item: Option<&Value<'a>>) -> Evaluated<Value<'a>> {
        self.charge(1)?;
        match node {
            Node::Literal(literal) => Ok(Value::from(literal)),
            Node::Fact { slot, name } => self.fact(*slot, name),
            Node::Item(name) => {
                item.cloned().ok_or_else(|| Failure::Unknown(format!("`{name}` has no value")))
            }
            Node::Field(of, field) => {
                let value = self.value(of, item)?;
                self.field(node, of, &value, field)
            }
            Node::Has(of, field) => match self.value(of, item)? {
                Value::Null => Ok(Value::Bool(false)),
                Value::Map(entries) => {
                    let found = entries.get(field).is_some_and(|value| *value != FactValue::Null);
                    Ok(Value::Bool(found))
                }
                other => Err(unknown(format!("{} has no fields", described(of, &other)))),
            },
            Node::Index(parts) => self.index(node, parts, item),
            Node::List(nodes) => {
                let items = nodes.iter().map(|node| self.value(node, item));
                Ok(list(items.collect::<Evaluated<Vec<_>>>()?))
            }
            Node::Not(of) => Ok(Value::Bool(!self.condition(of, item)?)),
            Node::Negate(of) => match self.value(of, item)? {
                Value::Int(number) => {
                    number.checked_neg().map(Value::Int).ok_or_else(|| unknown(TOO_LARGE))
                }
                Value::Float(number) => Ok(Value::Float(-number)),
                other if is_absent(of, &other) => Err(no_value([(of, &other)])),
                other => Err(unknown(format!("{} is not a number", described(of, &other)))),
            },
            Node::And(sides) => self.junction(sides, false, item),
            Node::Or(sides) => self.junction(sides, true, item),
            Node::Choice(parts) => {
                let [condition, then, otherwise] = &**parts;
                let holds = met(self.condition(condition, item))?;
                self.value(if holds { then } else { otherwise }, item)
            }
            Node::Compare(comparison, sides) => {
                self.compare(*comparison, sides, item).map(Value::Bool)
            }
            Node::In(sides) => self.contained(sides, item).map(Value::Bool),
            Node::Arithmetic(operation, sides) => self.arithmetic(*operation, sides, item),
            Node::Size(of) => self.size(of, item),
            Node::TextTest(test, sides) => self.text_test(*test, sides, item).map(Value::Bool),
            Node::Matches(of, regex) => {
                let text = self.text(of, item)?;
                self.charge(text.as_str().len() / PATTERN_BYTES_PER_STEP)?;
                Ok(Value::Bool(regex.is_match(text.as_str())))
            }
            Node::Convert(conversion, of) => self.convert(*conversion, of, item),
            Node::Quantify(quantifier, through) => {
                self.quantify(*quantifier, through, item).map(Value::Bool)
            }
            Node::Collect(through) => self.collect(through, item),
        }
    }

    fn fact(&'a self, slot: usize, name: &str) -> Evaluated<Value<'a>> {
        self.known
            .get(slot)
            .and_then(|cell| cell.get_or_init(|| self.facts.fact(name)).as_ref())
            .map(Value::from)
            .ok_or_else(|| unknown(format!("`{name}` is not known")))
    }

    fn field(
        &self,
        node: &Node,
        of: &Node,
        value: &Value<'a>,
        field: &str,
    ) -> Evaluated<Value<'a>> {
        match value {
            Value::Map(entries) => {
                entries.get(field).map(Value::from).ok_or_else(|| without(node, of, field))
            }
            other if is_absent(of, other) => Err(Failure::Absent),
            other => Err(unknown(format!("{} has no `{field}`", described(of, other)))),
        }
    }

    fn index(
        &'a self,
        node: &Node,
        parts: &'a [Node; 2],
        item: Option<&Value<'a>>,
    ) -> Evaluated<Value<'a>> {
        let [of, index] = parts;
        match (self.value(of, item)?, self.value(index, item)?) {
            (Value::Map(entries), Value::Text(key)) => {
                let found = entries.get(key.as_str()).map(Value::from);
                found.ok_or_else(|| without(node, of, &key.as_str().escape_debug().to_string()))
            }
            (Value::List(items), Value::Int(position)) => usize::try_from(position)
                .ok()
                .and_then(|position| items.get(position))
                .ok_or_else(|| missing(node, &position.to_string())),
            (map @ Value::Map(_), _) => {
                Err(unknown(format!("{} is indexed by text", described(of, &map))))
            }
            (list @ Value::List(_), _) => {
                Err(unknown(format!("{} is indexed by a whole number", described(of, &list))))
            }
            (other, _) if is_absent(of, &other) => Err(no_value([(of, &other)])),
            (other, _) => Err(unknown(format!("{} has no items", described(of, &other)))),
        }
    }

    /// `&&` (decided by false) and `||` (decided by true): a side that decides makes up for one
    /// that is unknown, and for `&&` one that is absent does too, since it can't be met.
    fn junction(
        &'a self,
        sides: &'a [Node; 2],
        decisive: bool,
        item: Option<&Value<'a>>,
    ) -> Evaluated<Value<'a>> {
        let [left, right] = sides;
        let left = match self.condition(left, item) {
            Ok(answer) if answer == decisive => return Ok(Value::Bool(decisive)),
            Err(Failure::Exhausted) => return Err(Failure::Exhausted),
            left => left,
        };
        match (left, self.condition(right, item)) {
            (Ok(_), right) => right.map(Value::Bool),
            (Err(_), Ok(right)) if right == decisive => Ok(Value::Bool(decisive)),
            (Err(_), Err(Failure::Exhausted)) => Err(Failure::Exhausted),
            (Err(left), Ok(_)) => Err(left),
            (Err(left), Err(right)) => Err(left.beside(right, decisive)),
        }
    }

    fn condition(&'a self, node: &'a Node, item: Option<&Value<'a>>) -> Evaluated<bool> {
        match self.value(node, item)? {
            Value::Bool(answer) => Ok(answer),
            other => Err(unknown(format!("{} is not true or false", described(node, &other)))),
        }
    }

    fn compare(
        &'a self,
        comparison: Comparison,
        sides: &'a [Node; 2],
        item: Option<&Value<'a>>,
    ) -> Evaluated<bool> {
        let [left_node, right_node] = sides;
        let left = self.value(left_node, item)?;
        let right = self.value(right_node, item)?;
        if is_absent(left_node, &left) || is_absent(right_node, &right) {
            // "Is there one" is a fair question to a fact that is absent, and the only one.
            let asks_for_null = [left_node, right_node]
                .into_iter()
                .any(|node| matches!(node, Node::Literal(Literal::Null)));
            match comparison {
                Comparison::Equal | Comparison::NotEqual if asks_for_null => {}
                _ => return Err(no_value([(left_node, &left), (right_node, &right)])),
            }
        }
        let answer = match comparison {
            Comparison::Equal => self.equal(&left, &right)?,
            Comparison::NotEqual => self.equal(&left, &right)?.map(|equal| !equal),
            Comparison::Less => self.order(&left, &right)?.map(Ordering::is_lt),
            Comparison::LessOrEqual => self.order(&left, &right)?.map(Ordering::is_le),
            Comparison::Greater => self.order(&left, &right)?.map(Ordering::is_gt),
            Comparison::GreaterOrEqual => self.order(&left, &right)?.map(Ordering::is_ge),
        };
        answer.ok_or_else(|| {
            unknown(format!(
                "{} cannot be compared with {}",
                described(left_node, &left),
                described(right_node, &right)
            ))
        })
    }

    /// `None` for what has no order: different kinds, lists, maps, and what is not a number.
    fn order(&self, left: &Value<'_>, right: &Value<'_>) -> Evaluated<Option<Ordering>> {
        Ok(match (left, right) {
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
            (Value::Float(left), Value::Float(right)) => left.partial_cmp(right),
            (Value::Int(left), Value::Float(right)) => compare_int_with_float(*left, *right),
            (Value::Float(left), Value::Int(right)) => {
                compare_int_with_float(*right, *left).map(Ordering::reverse)
            }
            (Value::Text(left), Value::Text(right)) => {
                self.charge_text(left.as_str().len().min(right.as_str().len()))?;
                Some(left.as_str().cmp(right.as_str()))
            }
            _ => None,
        })
    }

    /// `None` for values of different kinds: they are not unequal, the question is wrong. Null is
    /// the exception, since "is there one" is a fair question to any value.
    fn equal(&self, left: &Value<'_>, right: &Value<'_>) -> Evaluated<Option<bool>> {
        self.charge(1)?;
        match (left, right) {
            (Value::Null, other) | (other, Value::Null) => Ok(Some(other.kind() == Kind::Null)),
            (Value::List(left), Value::List(right)) => {
                if left.len() != right.len() {
                    return Ok(Some(false));
                }
                self.all_equal(left.iter().zip(right.iter()))
            }
            (Value::Map(left), Value::Map(right)) => {
                if !left.keys().eq(right.keys()) {
                    return Ok(Some(false));
                }
                let pairs = left.values().zip(right.values());
                self.all_equal(pairs.map(|(left, right)| (left.into(), right.into())))
            }
            _ => Ok(self.order(left, right)?.map(Ordering::is_eq)),
        }
    }

    fn all_equal<'b>(
        &self,
        pairs: impl Iterator<Item = (Value<'b>, Value<'b>)>,
    ) -> Evaluated<Option<bool>> {
        let mut answer = Some(true);
        for (left, right) in pairs {
            match self.equal(&left, &right)? {
                Some(true) => {}
                Some(false) => return Ok(Some(false)),
                None => answer = None,
            }
        }
        Ok(answer)
    }

    fn contained(&'a self, sides: &'a [Node; 2], item: Option<&Value<'a>>) -> Evaluated<bool> {
        let [wanted_node, range_node] = sides;
        let wanted = self.value(wanted_node, item)?;
        let range = self.value(range_node, item)?;
        if is_absent(wanted_node, &wanted) || is_absent(range_node, &range) {
            return Err(no_value([(wanted_node, &wanted), (range_node, &range)]));
        }
        let cannot = |range: &Value<'_>| {
            unknown(format!(
                "{} cannot be looked for in {}",
                described(wanted_node, &wanted),
                described(range_node, range)
            ))
        };
        match &range {
            Value::Map(entries) => match &wanted {
                Value::Text(key) => Ok(entries.contains_key(key.as_str())),
                _ => Err(cannot(&range)),
            },
            Value::List(items) => {
                let mut comparable = true;
                for candidate in items.iter() {
                    match self.equal(&wanted, &candidate)? {
                        Some(true) => return Ok(true),
                        Some(false) => {}
                        None => comparable = false,
                    }
                }
                if comparable { Ok(false) } else { Err(cannot(&range)) }
            }
            _ => Err(cannot(&range)),
        }
    }

    fn arithmetic(
        &'a self,
        operation: Arithmetic,
        sides: &'a [Node; 2],
        item: Option<&Value<'a>>,
    ) -> Evaluated<Value<'a>> {
        let [left_node, right_node] = sides;
        let left = self.value(left_node, item)?;
        let right = self.value(right_node, item)?;
        if let Some(result) = numbers(operation, &left, &right) {
            return result.map_err(Failure::Unknown);
        }
        match (operation, &left, &right) {
            (Arithmetic::Add, Value::Text(left), Value::Text(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                self.charge_text(left.len() + right.len())?;
                Ok(Value::Text(Text::Built([left, right].concat().into())))
            }
            (Arithmetic::Add, Value::List(left), Value::List(right)) => {
                self.charge(left.len() + right.len())?;
                Ok(list(left.iter().chain(right.iter()).collect()))
            }
            _ if is_absent(left_node, &left) || is_absent(right_node, &right) => {
                Err(no_value([(left_node, &left), (right_node, &right)]))
            }
            _ => Err(unknown(format!(
                "there is no arithmetic on {} and {}",
                described(left_node, &left),
                described(right_node, &right)
            ))),
        }
    }

    fn size(&'a self, of: &'a Node, item: Option<&Value<'a>>) -> Evaluated<Value<'a>> {
        let size = match self.value(of, item)? {
            Value::List(items) => items.len(),
            Value::Map(entries) => entries.len(),
            Value::Text(text) => {
                self.charge_text(text.as_str().len())?;
                text.as_str().chars().count()
            }
            other if is_absent(of, &other) => return Err(no_value([(of, &other)])),
            other => return Err(unknown(format!("{} has no size", described(of, &other)))),
        };
        Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
    }

    fn text(&'a self, node: &'a Node, item: Option<&Value<'a>>) -> Evaluated<Text<'a>> {
        match self.value(node, item)? {
            Value::Text(text) => Ok(text),
            other if is_absent(node, &other) => Err(no_value([(node, &other)])),
            other => Err(unknown(format!("{} is not text", described(node, &other)))),
        }
    }

    fn text_test(
        &'a self,
        test: TextTest,
        sides: &'a [Node; 2],
        item: Option<&Value<'a>>,
    ) -> Evaluated<bool> {
        let [text, part] = sides;
        let (text, part) = (self.text(text, item)?, self.text(part, item)?);
        let (text, part) = (text.as_str(), part.as_str());
        Ok(match test {
            TextTest::Contains => {
                self.charge_text(text.len() + part.len())?;
                text.contains(part)
            }
            TextTest::StartsWith => text.starts_with(part),
            TextTest::EndsWith => text.ends_with(part),
        })
    }

    fn convert(
        &'a self,
        conversion: Conversion,
        of: &'a Node,
        item: Option<&Value<'a>>,
    ) -> Evaluated<Value<'a>> {
        let value = self.value(of, item)?;
        if is_absent(of, &value) {
            return Err(no_value([(of, &value)]));
        }
        let converted = match (conversion, &value) {
            (Conversion::Int, Value::Int(_))
            | (Conversion::Double, Value::Float(_))
            | (Conversion::Text, Value::Text(_)) => Some(value.clone()),
            (Conversion::Int, Value::Float(number)) => {
                let whole = number.trunc();
                // The cast is exact where the comparison finds the result equal.
                Some(whole as i64)
                    .filter(|int| compare_int_with_float(*int, whole) == Some(Ordering::Equal))
                    .map(Value::Int)
            }
            (Conversion::Int, Value::Text(text)) => text.as_str().parse().ok().map(Value::Int),
            (Conversion::Double, Value::Int(number)) => Some(Value::Float(*number as f64)),
            (Conversion::Double, Value::Text(text)) => {
                let parsed = text.as_str().parse().ok().filter(|number: &f64| number.is_finite());
                parsed.map(Value::Float)
            }
            (Conversion::Text, Value::Bool(value)) => Some(built(value.to_string())),
            (Conversion::Text, Value::Int(value)) => Some(built(value.to_string())),
            (Conversion::Text, Value::Float(value)) => Some(built(value.to_string())),
            _ => None,
        };
        let target = match conversion {
            Conversion::Int => "a whole number",
            Conversion::Double => "a number",
            Conversion::Text => "text",
        };
        converted.ok_or_else(|| {
            unknown(format!("{} cannot be turned into {target}", described(of, &value)))
        })
    }

    fn items(&'a self, node: &'a Node, item: Option<&Value<'a>>) -> Evaluated<Items<'a>> {
        match self.value(node, item)? {
            Value::List(items) => Ok(items),
            Value::Map(entries) => {
                self.charge(entries.len())?;
                let keys = entries.keys().map(|key| Value::Text(Text::Borrowed(key)));
                Ok(Items::Built(keys.collect()))
            }
            other if is_absent(node, &other) => Err(no_value([(node, &other)])),
            other => Err(unknown(format!("{} is not a list", described(node, &other)))),
        }
    }

    fn quantify(
        &'a self,
        quantifier: Quantifier,
        through: &'a Loop,
        item: Option<&Value<'a>>,
    ) -> Evaluated<bool> {
        let items = self.items(&through.range, item)?;
        let decisive = match quantifier {
            Quantifier::All => false,
            Quantifier::Exists => true,
            Quantifier::ExistsOne => {
                let mut found = 0_usize;
                for item in items.iter() {
                    found += usize::from(met(self.condition(&through.body, Some(&item)))?);
                }
                return Ok(found == 1);
            }
        };
        let mut open: Option<Failure> = None;
        for item in items.iter() {
            match self.condition(&through.body, Some(&item)) {
                Ok(answer) if answer == decisive => return Ok(decisive),
                Ok(_) => {}
                Err(Failure::Exhausted) => return Err(Failure::Exhausted),
                Err(failure) => {
                    open = Some(match open {
                        Some(earlier) => earlier.beside(failure, decisive),
                        None => failure,
                    });
                }
            }
        }
        open.map_or(Ok(!decisive), Err)
    }

    fn collect(&'a self, through: &'a Loop, item: Option<&Value<'a>>) -> Evaluated<Value<'a>> {
        let mut collected = Vec::new();
        for item in self.items(&through.range, item)?.iter() {
            let item = Some(&item);
            let wanted = match &through.condition {
                Some(condition) => met(self.condition(condition, item))?,
                None => true,
            };
            if wanted {
                collected.push(self.value(&through.body, item)?);
            }
        }
        Ok(list(collected))
    }

    fn charge_text(&self, bytes: usize) -> Evaluated<()> {
        self.charge(bytes / TEXT_BYTES_PER_STEP)
    }

    fn charge(&self, steps: usize) -> Evaluated<()> {
        let left = u32::try_from(steps).ok().and_then(|steps| self.steps.get().checked_sub(steps));
        self.steps.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(Failure::Exhausted)
    }
}

fn list<'a>(items: Vec<Value<'a>>) -> Value<'a> {
    Value::List(Items::Built(items.into()))
}

fn built<'a>(text: String) -> Value<'a> {
    Value::Text(Text::Built(Rc::from(text)))
}

/// Most work in one evaluation: a step for each part visited and each item built or compared, and
/// for so many bytes of text. A macro over 10,000 test names takes some 50,000.
const MAX_STEPS: u32 = 2_000_000;
/// Bytes of text that are copied or compared in the time of one step, or less.
const TEXT_BYTES_PER_STEP: usize = 16;
/// Bytes of text that a pattern looks at in the time of one step, or less.
const PATTERN_BYTES_PER_STEP: usize = 2;
