//! The deliberate differences between what EMCO answered and what is answered here.

use regex::Regex;
use serde_json::{Value, json};

use super::recorded::Answer;

/// Something that is answered otherwise on purpose.
pub(super) struct Difference {
    /// What EMCO does.
    pub(super) of_emco: &'static str,
    /// What is done here.
    pub(super) here: &'static str,
    /// Why.
    pub(super) reason: &'static str,
    /// How its answers become ours.
    change: Change,
}

enum Change {
    /// These patterns in bodies are answered as these texts.
    Texts(&'static [(&'static str, &'static str)]),
    /// Bodies are changed.
    Body(fn(&mut Value)),
    /// A request that has both texts is answered like this.
    Answer([&'static str; 2], u16, &'static str),
}

impl Difference {
    /// What is answered here in the place of what was recorded.
    pub(super) fn applied(&self, request: &str, recorded: &Answer) -> Answer {
        let Answer { status, mut body } = recorded.clone();
        match self.change {
            Change::Texts(texts) => {
                for (pattern, text) in texts {
                    body = Regex::new(pattern).unwrap().replace_all(&body, *text).into_owned();
                }
            }
            Change::Body(change) => {
                if let Ok(mut value) = serde_json::from_str::<Value>(&body) {
                    let before = value.clone();
                    change(&mut value);
                    body = if value == before { body } else { value.to_string() };
                }
            }
            Change::Answer(texts, status, body) if texts.iter().all(|text| request.contains(text)) => {
                return Answer { status, body: body.to_owned() };
            }
            Change::Answer(..) => {}
        }
        Answer { status, body }
    }
}

/// All of them. Each is used at least once.
pub(super) const DIFFERENCES: [Difference; 8] = [
    Difference {
        of_emco: "Roles are named by a number (`lc-role0`), the request for a certificate by the cloud and its namespace",
        here: "Roles and bindings are named by their permission; the request carries project, cloud, user and a hash",
        reason: "a permission that goes renumbers no other one, and equal names in two projects do not meet on a cluster",
        change: Change::Texts(&[
            ("lcfix-ns-lcfix-user-csr", "dcm-p1-lcfix-user-lcfix-1-1-UID"),
            ("lcfix-role0", "up1"),
            ("lcfix-roleBinding0", "up1"),
        ]),
    },
    Difference {
        of_emco: "A quota of processors or memory alone",
        here: "With such a quota comes a LimitRange",
        reason: "Kubernetes refuses pods that name no requests or limits where a quota counts them",
        change: Change::Body(with_limit_range),
    },
    Difference {
        of_emco: "`output=detail` shows each object as it is",
        here: "It shows the state of each object, and the cause where it is not further, with its `detail` for platform admins",
        reason: "what hinders an object is asked for; objects themselves are read from the cluster",
        change: Change::Body(with_states),
    },
    Difference {
        of_emco: "Resources that were taken off a cluster are listed as `Deleted`",
        here: "They are not listed any more",
        reason: "nothing is kept of what is gone",
        change: Change::Body(without_deleted),
    },
    Difference {
        of_emco: "Quantities of a quota come back as they were sent (`1000`)",
        here: "They come back as Kubernetes writes them (`1k`)",
        reason: "equal quantities are equal, so that nothing seems to differ from what a cluster says",
        change: Change::Texts(&[(r#""configmaps":"1000""#, r#""configmaps":"1k""#)]),
    },
    Difference {
        of_emco: "Lists of a user permission come back in the order they were sent in",
        here: "They come back sorted, each entry once",
        reason: "they are sets: their order means nothing",
        change: Change::Texts(&[
            (
                r#""secrets","pods","configmaps","services","deployments""#,
                r#""configmaps","deployments","pods","secrets","services""#,
            ),
            (
                r#""get","watch","list","create","update","delete""#,
                r#""create","delete","get","list","update","watch""#,
            ),
        ]),
    },
    Difference {
        of_emco: "The kubeconfig of a cluster is answered to whoever asks (`Accept: application/octet-stream` or `multipart/form-data`)",
        here: "406",
        reason: "it is a secret of whoever registered the cluster",
        change: Change::Answer(
            ["GET /v2/cluster-providers/cp1/clusters/c1", "Accept: application/octet-stream"],
            406,
            "the kubeconfig of a cluster is never answered, set Accept: application/json",
        ),
    },
    Difference {
        of_emco: "A logical cloud whose parts are all deleted may still be refused for children (409)",
        here: "It is deleted (204)",
        reason: "it could never be deleted",
        change: Change::Answer(["DELETE /v2/projects/p1/logical-clouds/lcfix\n", ""], 204, ""),
    },
];

/// Calls something with each list of resources.
fn resources(value: &mut Value, change: &impl Fn(&mut Vec<Value>)) {
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(resources)) = members.get_mut("resources") {
                change(resources);
            }
            members.values_mut().for_each(|member| resources(member, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resources(item, change)),
        _ => {}
    }
}

fn with_limit_range(body: &mut Value) {
    let is_status = body.get("states").is_some() || body.get("resourcesByApp").is_some();
    if !is_status {
        return;
    }
    resources(body, &|resources| {
        let quota = resources.iter().find(|one| one["GVK"]["Kind"] == "ResourceQuota").cloned();
        if let Some(mut limits) = quota {
            limits["GVK"]["Kind"] = "LimitRange".into();
            limits["name"] = "dcm-defaults".into();
            resources.push(limits);
        }
    });
    if body["deployedCounts"]["Applied"] == 10 {
        body["deployedCounts"]["Applied"] = 12.into();
    }
}

fn with_states(body: &mut Value) {
    resources(body, &|resources| {
        for resource in resources.iter_mut().filter(|resource| resource.get("detail").is_some()) {
            let is_request = resource["GVK"]["Kind"] == "CertificateSigningRequest";
            resource["detail"] = json!({"state": if is_request { "issued" } else { "applied" }});
        }
    });
}

fn without_deleted(body: &mut Value) {
    if body["deployedStatus"] == "Terminated"
        && let Some(members) = body.as_object_mut()
    {
        members.retain(|name, _| name != "deployedCounts" && name != "clusters");
    }
}
