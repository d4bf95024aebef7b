//! The tables that both engines have, for moving a store whole.

use self::Kind::{Bytes, Flag, Number, Text};

/// A table.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, Kind)],
    /// How many of the columns, from the first on, name a row.
    pub key: usize,
    /// The first column is a number that the engine gives.
    pub numbered: bool,
    /// What the engine fills by itself when this is filled, and what is to be moved as it was.
    pub fills: Option<&'static str>,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Flag,
    Bytes,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    Null,
    Text(String),
    /// Also of a flag.
    Number(i64),
    Bytes(Vec<u8>),
}

/// A row as it is kept, in the order of its table's columns.
pub type RawRow = Vec<Cell>;

impl Table {
    /// The columns' names, as in a statement.
    pub(crate) fn list(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// Those of the key.
    pub(crate) fn key_list(&self) -> String {
        let names: Vec<_> = self.columns.iter().take(self.key).map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

/// All but the audit, in an order in which each refers to those before it only.
pub const TABLES: &[Table] = &[
    Table {
        name: "policies",
        columns: &[
            ("hash", Text),
            ("label", Text),
            ("json", Text),
            ("source", Text),
            ("source_name", Text),
            ("put_by", Text),
            ("put_at", Number),
        ],
        ..KEYED
    },
    Table {
        name: "policy_activations",
        columns: &[
            ("number", Number),
            ("scope", Text),
            ("policy_hash", Text),
            ("by", Text),
            ("at", Number),
        ],
        ..NUMBERED
    },
    Table {
        name: "runs",
        columns: &[
            ("id", Text),
            ("created_at", Number),
            ("updated_at", Number),
            ("cwd", Text),
            ("command", Text),
            ("labels", Text),
            ("policy_hash", Text),
            ("status", Text),
            ("state", Text),
            ("launch", Text),
            ("supervised", Flag),
            ("pruned", Flag),
        ],
        fills: Some("journals"),
        ..KEYED
    },
    Table { name: "journals", columns: &[("number", Number), ("run", Text)], ..NUMBERED },
    Table {
        name: "events",
        columns: &[
            ("place", Number),
            ("run", Text),
            ("seq", Number),
            ("at", Number),
            ("kind", Text),
            ("body", Text),
            ("checksum", Number),
        ],
        fills: Some("interventions"),
        ..KEYED
    },
    Table {
        name: "interventions",
        columns: &[
            ("run", Text),
            ("seq", Number),
            ("asked_at", Number),
            ("asked", Text),
            ("answered_at", Number),
            ("answered", Text),
        ],
        key: 2,
        ..KEYED
    },
    Table {
        name: "snapshots",
        columns: &[("run", Text), ("seq", Number), ("facts", Text), ("checksum", Number)],
        ..KEYED
    },
    Table {
        name: "decisions",
        columns: &[
            ("run", Text),
            ("seq", Number),
            ("at", Number),
            ("verdict", Text),
            ("reason", Text),
            ("policy_hash", Text),
            ("body", Text),
            ("checksum", Number),
        ],
        key: 2,
        ..KEYED
    },
    Table {
        name: "leases",
        columns: &[
            ("run", Text),
            ("epoch", Number),
            ("holder", Text),
            ("expires_at", Number),
            ("released", Flag),
        ],
        ..KEYED
    },
    Table {
        name: "inbox",
        columns: &[
            ("number", Number),
            ("run", Text),
            ("body", Text),
            ("answer", Text),
            ("key", Text),
        ],
        ..NUMBERED
    },
    Table {
        name: "receipts",
        columns: &[("run", Text), ("key", Text), ("answer", Text)],
        key: 2,
        ..KEYED
    },
    Table {
        name: "tokens",
        columns: &[
            ("id", Text),
            ("name", Text),
            ("hash", Bytes),
            ("scopes", Text),
            ("created_by", Text),
            ("created_at", Number),
            ("expires_at", Number),
            ("revoked_at", Number),
        ],
        ..KEYED
    },
    Table {
        name: "failure_signals",
        columns: &[
            ("number", Number),
            ("owner", Text),
            ("repo", Text),
            ("pr_number", Number),
            ("job", Text),
            ("workflow_run_id", Number),
            ("attempt", Number),
            ("hash", Text),
            ("class", Text),
            ("at", Number),
            ("check_run", Number),
            ("ended_at", Number),
            ("outdated", Flag),
        ],
        ..NUMBERED
    },
    Table {
        name: "deliveries",
        columns: &[("id", Text), ("at", Number), ("taken_by", Text)],
        ..KEYED
    },
    Table {
        name: "halt_orders",
        columns: &[
            ("number", Number),
            ("labels", Text),
            ("why", Text),
            ("by", Text),
            ("at", Number),
            ("released_by", Text),
            ("released_at", Number),
        ],
        ..NUMBERED
    },
];

const KEYED: Table = Table { name: "", columns: &[], key: 1, numbered: false, fills: None };
const NUMBERED: Table = Table { numbered: true, ..KEYED };
