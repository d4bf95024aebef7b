//! What a policy says of test reports that nobody could read. The core does not know their formats.

use backstop_adapters::report::Source;
use backstop_core::diagnostic::Diagnostic;
use backstop_core::document::{Node, Syntax, Table, Value, parse};
use backstop_core::policy::{Dialect, Policy};

/// The `report`s of `[verify]` that name no format, each at its place in the document that the
/// policy was loaded from.
pub fn unreadable_reports(policy: &Policy, bytes: &[u8], syntax: Syntax) -> Vec<Diagnostic> {
    if policy.settings.verify.is_none() {
        return Vec::new();
    }
    let Ok(Node { value: Value::Table(policy), .. }) = parse(bytes, syntax) else {
        // Whoever reads it says what is wrong with it.
        return Vec::new();
    };
    // Of another tool's document only what it says of stopping is ours.
    if Dialect::of(&policy).is_some() {
        return Vec::new();
    }
    let Some(verify) = table_in(&policy, "verify") else { return Vec::new() };
    let tiers = match verify.get("tiers").map(|entry| &entry.node.value) {
        Some(Value::List(tiers)) => tiers.as_slice(),
        _ => &[],
    };
    let tiers = tiers.iter().filter_map(|tier| match &tier.value {
        Value::Table(tier) => Some(tier),
        _ => None,
    });
    std::iter::once(verify).chain(tiers).filter_map(unreadable).collect()
}

fn unreadable(section: &Table) -> Option<Diagnostic> {
    let node = &section.get("report")?.node;
    let Value::String(text) = &node.value else { return None };
    let error = text.parse::<Source>().err()?;
    let message = format!("`report` can't be `{text}`");
    Some(Diagnostic::error(message, node.span.clone()).label(error.to_string()).hint(
        "write `auto` or the name of a format, for files with `:PATH` behind it, or `regex:PATTERN`; left out, it is `auto`",
    ))
}

fn table_in<'a>(table: &'a Table, key: &str) -> Option<&'a Table> {
    match &table.get(key)?.node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}
