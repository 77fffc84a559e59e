//! The fields of a kubeconfig, and what client-go takes for their values (`clientcmd/api/v1`).
//!
//! A field that is absent, null or empty means the same. A value of another kind in a field that is known refuses the whole file, also
//! where nothing uses it; fields that are not known are passed over. The names of a list are different.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::go_base64;
use super::input::{Invalid, field};

/// What the value of a field is.
pub(super) enum Form {
    /// A text.
    Text,
    /// Bytes, in base64.
    Data,
    /// True or false.
    Flag,
    /// Texts.
    Texts,
    /// A text for each name.
    TextByName,
    /// Texts for each name.
    TextsByName,
    /// Anything.
    Any,
    /// A mapping.
    Mapping(&'static [Field]),
    /// Mappings.
    List(&'static [Field]),
    /// Mappings, each with a name of its own.
    Named(&'static [Field]),
}

/// The name of a field, and what it has.
type Field = (&'static str, Form);

pub(super) static CONFIG: Form = Form::Mapping(&[
    ("apiVersion", Form::Text),
    ("kind", Form::Text),
    ("current-context", Form::Text),
    ("preferences", Form::Mapping(&[("colors", Form::Flag), ("extensions", EXTENSIONS)])),
    ("clusters", Form::Named(&[("name", Form::Text), ("cluster", CLUSTER)])),
    ("contexts", Form::Named(&[("name", Form::Text), ("context", CONTEXT)])),
    ("users", Form::Named(&[("name", Form::Text), ("user", USER)])),
    ("extensions", EXTENSIONS),
]);

pub(super) const CLUSTER: Form = Form::Mapping(&[
    ("server", Form::Text),
    ("tls-server-name", Form::Text),
    ("insecure-skip-tls-verify", Form::Flag),
    ("certificate-authority", Form::Text),
    ("certificate-authority-data", Form::Data),
    ("proxy-url", Form::Text),
    ("disable-compression", Form::Flag),
    ("extensions", EXTENSIONS),
]);

pub(super) const CONTEXT: Form = Form::Mapping(&[
    ("cluster", Form::Text),
    ("user", Form::Text),
    ("namespace", Form::Text),
    ("extensions", EXTENSIONS),
]);

pub(super) const USER: Form = Form::Mapping(&[
    ("client-certificate", Form::Text),
    ("client-certificate-data", Form::Data),
    ("client-key", Form::Text),
    ("client-key-data", Form::Data),
    ("token", Form::Text),
    ("tokenFile", Form::Text),
    ("as", Form::Text),
    ("as-uid", Form::Text),
    ("as-groups", Form::Texts),
    ("as-user-extra", Form::TextsByName),
    ("username", Form::Text),
    ("password", Form::Text),
    ("auth-provider", Form::Mapping(&[("name", Form::Text), ("config", Form::TextByName)])),
    ("exec", EXEC),
    ("extensions", EXTENSIONS),
]);

const EXEC: Form = Form::Mapping(&[
    ("command", Form::Text),
    ("args", Form::Texts),
    ("env", Form::List(&[("name", Form::Text), ("value", Form::Text)])),
    ("apiVersion", Form::Text),
    ("installHint", Form::Text),
    ("provideClusterInfo", Form::Flag),
    ("interactiveMode", Form::Text),
]);

const EXTENSIONS: Form = Form::Named(&[("name", Form::Text), ("extension", Form::Any)]);

/// Refuses what client-go does not read, by its path.
///
/// # Errors
/// [`Invalid::Field`].
pub(super) fn check(value: &Value, form: &Form, path: &str) -> Result<(), Invalid> {
    match (form, value) {
        (_, Value::Null) | (Form::Any, _) | (Form::Text, Value::String(_)) | (Form::Flag, Value::Bool(_)) => {
            Ok(())
        }
        (Form::Text, Value::Bool(_) | Value::Number(_)) => {
            Err(field(path, "must be a text: put it in quotes"))
        }
        (Form::Text, _) => Err(field(path, "must be a text")),
        (Form::Data, Value::String(text)) => match go_base64::decode(text.as_bytes()) {
            Some(_) => Ok(()),
            None => Err(field(path, "must be base64, in one line or broken by line breaks alone")),
        },
        (Form::Data, _) => Err(field(path, "must be base64, as a text")),
        (Form::Flag, _) => Err(field(path, "must be true or false, without quotes")),
        (Form::Texts, Value::Array(items)) => each(items, path, |item, path| check(item, &Form::Text, path)),
        // The names are content, and no part of a path.
        (Form::TextByName, Value::Object(members)) => {
            members.values().try_for_each(|value| check(value, &Form::Text, path))
        }
        (Form::TextsByName, Value::Object(members)) => {
            members.values().try_for_each(|value| check(value, &Form::Texts, path))
        }
        (Form::Mapping(fields), Value::Object(members)) => check_fields(members, fields, path),
        (Form::List(fields) | Form::Named(fields), Value::Array(items)) => {
            each(items, path, |item, path| check(item, &Form::Mapping(fields), path))?;
            if let Form::Named(_) = form { check_names(items, path) } else { Ok(()) }
        }
        (Form::Texts | Form::List(_) | Form::Named(_), _) => Err(field(path, "must be a list")),
        (Form::TextByName | Form::TextsByName | Form::Mapping(_), _) => Err(field(path, "must be a mapping")),
    }
}

fn check_fields(members: &Map<String, Value>, fields: &[Field], path: &str) -> Result<(), Invalid> {
    let point = if path.is_empty() { "" } else { "." };
    fields.iter().try_for_each(|(name, form)| match members.get(*name) {
        Some(value) => check(value, form, &format!("{path}{point}{name}")),
        None => Ok(()),
    })
}

fn each(
    items: &[Value],
    path: &str,
    check: impl Fn(&Value, &str) -> Result<(), Invalid>,
) -> Result<(), Invalid> {
    items.iter().enumerate().try_for_each(|(index, item)| check(item, &format!("{path}[{index}]")))
}

/// An extension that has nothing does not count.
fn check_names(items: &[Value], path: &str) -> Result<(), Invalid> {
    let is_extension = path.ends_with("extensions");
    let mut names = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        let name = name_of(item);
        if names.contains(name) {
            let rule = "must be a name that no other entry of the list has";
            return Err(field(format!("{path}[{index}].name"), rule));
        }
        if !is_extension || !item["extension"].is_null() {
            names.insert(name);
        }
    }
    Ok(())
}

/// The name of an entry. One without has the empty name.
pub(super) fn name_of(entry: &Value) -> &str {
    entry["name"].as_str().unwrap_or_default()
}

/// A value that was checked, as client-go has it: without what means nothing, and base64 in one line.
pub(super) fn normalised(value: Value, form: &Form) -> Value {
    match (form, value) {
        (Form::Data, Value::String(text)) => {
            STANDARD.encode(go_base64::decode(text.as_bytes()).unwrap_or_default()).into()
        }
        (Form::Texts, Value::Array(items)) => {
            items.into_iter().map(|item| if item.is_null() { "".into() } else { item }).collect()
        }
        (Form::TextByName, Value::Object(members)) => {
            let text = |value: Value| if value.is_null() { "".into() } else { value };
            members.into_iter().map(|(name, value)| (name, text(value))).collect()
        }
        (Form::TextsByName, Value::Object(members)) => {
            let of_name = |(name, value)| (name, normalised(value, &Form::Texts));
            members.into_iter().map(of_name).filter(|(_, value)| !value.is_null()).collect()
        }
        (Form::Mapping(fields), Value::Object(members)) => {
            let form_of = |name: &str| fields.iter().find(|(known, _)| *known == name).map(|(_, form)| form);
            let member = |(name, value): (String, Value)| {
                let Some(form) = form_of(&name) else { return Some((name, value)) };
                let value = normalised(value, form);
                (!means_nothing(&value, form)).then_some((name, value))
            };
            members.into_iter().filter_map(member).collect()
        }
        (Form::List(fields) | Form::Named(fields), Value::Array(items)) => {
            let item = |item: Value| match item {
                Value::Null => Value::Object(Map::new()),
                item => normalised(item, &Form::Mapping(fields)),
            };
            items.into_iter().map(item).collect()
        }
        (_, value) => value,
    }
}

/// Whether a value is the same as none. An empty mapping is not: it asks for a program or a provider without a name.
fn means_nothing(value: &Value, form: &Form) -> bool {
    match (form, value) {
        (Form::Any, _) => false,
        (_, Value::Null) => true,
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (Form::TextByName | Form::TextsByName, Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The path at which a file with this in its user is refused.
    fn refused(user: &Value) -> Option<String> {
        let file = json!({"users": [{"name": "unused", "user": user}]});
        match check(&file, &CONFIG, "") {
            Err(Invalid::Field { path, .. }) => Some(path),
            Err(other) => panic!("{other}"),
            Ok(()) => None,
        }
    }

    #[test]
    fn null_and_empty_are_values_of_every_field() {
        let Form::Mapping(fields) = USER else { panic!() };
        for (name, form) in fields {
            let empty = match form {
                Form::Text | Form::Data => json!(""),
                Form::Flag => json!(false),
                Form::Texts | Form::List(_) | Form::Named(_) => json!([]),
                _ => json!({}),
            };
            for value in [Value::Null, empty] {
                assert_eq!(refused(&json!({*name: value})), None, "{name}");
            }
        }
        let wrapped = json!({"token": null, "tokenFile": "", "client-key-data": "YW\nJj\r\n", "as-groups": [null], "other": null,
                             "exec": {"env": [null], "args": []}});
        let expected =
            json!({"client-key-data": "YWJj", "as-groups": [""], "other": null, "exec": {"env": [{}]}});
        assert_eq!(normalised(wrapped, &USER), expected);
    }

    #[test]
    fn a_value_of_another_kind_is_refused_by_its_path_wherever_it_is() {
        for (user, path) in [
            (json!({"token": 815}), ".token"),
            (json!({"token": true}), ".token"),
            (json!({"tokenFile": ["a"]}), ".tokenFile"),
            (json!({"client-certificate-data": "YW Jj"}), ".client-certificate-data"),
            (json!({"client-key-data": 1}), ".client-key-data"),
            (json!({"as-groups": "a"}), ".as-groups"),
            (json!({"as-groups": [1]}), ".as-groups[0]"),
            (json!({"as-user-extra": {"a": "b"}}), ".as-user-extra"),
            (json!({"auth-provider": {"config": {"a": 1}}}), ".auth-provider.config"),
            (json!({"exec": []}), ".exec"),
            (json!({"exec": {"env": {}}}), ".exec.env"),
            (json!({"exec": {"provideClusterInfo": "true"}}), ".exec.provideClusterInfo"),
            (json!({"extensions": [{"name": "a", "extension": 1}, {"name": "a"}]}), ".extensions[1].name"),
        ] {
            assert_eq!(refused(&user), Some(format!("users[0].user{path}")), "{user}");
        }
        assert_eq!(refused(&json!("a")).as_deref(), Some("users[0].user"));
        assert_eq!(refused(&json!({"extensions": [{"name": "a"}, {"name": "a", "extension": 1}]})), None);
        assert_eq!(refused(&json!({"Token": 1, "unknown": {"a": [1]}})), None);
    }
}
