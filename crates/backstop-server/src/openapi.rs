//! The OpenAPI document, from the route table.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value as Json, json};

use crate::problem::{PROBLEM_TYPE, Problem};
use crate::route::{AnswerHeader, Needs, Parameter, Route};

/// The document of these routes.
pub fn document(routes: &[Route]) -> Json {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation(route, &mut generator);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "backstop",
            "description": "Decides when loops stop: decisions, runs, policies and their audit.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": { "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "Needed as soon as there is a token; before that, on loopback, none is.",
            } },
        },
    })
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Json {
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "responses": responses(route, generator),
    });
    if let Needs::Scope(scope) = route.needs {
        operation["security"] = json!([{}, { "token": [scope.as_str()] }]);
        operation["x-scope"] = scope.as_str().into();
    } else {
        operation["security"] = json!([]);
    }
    if !route.parameters.is_empty() {
        operation["parameters"] = route.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = &route.body {
        let schema = json!((body.schema)(generator));
        let contents = body.types.iter().map(|kind| {
            // Only JSON has a shape; other syntaxes are text with the same in it.
            let schema = if kind.ends_with("json") { schema.clone() } else { text() };
            ((*kind).to_owned(), json!({ "schema": schema }))
        });
        operation["requestBody"] = json!({
            "required": body.required,
            "content": contents.collect::<Map<_, _>>(),
        });
    }
    operation
}

fn parameter(parameter: &Parameter) -> Json {
    let mut described = json!({
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "required": parameter.required,
        "schema": parameter.schema,
    });
    if parameter.repeats {
        described["style"] = "form".into();
        described["explode"] = true.into();
    }
    described
}

fn responses(route: &Route, generator: &mut SchemaGenerator) -> Json {
    let mut responses = Map::new();
    for answer in &route.answers {
        let contents: Map<String, Json> = answer
            .contents
            .iter()
            .map(|(kind, schema)| ((*kind).to_owned(), media(&schema(generator))))
            .collect();
        let mut described = json!({ "description": answer.description });
        if !contents.is_empty() {
            described["content"] = contents.into();
        }
        for AnswerHeader { name, description, schema } in &answer.headers {
            described["headers"][name.as_str()] =
                json!({ "description": description, "schema": schema });
        }
        responses.insert(answer.status.as_str().to_owned(), described);
    }
    let problem = generator.subschema_for::<Problem>();
    let mut refusals = route.refusals.clone();
    refusals.sort_by_key(|(status, _)| *status);
    for (status, description) in &refusals {
        let described = responses
            .entry(status.as_str())
            .or_insert_with(|| json!({ "description": description, "content": {} }));
        described["content"][PROBLEM_TYPE] = media(&problem);
    }
    responses.into()
}

fn media(schema: &Schema) -> Json {
    json!({ "schema": schema })
}

fn text() -> Json {
    json!({ "type": "string" })
}
