//! Variables and secrets that a file reads but that are not set: a step that reads one would fail.

use std::collections::BTreeMap;
use std::fmt;

use indexmap::{IndexMap, IndexSet};

use crate::check::Checked;
use crate::model::{DEFAULT_MODEL, Pipeline, SandboxMode, SecretReader, is_own_variable};
use crate::port::Secret;
use crate::runtime::world;

/// A variable or secret that is not set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unset {
    /// Whether it is declared under `secrets`.
    pub is_secret: bool,
    name: String,
    /// Its description by the author.
    about: Option<String>,
    /// Its readers, each once.
    readers: IndexSet<String>,
}

impl Unset {
    /// Whether a reader uses it.
    pub fn is_read_by(&self, who: &SecretReader) -> bool {
        self.readers.contains(&who.to_string())
    }
}

impl fmt::Display for Unset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_secret { "secret" } else { "variable" };
        let about = self.about.as_ref().map(|about| format!(" ({about})")).unwrap_or_default();
        let readers = self.readers.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        write!(f, "{kind} {} is not set{about}, and is read by {readers}; set the variable, or name a file with --env-file", self.name)
    }
}

/// Whether a secret is set. A blank value does not count.
pub fn is_secret_set(secret: &str, env: &BTreeMap<String, Secret>) -> bool {
    env.get(secret).is_some_and(|value| !value.reveal().trim().is_empty())
}

/// Returns agent programs without a key: in the sandbox they cannot use a person's login. `of_user`: the user's sandbox mode.
pub fn keyless(checked: &Checked, env: &BTreeMap<String, Secret>, of_user: Option<SandboxMode>) -> Vec<String> {
    let is_replaced = matches!(world::default_model(env), Ok(Some(_)));
    let of_one = |pipeline: &Pipeline| -> Vec<String> {
        if of_user.into_iter().fold(pipeline.least_sandbox(), Ord::max) == SandboxMode::None {
            return vec![];
        }
        let all = pipeline.models.iter().filter(|(name, _)| !(is_replaced && *name == DEFAULT_MODEL));
        let lacks = all.filter_map(|(name, model)| {
            let program = model.provider.program().filter(|_| model.api_key.is_none() && model.base_url.is_none())?;
            let variable = program.api_key_variable.as_ref().filter(|one| !program.run.env.iter().any(|(name, _)| name.value == **one))?;
            Some(format!(
                "model {name} has no api_key, and in the sandbox its program has no login of yours; add api_key, which it finds as {variable}"
            ))
        });
        lacks.collect()
    };
    checked.loaded.program.pipelines.iter().flat_map(|pipeline| of_one(pipeline)).collect()
}

/// Returns those that are read without `default(…)`, in file order. A model that variables set in place of `default` reads none.
pub fn unset(checked: &Checked, env: &BTreeMap<String, Secret>) -> Vec<Unset> {
    let is_replaced = matches!(world::default_model(env), Ok(Some(_)));
    let mut found: IndexMap<(bool, &str), Unset> = IndexMap::new();
    for pipeline in &checked.loaded.program.pipelines {
        for (who, texts) in pipeline.texts_with_secrets() {
            if is_replaced && matches!(who, SecretReader::Model(DEFAULT_MODEL)) {
                continue;
            }
            for read in texts.iter().flat_map(|text| &text.reads).filter(|read| !read.is_guarded) {
                let [root, name, ..] = read.path.as_slice() else { continue };
                let is_secret = root == "secrets";
                // The check reports names that are not secrets of the file.
                if !is_secret && root != "env"
                    || is_own_variable(name)
                    || if is_secret { is_secret_set(name, env) } else { env.contains_key(name) }
                {
                    continue;
                }
                let unset = found.entry((is_secret, name)).or_insert_with(|| {
                    let about = pipeline.secrets.get(name).filter(|_| is_secret).map(|about| about.value.clone());
                    Unset { is_secret, name: name.clone(), about, readers: IndexSet::new() }
                });
                unset.readers.insert(who.to_string());
            }
        }
    }
    found.into_values().collect()
}
