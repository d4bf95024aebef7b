//! `backstop audit verify`: whether the record is as it was written.

use std::io::Write as _;

use backstop_store::audit::{Checkpoint, CheckpointError, Verified, verify};

use super::replaying::{self, Named, Replayed};
use super::signing;
use crate::args::AuditVerifyArguments;
use crate::error::Error;
use crate::exit_code;
use crate::input;
use crate::report::{counted, hanging};
use crate::store::Opened;
use crate::terminal::Terminal;

pub fn run(arguments: &AuditVerifyArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    let opened = Opened::existing(&arguments.store)?;
    let checkpoint = arguments.checkpoint.as_deref().map(read_checkpoint).transpose()?;
    let signer = match &checkpoint {
        Some(checkpoint) => signer(arguments, &opened, checkpoint)?,
        None => Signer::None,
    };
    let looked = look(arguments, &opened, checkpoint.as_ref())?;
    let broken = looked.broken();
    let untold = if broken.is_some() { Vec::new() } else { cannot_tell(&looked.verified, signer) };
    if arguments.json {
        let mut object = serde_json::json!(looked.verified);
        object["found"] = broken.clone().into();
        object["cannot_tell"] = (!untold.is_empty()).then(|| untold.join("; ")).into();
        object["replayed"] = looked.replayed.map(|replayed| replayed.same).into();
        writeln!(terminal.out, "{object:#}")?;
    } else {
        write!(terminal.out, "{}", in_words(&looked, broken.as_deref(), &untold))?;
    }
    Ok(if broken.is_some() { exit_code::BAD_DATA } else { exit_code::OK })
}

/// What was seen.
struct Looked {
    verified: Verified,
    /// What is wrong with a policy that rows name.
    policies: Option<String>,
    /// If it was wished, and the rows hold.
    replayed: Option<Replayed>,
}

fn look(
    arguments: &AuditVerifyArguments,
    opened: &Opened,
    checkpoint: Option<&Checkpoint>,
) -> Result<Looked, Error> {
    let mut named = Named::default();
    let verified = opened.wait(verify(&*opened.store, checkpoint, |row| named.see(row)))?;
    let mut looked = Looked { verified, policies: None, replayed: None };
    // What is made again from rows that were changed proves nothing.
    if looked.verified.finding.is_none() {
        looked.policies = named.at_fault(opened)?;
        if arguments.replay && looked.policies.is_none() {
            looked.replayed = Some(replaying::replay(opened)?);
        }
    }
    Ok(looked)
}

impl Looked {
    /// The first thing that is wrong, in a sentence.
    fn broken(&self) -> Option<String> {
        let rows = self.verified.finding.as_ref().map(|finding| finding.in_words());
        let replayed = || self.replayed.as_ref().and_then(|replayed| replayed.fault.clone());
        rows.or_else(|| self.policies.clone()).or_else(replayed)
    }
}

/// What is known of who signed the checkpoint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signer {
    /// There is none.
    None,
    Known,
    Unknown,
}

/// Refuses what another key has signed: other than the one that was named, else than the one of this
/// store. Who wrote everything anew can sign it, too.
fn signer(
    arguments: &AuditVerifyArguments,
    opened: &Opened,
    checkpoint: &Checkpoint,
) -> Result<Signer, Error> {
    let bad = |message| Error::BadData {
        place: arguments.checkpoint.clone().unwrap_or_default(),
        message,
    };
    if let Some(key) = &arguments.key {
        key.check(checkpoint).map_err(|error| bad(error.to_string()))?;
        return Ok(Signer::Known);
    }
    let Some(own) = signing::present(&opened.home.audit_key())? else { return Ok(Signer::Unknown) };
    own.verifier().check(checkpoint).map_err(|error: CheckpointError| {
        bad(format!(
            "{error}, this machine's own\n\nhint: if it comes from another machine, name that \
             machine's key with `--key`"
        ))
    })?;
    Ok(Signer::Known)
}

fn in_words(looked: &Looked, broken: Option<&str>, untold: &[String]) -> String {
    if let Some(words) = broken {
        return hanging("broken: ", words);
    }
    let rows = counted(looked.verified.rows, "row", "rows");
    let mut text = hanging("", &format!("{rows}, each following the one before"));
    if let Some(Replayed { same, .. }) = looked.replayed {
        let answers = counted(same, "answer about a re-run", "answers about re-runs");
        text.push_str(&hanging("", &format!("{answers}, each coming out again")));
    }
    for words in untold {
        text.push_str(&hanging("can't tell: ", words));
    }
    text
}

/// What nobody can prove from the chain alone.
fn cannot_tell(verified: &Verified, signer: Signer) -> Vec<String> {
    let rows = verified.rows;
    let of_the_chain = match verified.vouched {
        0 => "without a checkpoint that was kept elsewhere: whether the end was cut off, or \
              everything written anew by somebody who can write the database"
            .to_owned(),
        vouched if vouched < rows => format!(
            "whether something is missing after row {rows}, or rows {} to {rows} were written \
             anew: the checkpoint is from before",
            vouched + 1
        ),
        _ => format!("whether something is missing after row {rows}"),
    };
    let of_the_key = (signer == Signer::Unknown).then(|| {
        "who signed the checkpoint: no key was named with `--key`, and this store has none"
            .to_owned()
    });
    of_the_key.into_iter().chain([of_the_chain]).collect()
}

fn read_checkpoint(path: &str) -> Result<Checkpoint, Error> {
    let bytes = input::read(path)?;
    let text = String::from_utf8_lossy(&bytes);
    text.parse().map_err(|error: CheckpointError| Error::BadData {
        place: path.to_owned(),
        message: error.to_string(),
    })
}
