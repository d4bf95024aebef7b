//! What is said of a route: once, for the router, the guard, the OpenAPI document and the tests.

use std::fmt;

use axum::body::Bytes;
use axum::http::request::Parts;
use axum::http::{HeaderName, Method, StatusCode};
use axum::response::Response;
use axum::routing::MethodRouter;
use backstop_store::access::Scope;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Value as Json, json};
use std::sync::Arc;

use crate::guard::Door;
use crate::service::Service;

/// A route.
#[derive(Clone)]
pub struct Route {
    pub method: Method,
    /// With `{name}` where a name stands.
    pub path: &'static str,
    /// How programs call it.
    pub operation: &'static str,
    pub summary: &'static str,
    pub needs: Needs,
    pub parameters: Vec<Parameter>,
    pub body: Option<TakenBody>,
    /// What is answered when all goes well.
    pub answers: Vec<Answer>,
    /// What may be refused beside what any route may.
    pub refusals: Vec<(StatusCode, &'static str)>,
    pub(crate) handler: MakeHandler,
    /// The answer where it can't be told who asks. None: that the store can't be used.
    pub(crate) when_store_fails: Option<HoldForStore>,
    /// Whether who was known last is let in where it can't be told who asks.
    pub(crate) goes_by_memory: bool,
    /// Whether all that its handler waits for ends with the deadline that it is given: another timer
    /// around it would cost each request as much again.
    pub(crate) bounds_itself: bool,
}

/// What a caller must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Open to all.
    Nothing,
    Scope(Scope),
}

/// A parameter of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: &'static str,
    /// `query`, `path` or `header`.
    pub place: &'static str,
    pub description: &'static str,
    pub schema: Json,
    pub required: bool,
    /// It may be there several times.
    pub repeats: bool,
}

/// What a route takes as its body.
#[derive(Clone, Debug)]
pub struct TakenBody {
    pub types: &'static [&'static str],
    pub schema: MakeSchema,
    pub required: bool,
    /// More than other bodies may have, if it is announced.
    pub most_bytes: Option<usize>,
}

/// What a route answers.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub description: &'static str,
    /// Its content types, each with what it holds; none for an answer without a body.
    pub contents: Vec<(&'static str, MakeSchema)>,
    /// What it may say beside its body.
    pub headers: Vec<AnswerHeader>,
}

/// What an answer may say beside its body.
#[derive(Clone, Debug)]
pub struct AnswerHeader {
    pub name: HeaderName,
    pub description: &'static str,
    pub schema: Json,
}

/// Answers a request by its head and its body, without the store.
pub(crate) type HoldForStore = fn(&Service, &Parts, &Bytes) -> Response;

/// Makes the handler behind a door.
pub(crate) type MakeHandler = fn(Door) -> MethodRouter<Arc<Service>>;

pub type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

impl Route {
    #[must_use]
    pub(crate) fn new(
        method: Method,
        path: &'static str,
        operation: &'static str,
        needs: Needs,
        handler: MakeHandler,
    ) -> Self {
        let mut route = Self {
            method,
            path,
            operation,
            summary: "",
            needs,
            parameters: Vec::new(),
            body: None,
            answers: Vec::new(),
            refusals: Vec::new(),
            handler,
            when_store_fails: None,
            goes_by_memory: false,
            bounds_itself: false,
        };
        if matches!(needs, Needs::Scope(_)) {
            route = route
                .refuses(401, "There is no token, or it is unknown, expired or revoked.")
                .refuses(503, "Too much at once, or the store can't be used now.");
        }
        route
            .refuses(400, "The request can't be read, or a parameter or field is wrong.")
            .refuses(403, "The token's scopes do not suffice, or another site's page asks.")
            .refuses(415, "The body is of a type, or in an encoding, that is not taken.")
            .refuses(421, "The service is not known under this name.")
            .refuses(429, "Too many requests.")
            .refuses(431, "The head of the request is too large.")
            .refuses(500, "A fault of the service itself.")
            .refuses(504, "It took too long.")
    }

    #[must_use]
    pub fn says(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    #[must_use]
    pub fn path_name(self, name: &'static str, description: &'static str, schema: Json) -> Self {
        self.parameter(name, "path", description, schema, true, false)
    }

    #[must_use]
    pub fn query(self, name: &'static str, description: &'static str, schema: Json) -> Self {
        self.parameter(name, "query", description, schema, false, false)
    }

    #[must_use]
    pub fn required_query(
        self,
        name: &'static str,
        description: &'static str,
        schema: Json,
    ) -> Self {
        self.parameter(name, "query", description, schema, true, false)
    }

    #[must_use]
    pub fn queries(self, name: &'static str, description: &'static str, items: &Json) -> Self {
        let schema = json!({ "type": "array", "items": items, "maxItems": MOST_REPEATED });
        self.parameter(name, "query", description, schema, false, true)
    }

    #[must_use]
    pub fn header(self, name: &'static str, description: &'static str, schema: Json) -> Self {
        self.parameter(name, "header", description, schema, false, false)
    }

    fn parameter(
        mut self,
        name: &'static str,
        place: &'static str,
        description: &'static str,
        schema: Json,
        required: bool,
        repeats: bool,
    ) -> Self {
        self.parameters.push(Parameter { name, place, description, schema, required, repeats });
        self
    }

    /// `limit` and `cursor`.
    #[must_use]
    pub fn pages(self, most: u32, cursor: Json) -> Self {
        self.query(
            "limit",
            "How many are wanted at most.",
            json!({ "type": "integer", "minimum": 1, "maximum": most }),
        )
        .query("cursor", "Where the page before ended: its `next_cursor`.", cursor)
    }

    #[must_use]
    pub fn takes<T: JsonSchema>(self) -> Self {
        self.takes_any::<T>(&["application/json"], true)
    }

    #[must_use]
    pub fn may_take<T: JsonSchema>(self) -> Self {
        self.takes_any::<T>(&["application/json"], false)
    }

    #[must_use]
    pub fn takes_any<T: JsonSchema>(
        mut self,
        types: &'static [&'static str],
        required: bool,
    ) -> Self {
        let schema: MakeSchema = SchemaGenerator::subschema_for::<T>;
        self.body = Some(TakenBody { types, schema, required, most_bytes: None });
        self.refuses(408, "The body took too long to arrive.")
            .refuses(413, "The body is too large.")
    }

    #[must_use]
    pub fn takes_up_to(mut self, bytes: usize) -> Self {
        if let Some(body) = &mut self.body {
            body.most_bytes = Some(bytes);
        }
        self
    }

    #[must_use]
    pub fn answers<T: JsonSchema>(self, status: u16, description: &'static str) -> Self {
        self.answers_as::<T>(status, "application/json", description)
    }

    #[must_use]
    pub fn answers_as<T: JsonSchema>(
        mut self,
        status: u16,
        content: &'static str,
        description: &'static str,
    ) -> Self {
        let schema: MakeSchema = SchemaGenerator::subschema_for::<T>;
        let status = code(status);
        match self.answers.iter_mut().find(|answer| answer.status == status) {
            Some(answer) => answer.contents.push((content, schema)),
            None => {
                let (contents, headers) = (vec![(content, schema)], Vec::new());
                self.answers.push(Answer { status, description, contents, headers });
            }
        }
        self
    }

    #[must_use]
    pub fn answers_nothing(mut self, description: &'static str) -> Self {
        let status = StatusCode::NO_CONTENT;
        let (contents, headers) = (Vec::new(), Vec::new());
        self.answers.push(Answer { status, description, contents, headers });
        self
    }

    /// A header that the answer told of last may have.
    #[must_use]
    pub fn tells(mut self, name: HeaderName, description: &'static str, schema: Json) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push(AnswerHeader { name, description, schema });
        }
        self
    }

    #[must_use]
    pub fn refuses(mut self, status: u16, description: &'static str) -> Self {
        self.refusals.push((code(status), description));
        self
    }

    #[must_use]
    pub(crate) fn when_store_fails(mut self, answer: HoldForStore) -> Self {
        self.when_store_fails = Some(answer);
        self
    }

    /// Lets in who was known last, where the store can't say who asks.
    #[must_use]
    pub(crate) fn goes_by_memory(mut self) -> Self {
        self.goes_by_memory = true;
        self
    }

    /// Leaves it to the handler to end in time.
    #[must_use]
    pub(crate) fn bounds_itself(mut self) -> Self {
        self.bounds_itself = true;
        self
    }

    /// The method's name.
    pub(crate) fn verb(&self) -> &'static str {
        ["GET", "POST", "PUT", "DELETE"].into_iter().find(|name| self.method == *name).unwrap_or("")
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.method, self.path)
    }
}

/// How often a parameter may be there.
pub(crate) const MOST_REPEATED: usize = 64;

/// A status by its number, as tables write it.
fn code(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
