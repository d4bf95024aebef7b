//! From the parser's tree to the checked one: names, functions, macros, depth and patterns.

use std::ops::Range;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};
use regex::RegexBuilder;

use super::node::{
    Arithmetic, Comparison, Conversion, Kind, Literal, Loop, Node, Quantifier, TextTest,
};
use super::parse::Parsed;
use super::scan::{MAX_DEPTH, SPLIT, shortened, too_deep};
use super::{ExpressionError, names};
use crate::diagnostic::nearest;

/// The checked tree, and the facts that it reads in the order of its slots.
pub(super) fn lower(
    source: &str,
    parsed: &Parsed,
) -> Result<(Node, Vec<&'static str>), ExpressionError> {
    let mut lowering = Lowering { source, parsed, variables: Vec::new(), item: None, depth: 0 };
    let root = lowering.condition(&parsed.tree)?;
    Ok((root, lowering.variables))
}

struct Lowering<'a> {
    source: &'a str,
    parsed: &'a Parsed,
    variables: Vec<&'static str>,
    /// The variable of the macro whose body is being lowered.
    item: Option<&'a str>,
    depth: usize,
}

type Lowered = Result<Node, ExpressionError>;

impl<'a> Lowering<'a> {
    /// A part that must give true or false.
    fn condition(&mut self, expression: &'a IdedExpr) -> Lowered {
        let node = self.node(expression)?;
        match node.evident_kind() {
            None | Some(Kind::Bool) => Ok(node),
            Some(kind) => {
                Err(self
                    .error(format!("this gives {}, not true or false", kind.words()), expression))
            }
        }
    }

    fn node(&mut self, expression: &'a IdedExpr) -> Lowered {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(too_deep(), expression).hint(SPLIT));
        }
        let node = match &expression.expr {
            Expr::Literal(literal) => Node::Literal(self.literal(literal, expression)?),
            Expr::Ident(name) => self.name(name, expression)?,
            Expr::Select(select) => {
                self.field_exists(&select.operand, &select.field, expression)?;
                Node::Field(self.boxed(&select.operand)?, select.field.clone())
            }
            Expr::List(list) => Node::List(
                list.elements.iter().map(|item| self.node(item)).collect::<Result<_, _>>()?,
            ),
            Expr::Call(call) => self.call(call, expression)?,
            Expr::Map(_) => return Err(self.error("maps cannot be written here", expression)),
            Expr::Struct(_) => {
                return Err(self.error("messages cannot be written here", expression));
            }
            // The parser is told to expand no macro, and has reported every hole as an error.
            Expr::Comprehension(_) | Expr::Unspecified => {
                return Err(self.error("the expression cannot be read", expression));
            }
        };
        self.depth -= 1;
        Ok(node)
    }

    fn literal(
        &self,
        literal: &LiteralValue,
        expression: &IdedExpr,
    ) -> Result<Literal, ExpressionError> {
        Ok(match literal {
            LiteralValue::Null => Literal::Null,
            LiteralValue::Boolean(value) => Literal::Bool(*value.inner()),
            LiteralValue::Int(value) => Literal::Int(*value.inner()),
            LiteralValue::UInt(value) => {
                let value = i64::try_from(*value.inner())
                    .map_err(|_| self.error("the number is too large", expression))?;
                Literal::Int(value)
            }
            LiteralValue::Double(value) => Literal::Float(*value.inner()),
            LiteralValue::String(value) => Literal::Text(value.inner().to_owned()),
            LiteralValue::Bytes(_) => {
                return Err(self
                    .error("bytes are not supported", expression)
                    .hint("write text without the `b`"));
            }
        })
    }

    fn name(&mut self, name: &str, expression: &IdedExpr) -> Lowered {
        if self.item == Some(name) {
            return Ok(Node::Item(name.to_owned()));
        }
        let Some(name) = names::fact(name) else {
            let error = self.error(format!("unknown fact `{}`", shortened(name)), expression);
            return Err(error.nearest(nearest(name, names::FACT_NAMES.iter().copied())));
        };
        let slot = self.variables.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        });
        Ok(Node::Fact { slot, name })
    }

    /// Refuses a field that its fact can never have.
    fn field_exists(
        &self,
        operand: &IdedExpr,
        field: &str,
        expression: &IdedExpr,
    ) -> Result<(), ExpressionError> {
        let Expr::Ident(name) = &operand.expr else {
            return Ok(());
        };
        if self.item == Some(name) {
            return Ok(());
        }
        match names::fields(name) {
            Some(fields) if !fields.contains(&field) => {
                let span = self.after(expression, field);
                let error =
                    ExpressionError::new(format!("`{name}` has no `{}`", shortened(field)), span);
                Err(match nearest(field, fields.iter().copied()) {
                    Some(near) => error.nearest(Some(near)),
                    None => error.hint(format!("it has {}", listed(fields))),
                })
            }
            _ => Ok(()),
        }
    }

    fn call(&mut self, call: &'a CallExpr, expression: &'a IdedExpr) -> Lowered {
        match (call.func_name.as_str(), call.target.as_deref(), call.args.as_slice()) {
            (operators::LOGICAL_NOT, None, [of]) => Ok(Node::Not(Box::new(self.condition(of)?))),
            (operators::NEGATE, None, [of]) => Ok(Node::Negate(self.boxed(of)?)),
            (operators::LOGICAL_AND, None, [left, right]) => {
                Ok(Node::And(Box::new([self.condition(left)?, self.condition(right)?])))
            }
            (operators::LOGICAL_OR, None, [left, right]) => {
                Ok(Node::Or(Box::new([self.condition(left)?, self.condition(right)?])))
            }
            (operators::CONDITIONAL, None, [condition, then, otherwise]) => {
                let condition = self.condition(condition)?;
                Ok(Node::Choice(Box::new([condition, self.node(then)?, self.node(otherwise)?])))
            }
            (operators::INDEX, None, [of, index]) => Ok(Node::Index(self.pair(of, index)?)),
            (operators::IN, None, [item, list]) => Ok(Node::In(self.pair(item, list)?)),
            (sign, None, [left, right]) if comparison(sign).is_some() => {
                let comparison = comparison(sign).unwrap_or(Comparison::Equal);
                Ok(Node::Compare(comparison, self.pair(left, right)?))
            }
            (sign, None, [left, right]) if arithmetic(sign).is_some() => {
                let arithmetic = arithmetic(sign).unwrap_or(Arithmetic::Add);
                Ok(Node::Arithmetic(arithmetic, self.pair(left, right)?))
            }
            (name, target, arguments) => self.function(name, target, arguments, expression),
        }
    }

    fn function(
        &mut self,
        name: &str,
        target: Option<&'a IdedExpr>,
        arguments: &'a [IdedExpr],
        expression: &'a IdedExpr,
    ) -> Lowered {
        match (name, target, arguments) {
            ("has", None, [of]) => match &of.expr {
                Expr::Select(select) => {
                    self.field_exists(&select.operand, &select.field, of)?;
                    Ok(Node::Has(self.boxed(&select.operand)?, select.field.clone()))
                }
                _ => Err(self.error("`has` takes a field, as in `has(last_error.category)`", of)),
            },
            ("size", Some(of), []) | ("size", None, [of]) => Ok(Node::Size(self.boxed(of)?)),
            ("contains", Some(text), [part]) => self.text_test(TextTest::Contains, text, part),
            ("startsWith", Some(text), [part]) => self.text_test(TextTest::StartsWith, text, part),
            ("endsWith", Some(text), [part]) => self.text_test(TextTest::EndsWith, text, part),
            ("matches", Some(text), [pattern]) | ("matches", None, [text, pattern]) => {
                self.matches(text, pattern)
            }
            ("int", None, [of]) => Ok(Node::Convert(Conversion::Int, self.boxed(of)?)),
            ("double", None, [of]) => Ok(Node::Convert(Conversion::Double, self.boxed(of)?)),
            ("string", None, [of]) => Ok(Node::Convert(Conversion::Text, self.boxed(of)?)),
            ("all" | "exists" | "exists_one" | "map" | "filter", Some(range), [item, ..]) => {
                self.iteration(name, range, item, arguments, expression)
            }
            _ => Err(self.unknown_function(name, expression)),
        }
    }

    fn iteration(
        &mut self,
        name: &str,
        range: &'a IdedExpr,
        item: &'a IdedExpr,
        arguments: &'a [IdedExpr],
        expression: &'a IdedExpr,
    ) -> Lowered {
        if self.item.is_some() {
            let span = self.before(expression, name);
            return Err(ExpressionError::new(
                format!("`{name}` stands inside another macro"),
                span,
            )
            .hint("macros do not nest, so that the time to evaluate them is bounded"));
        }
        let Expr::Ident(variable) = &item.expr else {
            let message = format!("the first argument of `{name}` must be a new name");
            return Err(self
                .error(message, item)
                .hint(format!("as in `tests.failed.{name}(t, …)`")));
        };
        let range = self.node(range)?;
        self.item = Some(variable);
        let lowered = match (name, arguments) {
            ("all", [_, body]) => self.quantify(Quantifier::All, range, body),
            ("exists", [_, body]) => self.quantify(Quantifier::Exists, range, body),
            ("exists_one", [_, body]) => self.quantify(Quantifier::ExistsOne, range, body),
            ("map", [_, body]) => {
                let body = self.node(body)?;
                Ok(Node::Collect(Box::new(Loop { range, condition: None, body })))
            }
            ("map", [_, condition, body]) => {
                let condition = Some(self.condition(condition)?);
                let body = self.node(body)?;
                Ok(Node::Collect(Box::new(Loop { range, condition, body })))
            }
            ("filter", [_, condition]) => {
                let condition = Some(self.condition(condition)?);
                let body = Node::Item(variable.clone());
                Ok(Node::Collect(Box::new(Loop { range, condition, body })))
            }
            _ => Err(self.unknown_function(name, expression)),
        };
        self.item = None;
        lowered
    }

    fn quantify(&mut self, quantifier: Quantifier, range: Node, body: &'a IdedExpr) -> Lowered {
        let body = self.condition(body)?;
        Ok(Node::Quantify(quantifier, Box::new(Loop { range, condition: None, body })))
    }

    fn text_test(&mut self, test: TextTest, text: &'a IdedExpr, part: &'a IdedExpr) -> Lowered {
        Ok(Node::TextTest(test, self.pair(text, part)?))
    }

    /// The pattern must stand in the source: only then is its cost known when the policy is loaded.
    fn matches(&mut self, text: &'a IdedExpr, pattern: &'a IdedExpr) -> Lowered {
        let Expr::Literal(LiteralValue::String(literal)) = &pattern.expr else {
            return Err(self.error("the pattern of `matches` must be written out as text", pattern));
        };
        if literal.inner().is_empty() {
            return Err(self.error("the pattern of `matches` is empty", pattern));
        }
        let regex = RegexBuilder::new(literal.inner())
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build()
            .map_err(|error| self.error(pattern_message(&error), pattern))?;
        Ok(Node::Matches(self.boxed(text)?, regex))
    }

    fn boxed(&mut self, expression: &'a IdedExpr) -> Result<Box<Node>, ExpressionError> {
        Ok(Box::new(self.node(expression)?))
    }

    fn pair(
        &mut self,
        left: &'a IdedExpr,
        right: &'a IdedExpr,
    ) -> Result<Box<[Node; 2]>, ExpressionError> {
        Ok(Box::new([self.node(left)?, self.node(right)?]))
    }

    fn unknown_function(&self, name: &str, expression: &IdedExpr) -> ExpressionError {
        let span = self.before(expression, name);
        if names::FUNCTIONS.contains(&name) {
            return ExpressionError::new(format!("`{name}` is not called like this"), span)
                .hint(usage(name));
        }
        ExpressionError::new(format!("unknown function `{}`", shortened(name)), span)
            .nearest(nearest(name, names::FUNCTIONS.iter().copied()))
    }

    /// The name in front of a call's bracket.
    fn before(&self, call: &IdedExpr, name: &str) -> Option<Range<usize>> {
        let bracket = self.parsed.span(self.source, call)?;
        let end = self.source[..bracket.start].trim_end().len();
        if self.source[..end].ends_with(name) { Some(end - name.len()..end) } else { Some(bracket) }
    }

    /// The field behind a select's dot.
    fn after(&self, select: &IdedExpr, field: &str) -> Option<Range<usize>> {
        let dot = self.parsed.span(self.source, select)?;
        let rest = &self.source[dot.end..];
        let start = dot.end + rest.len() - rest.trim_start().len();
        if self.source[start..].starts_with(field) {
            Some(start..start + field.len())
        } else {
            Some(dot)
        }
    }

    fn error(&self, message: impl Into<String>, at: &IdedExpr) -> ExpressionError {
        ExpressionError::new(message, self.parsed.span(self.source, at))
    }
}

fn comparison(sign: &str) -> Option<Comparison> {
    Some(match sign {
        operators::EQUALS => Comparison::Equal,
        operators::NOT_EQUALS => Comparison::NotEqual,
        operators::LESS => Comparison::Less,
        operators::LESS_EQUALS => Comparison::LessOrEqual,
        operators::GREATER => Comparison::Greater,
        operators::GREATER_EQUALS => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn arithmetic(sign: &str) -> Option<Arithmetic> {
    Some(match sign {
        operators::ADD => Arithmetic::Add,
        operators::SUBSTRACT => Arithmetic::Subtract,
        operators::MULTIPLY => Arithmetic::Multiply,
        operators::DIVIDE => Arithmetic::Divide,
        operators::MODULO => Arithmetic::Remainder,
        _ => return None,
    })
}

fn usage(name: &str) -> String {
    match name {
        "has" => "write `has(last_error.category)`".to_owned(),
        "size" => "write `size(tests.failed)`".to_owned(),
        "int" | "double" | "string" => format!("write `{name}(value)`"),
        "contains" | "startsWith" | "endsWith" | "matches" => {
            format!("write `text.{name}(\"…\")`")
        }
        _ => format!("write `list.{name}(item, …)`"),
    }
}

fn pattern_message(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
        // The crate draws the pattern with a mark below it; the last line says what is wrong.
        other => {
            let shown = other.to_string();
            let last = shown.lines().last().unwrap_or_default().trim();
            format!("the pattern does not compile: {}", last.trim_start_matches("error: "))
        }
    }
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Largest compiled pattern. Matching takes time in proportion to it and to the text.
const PATTERN_BYTES: usize = 1 << 18;
