//! Problems: how every refusal looks.

use serde_json::{Map, Value, json};

/// The refusals of a status: its name here, what it means, and the codes that a client may see.
struct Refusal {
    status: u16,
    name: &'static str,
    about: &'static str,
    codes: &'static [&'static str],
}

const REFUSALS: [Refusal; 12] = [
    refusal(400, "BadRequest", "The body cannot be read", &["bad-json", "bad-body"]),
    refusal(401, "Unauthorized", "No token, or one that is not good", &["unauthorized"]),
    refusal(403, "Forbidden", "Not for this token, or not from this page", &["forbidden"]),
    refusal(404, "NotFound", "It is not there", &["not-found", "no-such-path"]),
    refusal(405, "MethodNotAllowed", "Not with this method", &["method-not-allowed"]),
    refusal(408, "TooSlow", "The body did not come in time", &["too-slow"]),
    refusal(409, "Conflict", "Not possible in this state", &["conflict"]),
    refusal(413, "TooLarge", "The body is too large", &["too-large"]),
    refusal(415, "WrongMediaType", "The body is not JSON by its type", &["wrong-media-type"]),
    refusal(422, "Invalid", "A value must be corrected", &["invalid"]),
    refusal(501, "Unsupported", "The store does not have this", &["unsupported"]),
    refusal(503, "Busy", "Try again later", &["busy", "not-ready", "unreachable"]),
];

const BROKEN: Refusal = refusal(
    500,
    "Broken",
    "The server or its store failed",
    &["internal", "backend", "corrupt", "newer"],
);

const fn refusal(
    status: u16,
    name: &'static str,
    about: &'static str,
    codes: &'static [&'static str],
) -> Refusal {
    Refusal { status, name, about, codes }
}

fn all() -> impl Iterator<Item = &'static Refusal> {
    REFUSALS.iter().chain([&BROKEN])
}

/// Every refusal, by name.
pub(super) fn responses() -> Map<String, Value> {
    all().map(|refusal| (refusal.name.to_owned(), response(refusal))).collect()
}

fn response(refusal: &Refusal) -> Value {
    json!({
        "description": refusal.about,
        "content": {
            "application/problem+json": { "schema": {
                "$ref": "#/components/schemas/Problem",
                "properties": {
                    "status": { "const": refusal.status },
                    "code": { "enum": refusal.codes },
                },
            } },
        },
    })
}

/// What stands for the refusals of `status`.
pub(super) fn reference(status: u16) -> Value {
    let name = all().find(|refusal| refusal.status == status).map_or("Broken", |known| known.name);
    json!({ "$ref": format!("#/components/responses/{name}") })
}

/// The schema of `ah_store::Problem`.
pub(super) fn schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let codes: Vec<&str> = all().flat_map(|refusal| refusal.codes).copied().collect();
    json!({
        "description": "Why a request is not answered as asked, as RFC 9457 has it",
        "type": "object",
        "properties": {
            "code": { "enum": codes, "description": "Stable word for the kind of problem" },
            "title": text("One line for people"),
            "status": { "type": "integer", "description": "The HTTP status" },
            "detail": text("The whole message with its causes"),
            "kind": text("The kind of thing meant"),
            "id": text("Its name"),
            "field": text("The field to correct"),
            "reason": text("Why"),
            "feature": text("What the store does not have"),
            "retryAfterMs": {
                "type": "integer", "minimum": 0,
                "description": "When it is worth trying again",
            },
        },
        "required": ["code", "title", "status", "detail"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ah_store::{BoxError, Feature, Kind, Problem, StoreError};

    use super::*;

    #[test]
    fn every_error_of_a_store_is_a_refusal_of_its_status() {
        let source = || BoxError::from("x");
        for error in [
            StoreError::not_found(Kind::Run, "r"),
            StoreError::conflict(Kind::Run, "r", "no"),
            ah_model::Invalid::new("limit", "0").into(),
            StoreError::Unsupported { feature: Feature::Workspaces },
            StoreError::Busy { retry_after: Duration::ZERO },
            StoreError::Unreachable { server: "s".to_owned(), source: source() },
            StoreError::Unauthorized,
            StoreError::Forbidden { reason: Some("r".to_owned()) },
            StoreError::Newer { what: "w".to_owned(), found: 2, supported: 1 },
            StoreError::corrupt("w", "x"),
            StoreError::backend("o", "x"),
        ] {
            let problem = Problem::from(&error);
            let refusal = all().find(|refusal| refusal.status == problem.status);
            assert!(refusal.is_some_and(|known| known.codes.contains(&problem.code.as_str())));
            let schema = schema();
            let fields = serde_json::to_value(&problem).unwrap();
            for name in fields.as_object().unwrap().keys() {
                assert!(schema["properties"].get(name).is_some(), "{name}");
            }
        }
    }
}
