//! Reading documents from files and standard input.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dcm_core::document::{self, Document, Limits, TEXT_BYTES_MAX};
use dcm_core::name::ProjectName;

use crate::exit::{Ended, Exit};
use crate::output;

/// The name that means standard input.
const STANDARD_INPUT: &str = "-";

/// A document, and where it was read.
#[derive(Debug)]
pub(crate) struct Sourced {
    /// The file, as people call it.
    pub(crate) source: String,
    pub(crate) document: Document,
}

impl Sourced {
    /// What an error is about that comes from what is stored and not from the text.
    pub(crate) fn title(&self) -> String {
        format!("{}: logical cloud {}", self.source, self.document.draft.metadata.name)
    }
}

/// Reads all documents of all files. Warnings are noted; refusals of all files are in the error, and then nothing of
/// any file is used.
pub(crate) fn read(files: &[PathBuf], project: &ProjectName) -> anyhow::Result<Vec<Sourced>> {
    let mut refusals = Vec::new();
    let mut documents = Vec::new();
    let mut seen: BTreeMap<(ProjectName, String), String> = BTreeMap::new();
    for file in files {
        let source = shown(file);
        let text = text_of(file)?;
        match document::parse(&text, project, &Limits::default()) {
            Err(refused) => refusals.extend(refused.as_slice().iter().map(|one| format!("{source}: {one}"))),
            Ok(parsed) => {
                for document in parsed {
                    let name = (document.project.clone(), document.draft.metadata.name.clone());
                    if let Some(other) = seen.insert(name, source.clone()) {
                        let name = &document.draft.metadata.name;
                        refusals.push(format!("{source}: logical cloud {name} is in {other}, too"));
                    }
                    documents.push(Sourced { source: source.clone(), document });
                }
            }
        }
    }
    if !refusals.is_empty() {
        return Err(Ended::new(Exit::Refused, refusals.join("\ndcm: ")).into());
    }
    for Sourced { source, document } in &documents {
        let name = &document.draft.metadata.name;
        document
            .warnings
            .iter()
            .for_each(|warning| output::note(format_args!("{source}: {name}: {warning}")));
    }
    Ok(documents)
}

fn shown(file: &Path) -> String {
    if file.as_os_str() == STANDARD_INPUT { "standard input".to_owned() } else { file.display().to_string() }
}

/// The bytes of a file; not more than one over the limit, which then is refused as too long.
fn text_of(file: &Path) -> anyhow::Result<Vec<u8>> {
    let limit = u64::try_from(TEXT_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut text = Vec::new();
    let read = if file.as_os_str() == STANDARD_INPUT {
        std::io::stdin().lock().take(limit).read_to_end(&mut text)
    } else {
        std::fs::File::open(file).and_then(|opened| opened.take(limit).read_to_end(&mut text))
    };
    read.with_context(|| format!("{} can't be read", shown(file)))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::code_of;

    fn cloud(name: &str, spec: &str) -> String {
        format!("apiVersion: dcm.internal/v1\nkind: LogicalCloud\nmetadata: {{name: {name}}}\nspec: {spec}\n")
    }

    fn read_all(texts: &[String]) -> anyhow::Result<Vec<Sourced>> {
        let folder = tempfile::tempdir().unwrap();
        let files = texts.iter().enumerate().map(|(index, text)| {
            let file = folder.path().join(format!("{index}.yaml"));
            std::fs::write(&file, text).unwrap();
            file
        });
        read(&files.collect::<Vec<_>>(), &ProjectName::new("default").unwrap())
    }

    #[test]
    fn the_refusals_of_all_files_are_told_at_once() {
        let error = read_all(&[cloud("a", "{level: none}"), cloud("b", "{}"), cloud("c", "{color: red}")]);
        let error = error.unwrap_err();
        assert_eq!(code_of(&error), Exit::Refused);
        let text = format!("{error:#}");
        assert!(text.contains("0.yaml: document 1, line 4") && text.contains("2.yaml"), "{text}");
        assert!(
            text.contains("spec.level") && text.contains("spec.color") && !text.contains("1.yaml"),
            "{text}"
        );
    }

    #[test]
    fn one_cloud_in_two_files_is_refused() {
        let error = read_all(&[cloud("a", "{}"), cloud("a", "{}")]).unwrap_err();
        assert!(format!("{error}").contains("logical cloud a is in"), "{error}");
        assert_eq!(code_of(&error), Exit::Refused);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(&["/nowhere/a.yaml".into()], &ProjectName::new("p").unwrap()).unwrap_err();
        assert!(format!("{error:#}").starts_with("/nowhere/a.yaml can't be read: "), "{error:#}");
    }
}
