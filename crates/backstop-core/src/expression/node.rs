//! The checked tree of an expression, as it is evaluated.

use regex::Regex;

/// One part of an expression. At most 32 deep, so plain recursion over it is safe.
pub(super) enum Node {
    Literal(Literal),
    /// A fact, by its place in the list of facts that the expression reads.
    Fact {
        slot: usize,
        name: &'static str,
    },
    /// The variable of the macro around it. Macros do not nest, so there is only one.
    Item(String),
    Field(Box<Node>, String),
    Has(Box<Node>, String),
    Index(Box<[Node; 2]>),
    List(Vec<Node>),
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    /// Condition, then, else.
    Choice(Box<[Node; 3]>),
    Compare(Comparison, Box<[Node; 2]>),
    In(Box<[Node; 2]>),
    Arithmetic(Arithmetic, Box<[Node; 2]>),
    Size(Box<Node>),
    TextTest(TextTest, Box<[Node; 2]>),
    Matches(Box<Node>, Regex),
    Convert(Conversion, Box<Node>),
    Quantify(Quantifier, Box<Loop>),
    /// `map` and `filter`: the items that pass `condition`, as `body` makes them.
    Collect(Box<Loop>),
}

pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Clone, Copy)]
pub(super) enum TextTest {
    Contains,
    StartsWith,
    EndsWith,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conversion {
    Int,
    Double,
    Text,
}

#[derive(Clone, Copy)]
pub(super) enum Quantifier {
    All,
    Exists,
    ExistsOne,
}

/// What a macro goes through. `body` is the predicate of a quantifier; for `filter` it is the item.
pub(super) struct Loop {
    pub range: Node,
    pub condition: Option<Node>,
    pub body: Node,
}

/// What sort of value this is, in the words of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    Text,
    List,
    Map,
}

impl Kind {
    pub fn words(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Text => "text",
            Self::List => "a list",
            Self::Map => "a map",
        }
    }
}

impl Node {
    /// The kind of every value that this can give, where it shows without knowing any fact.
    pub fn evident_kind(&self) -> Option<Kind> {
        match self {
            Self::Literal(Literal::Null) => Some(Kind::Null),
            Self::Literal(Literal::Int(_) | Literal::Float(_)) => Some(Kind::Number),
            Self::Literal(Literal::Text(_)) | Self::Convert(Conversion::Text, _) => {
                Some(Kind::Text)
            }
            Self::List(_) | Self::Collect(_) => Some(Kind::List),
            Self::Negate(_) | Self::Size(_) | Self::Convert(..) => Some(Kind::Number),
            // `+` also joins text and lists, so its kind is that of what it adds.
            Self::Arithmetic(Arithmetic::Add, sides) => sides.iter().find_map(Self::evident_kind),
            Self::Arithmetic(..) => Some(Kind::Number),
            Self::Choice(parts) => {
                let [_, then, otherwise] = &**parts;
                then.evident_kind().filter(|kind| otherwise.evident_kind() == Some(*kind))
            }
            Self::Literal(Literal::Bool(_))
            | Self::Has(..)
            | Self::Not(_)
            | Self::And(_)
            | Self::Or(_)
            | Self::Compare(..)
            | Self::In(_)
            | Self::TextTest(..)
            | Self::Matches(..)
            | Self::Quantify(..) => Some(Kind::Bool),
            Self::Fact { .. } | Self::Item(_) | Self::Field(..) | Self::Index(_) => None,
        }
    }

    /// The words of the source that name this value, if it is a fact or a part of one.
    pub fn path(&self) -> Option<String> {
        match self {
            Self::Fact { name, .. } => Some((*name).to_owned()),
            Self::Item(name) => Some(name.clone()),
            Self::Field(of, field) => Some(format!("{}.{field}", of.path()?)),
            Self::Index(parts) => {
                let [of, index] = &**parts;
                let of = of.path()?;
                match index {
                    Self::Literal(Literal::Int(number)) => Some(format!("{of}[{number}]")),
                    Self::Literal(Literal::Text(text)) => Some(format!("{of}[{text:?}]")),
                    other => Some(format!("{of}[{}]", other.path()?)),
                }
            }
            _ => None,
        }
    }
}
