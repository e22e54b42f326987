//! What `doctor` found: one thing that is wrong, how it was seen, what it costs
//! and what repairs it.
//!
//! Must not decide anything.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::rules::{self, Rule};

/// How much a finding matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// To be known: nothing is lost for certain.
    Info,
    /// Costs time, or will.
    Warning,
    /// Built wrong: every write of the usual kind pays, or data may become
    /// unreachable.
    Error,
}

impl Severity {
    /// As JSON has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// How sure we are of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// It follows from the numbers.
    Certain,
    /// It is so nearly always.
    Likely,
    /// It may be: somebody has to look.
    Possible,
}

impl Sure {
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Possible => "possible",
        }
    }
}

/// What a finding costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "how", content = "text", rename_all = "snake_case")]
pub enum Cost {
    /// Counted while doctor looked.
    Measured(String),
    /// By arithmetic or the row model; nothing was counted.
    Expected(String),
    Unknown,
}

/// One command to paste.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Step {
    pub command: String,
    /// What to know before it is run. null: nothing.
    pub warning: Option<String>,
}

/// Commands that put something right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remedy {
    /// What they do, in a line.
    pub text: String,
    /// What lies on the device is lost: it has to be built anew.
    pub destroys_data: bool,
    /// In this order, as root. Empty: no command does it.
    pub steps: Vec<Step>,
}

impl Remedy {
    /// One that leaves all data where they are.
    #[must_use]
    pub fn repair(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            destroys_data: false,
            steps: Vec::new(),
        }
    }

    /// How to build it anew: what lies there is lost.
    #[must_use]
    pub fn anew(text: impl Into<String>) -> Self {
        Self {
            destroys_data: true,
            ..Self::repair(text)
        }
    }

    #[must_use]
    pub fn run(mut self, command: impl Into<String>) -> Self {
        self.steps.push(Step {
            command: command.into(),
            warning: None,
        });
        self
    }

    /// With a warning to the command before.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        if let Some(step) = self.steps.last_mut() {
            step.warning = Some(warning.into());
        }
        self
    }
}

/// One thing that is wrong, or to be known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Of the rule: stable.
    pub id: &'static str,
    pub severity: Severity,
    /// The kernel's name of the device it is about.
    pub device: String,
    /// How it was seen, in sentences.
    pub evidence: Vec<String>,
    /// The numbers of it, the unit in the name.
    pub numbers: BTreeMap<&'static str, u64>,
    pub cost: Cost,
    pub sure: Sure,
    /// Leaves the data where they are. null: nothing does.
    pub repair: Option<Remedy>,
    /// Destroys what lies there, which has to be saved and put back. null: not
    /// needed, or of no use.
    pub build_anew: Option<Remedy>,
    /// A page that says more.
    pub docs: String,
}

impl Finding {
    /// By this rule, with its usual severity.
    pub(super) fn new(rule: &'static Rule, device: &str, evidence: impl Into<String>) -> Self {
        Self {
            id: rule.id,
            severity: rule.severity,
            device: device.to_owned(),
            evidence: vec![evidence.into()],
            numbers: BTreeMap::new(),
            cost: Cost::Unknown,
            sure: Sure::Certain,
            repair: None,
            build_anew: None,
            docs: format!("{}#{}", rules::PAGE, rule.id),
        }
    }

    pub(super) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    pub(super) fn and(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    pub(super) fn number(mut self, name: &'static str, value: u64) -> Self {
        self.numbers.insert(name, value);
        self
    }

    pub(super) fn expected(mut self, cost: impl Into<String>) -> Self {
        if !matches!(self.cost, Cost::Measured(_)) {
            self.cost = Cost::Expected(cost.into());
        }
        self
    }

    pub(super) fn measured(mut self, cost: Option<String>) -> Self {
        if let Some(cost) = cost {
            self.cost = Cost::Measured(cost);
        }
        self
    }

    pub(super) fn sure(mut self, sure: Sure) -> Self {
        self.sure = sure;
        self
    }

    /// A remedy takes its own place: one that destroys data is no repair.
    pub(super) fn remedy(mut self, remedy: Remedy) -> Self {
        if remedy.destroys_data {
            self.build_anew = Some(remedy);
        } else {
            self.repair = Some(remedy);
        }
        self
    }

    pub(super) fn maybe(self, remedy: Option<Remedy>) -> Self {
        match remedy {
            Some(remedy) => self.remedy(remedy),
            None => self,
        }
    }
}
