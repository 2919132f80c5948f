//! As much of JSON Schema as `docs/eve.schema.json` uses; a word it does not know is an error.

use serde_json::{Map, Value};

/// What is wrong with `value`, with the place where it is.
pub fn complaints(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", &mut found);
    found
}

fn check(schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    for (word, wanted) in schema.as_object().unwrap() {
        let holds = match word.as_str() {
            "$schema" | "title" | "description" => true,
            "type" => has_type(wanted, value),
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "minLength" => length(value).is_none_or(|length| length >= wanted.as_u64().unwrap()),
            "maxLength" => length(value).is_none_or(|length| length <= wanted.as_u64().unwrap()),
            "required" => {
                let has = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || wanted.as_array().unwrap().iter().all(has)
            }
            "additionalProperties" => {
                assert_eq!(*wanted, Value::Bool(false));
                let known = schema["properties"].as_object().unwrap();
                value
                    .as_object()
                    .is_none_or(|object| object.keys().all(|key| known.contains_key(key)))
            }
            "anyOf" => wanted.as_array().unwrap().iter().any(|wanted| {
                let mut wrong = Vec::new();
                check(wanted, value, place, &mut wrong);
                wrong.is_empty()
            }),
            "properties" => {
                properties(wanted.as_object().unwrap(), value, place, found);
                true
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(wanted, item, &format!("{place}[]"), found);
                }
                true
            }
            unknown => panic!("this checker does not know `{unknown}`"),
        };
        if !holds {
            found.push(format!("{place}: {value} breaks {word} {wanted}"));
        }
    }
}

fn properties(schemas: &Map<String, Value>, value: &Value, place: &str, found: &mut Vec<String>) {
    for (name, schema) in schemas {
        if let Some(inner) = value.get(name) {
            check(schema, inner, &format!("{place}/{name}"), found);
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(any) => any.iter().any(|wanted| has_type(wanted, value)),
        Value::String(name) => match name.as_str() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "integer" => value.is_u64() || value.is_i64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "null" => value.is_null(),
            unknown => panic!("this checker does not know type `{unknown}`"),
        },
        other => panic!("{other} is no type"),
    }
}
