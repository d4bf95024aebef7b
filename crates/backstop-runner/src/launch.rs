//! How a run is started, and started again.

mod kept_path;

use std::collections::BTreeMap;
use std::path::PathBuf;

use backstop_core::policy::Lifted;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What `run` was told that is not in the policy. Kept with the run for `resume`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    pub command: Vec<String>,
    #[serde(with = "kept_path")]
    pub cwd: PathBuf,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// A single iteration.
    #[serde(default)]
    pub once: bool,
    /// How often the run may resume by itself.
    #[serde(default)]
    pub auto_resume: u32,
    #[serde(default)]
    pub total_units: Option<u64>,
    #[serde(default)]
    pub stdin: Stdin,
    /// What an agent prints is shown as it is.
    #[serde(default)]
    pub raw: bool,
    /// The command is told to export its telemetry to the run.
    #[serde(default)]
    pub telemetry: bool,
    /// A person is asked before each iteration.
    #[serde(default)]
    pub attended: bool,
    /// Guards that are lifted for this run.
    #[serde(default)]
    pub lifted: Lifted,
    /// The policy that the run began with.
    #[serde(default)]
    pub policy: Option<PolicyName>,
    /// Its file, which may be edited and applied to the run; none where there was no file.
    #[serde(default, with = "kept_path::optional")]
    pub policy_file: Option<PathBuf>,
    /// What flags said over it. They are of the run, and stay where another policy is applied.
    #[serde(default)]
    pub flags: PolicyFlags,
}

/// The part of a policy that was said by flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFlags {
    /// In the keys of a policy; null where there was none.
    pub said: Json,
    pub count: usize,
    /// Rule sets below the policy's own rules.
    pub presets: Vec<String>,
}

/// What a policy was called: one that says the same may be stored under another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyName {
    pub hash: String,
    pub name: String,
}

impl Launch {
    /// As it is kept with its run.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self)
            .expect("a launch has only string keys, and all paths can be kept")
    }

    /// What the policy with this hash was called when the run began with it.
    pub fn policy_name(&self, hash: &str) -> Option<&str> {
        self.policy.as_ref().filter(|policy| policy.hash == hash).map(|policy| &*policy.name)
    }
}

/// What every iteration reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    #[default]
    Nothing,
    /// A file, read anew for every iteration.
    File(#[serde(with = "kept_path")] PathBuf),
    /// What was piped into `run`, kept in the run's folder.
    Kept,
}
