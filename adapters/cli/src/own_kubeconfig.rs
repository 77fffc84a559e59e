//! The user's own kubeconfig, made fit to be stored: one context of it, with the files that it names inside.
//!
//! It is what `kubectl config view --minify --flatten` would give. Two things stay as they are, as they are asked for
//! again and again: programs to run (`exec`) and token files. Their paths, which a kubeconfig writes relative to itself,
//! become absolute.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::kubeconfig::KUBECONFIG_BYTES_MAX;
use dcm_core::secret::Secret;
use dcm_core::yaml;
use serde_json::{Map, Value, json};

use crate::exit::{Ended, Exit};

/// Files whose content a kubeconfig can hold itself, in the cluster and in the user.
const CLUSTER_FILES: [&str; 1] = ["certificate-authority"];
const USER_FILES: [&str; 2] = ["client-certificate", "client-key"];

/// Reads a kubeconfig and takes one context out of it: the one named, or its current one.
pub(crate) fn read(file: Option<&Path>, context: Option<&str>) -> anyhow::Result<Secret> {
    let file = match file {
        Some(file) => file.to_path_buf(),
        None => default_file()?,
    };
    let unreadable = || format!("{} can't be read", file.display());
    let size = std::fs::metadata(&file).with_context(unreadable)?.len();
    if usize::try_from(size).map_or(true, |size| size > KUBECONFIG_BYTES_MAX) {
        return Err(refuse(&file, "it must be at most 8 MiB"));
    }
    let text = Secret::new(std::fs::read_to_string(&file).with_context(unreadable)?);
    let folder = std::path::absolute(&file).with_context(unreadable)?;
    let folder = folder.parent().unwrap_or(Path::new("/"));
    let read_file = |path: &str| std::fs::read(folder.join(path));
    single(&text, context, folder, &read_file).map_err(|rule| refuse(&file, &rule))
}

/// The file that kubectl uses.
pub(crate) fn default_file() -> anyhow::Result<PathBuf> {
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    match std::env::split_paths(&listed).find(|path| !path.as_os_str().is_empty()) {
        Some(file) => Ok(file),
        None => {
            Ok(etcetera::home_dir().context("the user has no home folder; name a file")?.join(".kube/config"))
        }
    }
}

fn refuse(file: &Path, rule: &str) -> anyhow::Error {
    Ended::new(Exit::Refused, format!("kubeconfig {}: {rule}", file.display())).into()
}

type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<Vec<u8>>;

/// One context, with its cluster and user. Errors name fields, entries, files and rules, never credentials.
fn single(
    text: &Secret,
    context: Option<&str>,
    folder: &Path,
    read_file: ReadFile<'_>,
) -> Result<Secret, String> {
    let root = parse(text)?;
    let at = if context.is_some() { "--kube-context" } else { "current-context" };
    let wanted = context.or_else(|| root["current-context"].as_str()).filter(|name| !name.is_empty());
    let wanted = wanted.ok_or("current-context: must name a context, or say --kube-context")?;
    let context = entry(&root, at, "contexts", "context", wanted)?;
    let cluster_name = context.get("cluster").and_then(Value::as_str).unwrap_or_default();
    let mut cluster = entry(&root, "contexts[].context.cluster", "clusters", "cluster", cluster_name)?;
    let user_name = context.get("user").and_then(Value::as_str).unwrap_or_default();
    let mut user = match user_name {
        "" => Map::new(),
        name => entry(&root, "contexts[].context.user", "users", "user", name)?,
    };
    for member in CLUSTER_FILES {
        embed(&mut cluster, "clusters[].cluster", member, read_file)?;
    }
    for member in USER_FILES {
        embed(&mut user, "users[].user", member, read_file)?;
    }
    make_absolute(&mut user, folder);
    let context =
        json!({"cluster": "registered", "user": "registered", "namespace": context.get("namespace")});
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "registered",
        "contexts": [{"name": "registered", "context": without_nulls(context)}],
        "clusters": [{"name": "registered", "cluster": cluster}],
        "users": [{"name": "registered", "user": user}],
    });
    Ok(Secret::new(kubeconfig.to_string()))
}

/// The whole kubeconfig. An empty one is one without anything in it.
fn parse(text: &Secret) -> Result<Value, String> {
    let root: Value = yaml::read(text.expose()).map_err(|unreadable| unreadable.to_string())?;
    if root.is_object() || root.is_null() {
        Ok(root)
    } else {
        Err("it must be a mapping, with clusters, contexts and users".to_owned())
    }
}

/// The content of the one entry of a list that has the name, which stands at a place.
fn entry(
    root: &Value,
    at: &str,
    list: &str,
    content: &str,
    name: &str,
) -> Result<Map<String, Value>, String> {
    let mut found = root[list].as_array().into_iter().flatten().filter(|entry| entry["name"] == name);
    match (found.next(), found.next()) {
        (Some(entry), None) => entry[content]
            .as_object()
            .cloned()
            .ok_or_else(|| format!("{list}[].{content}: must be a mapping")),
        (found, _) => {
            let many = if found.is_some() { "more than one entry" } else { "no entry" };
            Err(format!("{at}: {list} has {many} {name:?}"))
        }
    }
}

/// Puts a file's content in the place of its path. Where there is content already, that counts, as for kubectl.
fn embed(
    map: &mut Map<String, Value>,
    at: &str,
    member: &str,
    read_file: ReadFile<'_>,
) -> Result<(), String> {
    let path =
        map.remove(member).and_then(|path| path.as_str().map(str::to_owned)).filter(|path| !path.is_empty());
    let data = format!("{member}-data");
    let has_data = map.get(&data).and_then(Value::as_str).is_some_and(|data| !data.is_empty());
    if let Some(path) = path.filter(|_| !has_data) {
        let content =
            read_file(&path).map_err(|error| format!("{at}.{member}: {path} can't be read: {error}"))?;
        map.insert(data, STANDARD.encode(content).into());
    }
    Ok(())
}

/// Paths of what is used again and again. A program without a slash is looked for in PATH, and stays so.
fn make_absolute(user: &mut Map<String, Value>, folder: &Path) {
    let absolute = |path: &str| folder.join(path).to_string_lossy().into_owned();
    if let Some(path) = user.get("tokenFile").and_then(Value::as_str).filter(|path| !path.is_empty()) {
        let path = absolute(path);
        user.insert("tokenFile".to_owned(), path.into());
    }
    if let Some(command) = user.get_mut("exec").and_then(|exec| exec.get_mut("command"))
        && let Some(path) = command.as_str().filter(|path| path.contains('/'))
    {
        *command = absolute(path).into();
    }
}

fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c, user: u, namespace: team}}
- {name: two, context: {cluster: c, user: runner}}
- {name: lost, context: {cluster: nowhere, user: u}}
clusters:
- {name: c, cluster: {server: 'https://c', certificate-authority: ca.pem}}
- {name: other, cluster: {server: 'https://other'}}
users:
- {name: u, user: {client-certificate: u.crt, client-key: u.key, client-key-data: aW5saW5l}}
- {name: runner, user: {tokenFile: token, exec: {command: ./bin/login}}}
";

    fn of(text: &str, context: Option<&str>) -> Result<Value, String> {
        let read_file = |path: &str| match path {
            "missing.pem" => Err(io::ErrorKind::NotFound.into()),
            path => Ok(format!("content of {path}").into_bytes()),
        };
        let single = single(&Secret::new(text), context, Path::new("/folder"), &read_file)?;
        Ok(serde_json::from_str(single.expose()).unwrap())
    }

    #[test]
    fn one_context_is_left_with_the_content_of_its_files() {
        let found = of(TEXT, None).unwrap();
        let cluster = &found["clusters"][0]["cluster"];
        assert_eq!(cluster["certificate-authority-data"], STANDARD.encode("content of ca.pem"));
        assert!(cluster.get("certificate-authority").is_none());
        let user = &found["users"][0]["user"];
        assert_eq!(user["client-certificate-data"], STANDARD.encode("content of u.crt"));
        // What is inside counts before a file.
        assert_eq!((&user["client-key-data"], user.get("client-key")), (&json!("aW5saW5l"), None));
        assert_eq!(found["contexts"][0]["context"]["namespace"], "team");
        assert!(!found.to_string().contains("https://other"));
    }

    #[test]
    fn programs_and_token_files_stay_with_absolute_paths() {
        let user = of(TEXT, Some("two")).unwrap()["users"][0]["user"].clone();
        assert_eq!(user["tokenFile"], "/folder/token");
        assert_eq!(user["exec"]["command"], "/folder/./bin/login");
        let in_path = TEXT.replace("./bin/login", "aws");
        assert_eq!(of(&in_path, Some("two")).unwrap()["users"][0]["user"]["exec"]["command"], "aws");
    }

    #[test]
    fn what_is_missing_is_named_without_content() {
        for (text, context, rule) in [
            (TEXT.to_owned(), Some("none"), "--kube-context: contexts has no entry \"none\""),
            (TEXT.to_owned(), Some("lost"), "contexts[].context.cluster: clusters has no entry \"nowhere\""),
            (
                TEXT.replace("current-context: one", ""),
                None,
                "current-context: must name a context, or say --kube-context",
            ),
            (
                TEXT.replace("ca.pem", "missing.pem"),
                None,
                "clusters[].cluster.certificate-authority: missing.pem can't be read: entity not found",
            ),
            ("{hunter2".to_owned(), None, "must be one well-formed YAML"),
        ] {
            let error = of(&text, context).unwrap_err();
            assert!(error.contains(rule) && !error.contains("hunter2"), "{error}");
        }
    }
}
