//! The user's own kubeconfig, made fit to be stored: one context of it, with the files that it names inside.
//!
//! It is what `kubectl config view --minify --flatten` would give, of one file or of those that `KUBECONFIG` lists. Two things stay as
//! they are, as they are asked for again and again: programs to run (`exec`) and token files. Their paths, which a kubeconfig writes
//! relative to itself, become absolute.

pub(crate) mod merging;

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::kubeconfig::{self, Content, Given, Invalid, KUBECONFIG_BYTES_MAX};
use dcm_core::secret::Secret;
use dcm_core::yaml::{Place, Unreadable};
use serde_json::{Map, Value, json};

use crate::exit::{Ended, Exit};
use crate::output;

/// Longest path that a message shows, in bytes. The shortest private key in PEM has more than this.
const SHOWN_PATH_MAX: usize = 100;

const TOO_LARGE: &str = "it must be at most 8 MiB";

/// Files whose content a kubeconfig can hold itself, in the cluster and in the user.
const CLUSTER_FILES: [&str; 1] = ["certificate-authority"];
const USER_FILES: [&str; 2] = ["client-certificate", "client-key"];

/// Returns a kubeconfig with one context of a file: the named one, or the current one. Without a file, the files that kubectl uses are read
/// as one, and a missing file is skipped.
pub(crate) fn read(file: Option<&Path>, context: Option<&str>) -> anyhow::Result<Secret> {
    let files = match file {
        Some(file) => vec![file.to_path_buf()],
        None => default_files()?,
    };
    let mut own = Vec::new();
    for file in &files {
        let Some(bytes) = bytes_of(file, file_is_named(&files))? else { continue };
        let given = kubeconfig::decode(bytes).and_then(|text| Given::read(&text));
        let given = given.map_err(|invalid| refuse(file, &rule_of(invalid)))?;
        for warning in given.warnings() {
            output::note(format_args!("kubeconfig {}: warning: {warning}", file.display()));
        }
        let path = std::path::absolute(file).with_context(|| unreadable(file))?;
        own.push(Own { folder: path.parent().unwrap_or(Path::new("/")).to_path_buf(), given });
    }
    if own.is_empty() {
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        anyhow::bail!("no file of KUBECONFIG exists: {}", names.join(", "));
    }
    let rule = match &*files {
        [file] => format!("kubeconfig {}", file.display()),
        _ => "kubeconfig".to_owned(),
    };
    single(&own, context, &|path| within_limit(File::open(path)?))
        .map_err(|broken| Ended::new(Exit::Refused, format!("{rule}: {broken}")).into())
}

/// A file that stands alone must be there.
fn file_is_named(files: &[PathBuf]) -> bool {
    files.len() == 1
}

/// The files that kubectl uses.
pub(crate) fn default_files() -> anyhow::Result<Vec<PathBuf>> {
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut files: Vec<PathBuf> = Vec::new();
    for file in std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()) {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        let home = etcetera::home_dir().context("the user has no home folder; name a file")?;
        files.push(home.join(".kube/config"));
    }
    Ok(files)
}

/// The content of a file; none for one that need not be there, and is not.
fn bytes_of(file: &Path, must_be_there: bool) -> anyhow::Result<Option<Vec<u8>>> {
    let opened = match File::open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound && !must_be_there => return Ok(None),
        opened => opened.with_context(|| unreadable(file))?,
    };
    match within_limit(opened) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(refuse(file, TOO_LARGE)),
        bytes => bytes.map(Some).with_context(|| unreadable(file)),
    }
}

/// The content of a file. One over [`KUBECONFIG_BYTES_MAX`] is an error of the kind [`ErrorKind::FileTooLarge`].
fn within_limit(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(KUBECONFIG_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    file.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > KUBECONFIG_BYTES_MAX { Err(ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

fn unreadable(file: &Path) -> String {
    format!("{} can't be read", file.display())
}

fn refuse(file: &Path, rule: &str) -> anyhow::Error {
    Ended::new(Exit::Refused, format!("kubeconfig {}: {rule}", file.display())).into()
}

/// The rule that a text breaks, in words that follow the name of its file.
fn rule_of(invalid: Invalid) -> String {
    let at = |line, column, rule| Unreadable { place: Place { line, column }, rule }.to_string();
    match invalid {
        Invalid::TooLarge => TOO_LARGE.to_owned(),
        Invalid::Syntax { line, column } => at(line, column, None),
        Invalid::Limit { line, column, rule } => at(line, column, Some(rule)),
        Invalid::Encoding { encoding } => format!("it must be UTF-8, and is {encoding}: convert it first"),
        Invalid::Field { path, .. } if path.is_empty() => {
            "it must be a mapping, with clusters, contexts and users".to_owned()
        }
        Invalid::Field { path, rule } => format!("{path}: {rule}"),
    }
}

/// A file of a kubeconfig, and the folder that its paths are relative to.
struct Own {
    folder: PathBuf,
    given: Given,
}

type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<Vec<u8>>;

/// One context, with its cluster and user, each of the first file that has it. Errors name fields, entries, files and rules, never
/// credentials.
fn single(own: &[Own], context: Option<&str>, read_file: ReadFile<'_>) -> Result<Secret, String> {
    let at = if context.is_some() { "--kube-context" } else { "current-context" };
    let current = || own.iter().find_map(|file| file.given.current_context());
    let wanted = context.or_else(current).filter(|name| !name.is_empty());
    let wanted = wanted.ok_or("current-context: must name a context; set it or pass --kube-context")?;
    let (_, context) = entry(own, at, "contexts", wanted, Given::context)?;
    let cluster_name = context.text("cluster").unwrap_or_default();
    let (folder, cluster) =
        entry(own, "contexts[].context.cluster", "clusters", cluster_name, Given::cluster)?;
    cluster.check_cluster().map_err(|invalid| invalid.to_string())?;
    let cluster = with_files(&cluster, &CLUSTER_FILES, folder, read_file)?;
    // An entry without a name is that of a context without a user.
    let user_name = context.text("user").unwrap_or_default();
    let user = match entry(own, "contexts[].context.user", "users", user_name, Given::user) {
        Err(_) if user_name.is_empty() => Map::new(),
        found => {
            let (folder, user) = found?;
            user.check_user().map_err(|invalid| invalid.to_string())?;
            of_user(user, folder, read_file)?
        }
    };
    let context =
        json!({"cluster": "registered", "user": "registered", "namespace": context.text("namespace")});
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

/// The content of the entry of a list that has the name, which stands at a place, and the folder of its file.
fn entry<'o>(
    own: &'o [Own],
    at: &str,
    list: &str,
    name: &str,
    find: impl Fn(&Given, &str) -> Option<Content>,
) -> Result<(&'o Path, Content), String> {
    let found = own.iter().find_map(|file| Some((&*file.folder, find(&file.given, name)?)));
    found.ok_or_else(|| format!("{at}: {list} has no entry {name:?}"))
}

fn of_user(mut user: Content, folder: &Path, read_file: ReadFile<'_>) -> Result<Map<String, Value>, String> {
    // Without a certificate kubectl does not look for its key.
    if user.text("client-certificate").or_else(|| user.text("client-certificate-data")).is_none() {
        user.fields.retain(|member, _| !matches!(member.as_str(), "client-key" | "client-key-data"));
    }
    let mut fields = with_files(&user, &USER_FILES, folder, read_file)?;
    make_absolute(&mut fields, folder);
    Ok(fields)
}

/// Puts the content of files in the place of their paths.
fn with_files(
    content: &Content,
    members: &[&str],
    folder: &Path,
    read_file: ReadFile<'_>,
) -> Result<Map<String, Value>, String> {
    let mut fields = content.fields.clone();
    for member in members {
        let Some(Value::String(path)) = fields.remove(*member) else { continue };
        // A key in the place of its path is not shown.
        let shown = if path.len() > SHOWN_PATH_MAX { "the file" } else { &path };
        let read = read_file(&resolved(folder, &path));
        let read =
            read.map_err(|error| format!("{}: {shown} can't be read: {error}", content.path_of(member)))?;
        fields.insert(format!("{member}-data"), STANDARD.encode(read).into());
    }
    Ok(fields)
}

/// A path as client-go resolves it: `..` takes away the folder that is written before it, also where that is a link.
fn resolved(folder: &Path, path: &str) -> PathBuf {
    if Path::new(path).is_absolute() {
        return path.into();
    }
    let mut resolved = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(resolved.pop()),
            other => resolved.push(other),
        }
    }
    resolved
}

/// Paths of what is used again and again. A program without a slash is looked for in PATH, and stays so.
fn make_absolute(user: &mut Map<String, Value>, folder: &Path) {
    let absolute = |path: &str| resolved(folder, path).to_string_lossy().into_owned();
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
- {name: u, user: {client-certificate: u.crt, client-key: '', client-key-data: aW5saW5l}}
- {name: k, user: {client-key: missing.pem, token: t}}
- {name: runner, user: {tokenFile: token, exec: {command: ./bin/login}}}
";

    fn of(text: &str, context: Option<&str>) -> Result<Value, String> {
        of_files(&[("/folder", text)], context)
    }

    fn of_files(files: &[(&str, &str)], context: Option<&str>) -> Result<Value, String> {
        let read_file = |path: &Path| match path.to_str() {
            Some("/folder/missing.pem") => Err(ErrorKind::NotFound.into()),
            _ => Ok(format!("content of {}", path.display()).into_bytes()),
        };
        let own = |(folder, text): &(&str, &str)| {
            let given = Given::read(&Secret::new(*text)).map_err(rule_of)?;
            Ok(Own { folder: PathBuf::from(folder), given })
        };
        let own: Vec<_> = files.iter().map(own).collect::<Result<_, String>>()?;
        let single = single(&own, context, &read_file)?;
        Ok(serde_json::from_str(single.expose()).unwrap())
    }

    #[test]
    fn one_context_is_left_with_the_content_of_its_files() {
        let found = of(TEXT, None).unwrap();
        let cluster = &found["clusters"][0]["cluster"];
        assert_eq!(cluster["certificate-authority-data"], STANDARD.encode("content of /folder/ca.pem"));
        assert!(cluster.get("certificate-authority").is_none());
        let user = &found["users"][0]["user"];
        assert_eq!(user["client-certificate-data"], STANDARD.encode("content of /folder/u.crt"));
        // An empty path is none.
        assert_eq!((&user["client-key-data"], user.get("client-key")), (&json!("aW5saW5l"), None));
        assert_eq!(found["contexts"][0]["context"]["namespace"], "team");
        assert!(!found.to_string().contains("https://other"));
    }

    #[test]
    fn programs_and_token_files_stay_with_absolute_paths() {
        let user = of(TEXT, Some("two")).unwrap()["users"][0]["user"].clone();
        assert_eq!(user["tokenFile"], "/folder/token");
        assert_eq!(user["exec"]["command"], "/folder/bin/login");
        let above = of(&TEXT.replace("tokenFile: token", "tokenFile: a/../../token"), Some("two")).unwrap();
        assert_eq!(above["users"][0]["user"]["tokenFile"], "/token");
        let in_path = TEXT.replace("./bin/login", "aws");
        assert_eq!(of(&in_path, Some("two")).unwrap()["users"][0]["user"]["exec"]["command"], "aws");
    }

    #[test]
    fn of_several_files_the_first_one_that_has_an_entry_counts() {
        let first = "contexts: [{name: one, context: {cluster: c, user: k}}]\ncurrent-context: ''\n";
        let found = of_files(&[("/first", first), ("/folder", TEXT)], None).unwrap();
        let user = &found["users"][0]["user"];
        // A key without a certificate is not read.
        assert_eq!(*user, json!({"token": "t"}));
        let cluster = &found["clusters"][0]["cluster"];
        assert_eq!(cluster["certificate-authority-data"], STANDARD.encode("content of /folder/ca.pem"));
        assert_eq!(of_files(&[("/first", first)], None).unwrap_err(), of("", None).unwrap_err());
    }

    #[test]
    fn a_key_in_the_place_of_its_path_is_not_shown() {
        let own = Own { folder: "/folder".into(), given: Given::read(&Secret::new(TEXT)).unwrap() };
        let pasted = format!("LS0tLS1CRUdJTiBQUklWQVRF{}", "hunter2".repeat(20));
        let mut user = own.given.user("k").unwrap();
        user.fields.insert("client-key".to_owned(), pasted.into());
        let read_file = |_: &Path| Err(ErrorKind::NotFound.into());
        let error = with_files(&user, &USER_FILES, &own.folder, &read_file).unwrap_err();
        assert_eq!(error, "users[1].user.client-key: the file can't be read: entity not found");
    }

    #[test]
    fn what_is_missing_is_named_without_content() {
        for (text, context, rule) in [
            (TEXT.to_owned(), Some("none"), "--kube-context: contexts has no entry \"none\""),
            (TEXT.to_owned(), Some("lost"), "contexts[].context.cluster: clusters has no entry \"nowhere\""),
            (
                TEXT.replace("current-context: one", ""),
                None,
                "current-context: must name a context; set it or pass --kube-context",
            ),
            (
                TEXT.replace("ca.pem", "missing.pem"),
                None,
                "clusters[0].cluster.certificate-authority: missing.pem can't be read: entity not found",
            ),
            (
                TEXT.replace("client-key: '', client-key-data: aW5saW5l", "client-key: missing.pem"),
                None,
                "users[0].user.client-key: missing.pem can't be read: entity not found",
            ),
            ("{hunter2".to_owned(), None, "must be one well-formed YAML"),
        ] {
            let error = of(&text, context).unwrap_err();
            assert!(error.contains(rule) && !error.contains("hunter2"), "{error}");
        }
    }
}
