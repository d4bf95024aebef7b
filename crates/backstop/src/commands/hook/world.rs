//! What a supervisor would look at between two iterations: files, scripts, task lists, the tree.

use std::ffi::OsString;
use std::path::Path;
use std::rc::Rc;

use backstop_adapters::review::Said;
use backstop_core::event::{EventKind, Note, Noted, Progress, ProgressKind, Review, Verification};
use backstop_core::policy::Policy;
use backstop_runner::guards::session::{Checked, SessionGuards};
use backstop_runner::probe::Probes;
use backstop_runner::progress::ProgressSources;
use backstop_runner::review::{self, ReviewFile};
use backstop_runner::tree::Tree;
use backstop_runner::verify;
use backstop_store::Run;

use crate::env_vars;
use crate::store::Opened;

/// What reviewers said.
#[derive(Debug, Default)]
pub struct Reviewed {
    /// None where nobody said anything.
    pub review: Option<Review>,
    /// Who said nothing that could be understood, and why.
    pub unheard: Vec<String>,
}

impl Reviewed {
    /// What is journalled of it.
    pub fn events(&self) -> impl Iterator<Item = EventKind> + '_ {
        let unheard = self.unheard.iter().cloned();
        let noted = unheard.map(|detail| Noted { what: Note::NotReviewed, detail });
        let noted = noted.map(EventKind::from);
        noted.chain(self.review.clone().map(EventKind::from))
    }
}

/// The surroundings of a run.
pub struct World<'a> {
    opened: &'a Opened,
    run: &'a Run,
    policy: &'a Policy,
}

impl<'a> World<'a> {
    pub fn new(opened: &'a Opened, run: &'a Run, policy: &'a Policy) -> Self {
        Self { opened, run, policy }
    }

    /// Before the first turn: what is there now is none of the agent's doing.
    pub fn first_look(&self) {
        if self.policy.reads_progress() {
            self.opened.wait(self.progress());
        }
        if let Some(file) = self.review_file() {
            file.overlook();
        }
    }

    /// After a turn: the answers to all that the policy asks.
    pub fn look(&self) -> Vec<EventKind> {
        self.opened.wait(async {
            let mut probes = Probes::new(self.policy.asked(), self.cwd(), self.tree());
            let answers = probes.ask_all().await;
            let mut events: Vec<_> = answers.into_iter().map(EventKind::from).collect();
            if self.policy.reads_progress() {
                events.extend(self.progress().await);
            }
            events
        })
    }

    /// Runs the verification, if there is one.
    pub fn verify(&self, iteration: u64) -> Option<Verification> {
        let settings = self.policy.settings.verify.as_ref()?;
        let (tree, environment) = (self.tree(), self.environment(iteration));
        let never = std::future::pending::<()>();
        let verified = verify::verify(settings, &tree, self.cwd(), &environment, never);
        self.opened.wait(verified).map(|verified| verified.verification)
    }

    /// Has the work reviewed, if that is wanted.
    pub fn review(&self, iteration: u64) -> Reviewed {
        let Some(settings) = &self.policy.settings.review else { return Reviewed::default() };
        let (tree, environment) = (self.tree(), self.environment(iteration));
        let asked = settings.command.as_ref().and_then(|command| {
            let never = std::future::pending::<()>();
            self.opened.wait(review::ask(command, settings, &tree, self.cwd(), &environment, never))
        });
        let written = self.review_file().and_then(|file| file.look());
        let name = settings.file.as_ref().map_or("", |file| file.0.as_str());
        let answers = [("the reviewer".to_owned(), asked), (format!("`{name}`"), written)];
        let (mut said, mut unheard) = (Vec::new(), Vec::new());
        for (who, answer) in answers {
            match answer {
                Some(Ok(words)) => said.push(words),
                // What can't be understood is no review, and so no approval.
                Some(Err(why)) => unheard.push(format!("{who} gave no review: {why}")),
                None => {}
            }
        }
        Reviewed { review: said.into_iter().reduce(Said::and).map(Review::from), unheard }
    }

    /// The guards of the session; none where nothing is guarded.
    pub fn guards(&self) -> Option<SessionGuards<'a>> {
        SessionGuards::new(self.policy, self.run, self.opened.home.run(self.run.id))
    }

    /// What the turn has changed by now, and whether it was allowed to.
    pub fn check_guards(&self, iteration: u64) -> Checked {
        let guards = self.guards();
        guards.map(|guards| self.opened.wait(guards.check(iteration))).unwrap_or_default()
    }

    fn review_file(&self) -> Option<ReviewFile> {
        let file = self.policy.settings.review.as_ref()?.file.as_ref()?;
        let folder = self.opened.home.run(self.run.id);
        // Where it can't be made nothing is remembered, and so nothing is believed.
        drop(folder.create());
        let memory = folder.path().join("review-seen");
        Some(ReviewFile::new(self.cwd().join(&file.0), memory))
    }

    /// The task list, and whether the tree is in a state in which it has never been in this run.
    /// Hooks do not live long enough to compare two looks, but what was seen is kept in a file, and
    /// a new state makes it longer.
    async fn progress(&self) -> Vec<EventKind> {
        let seen = self.opened.home.run(self.run.id).seen_trees();
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        let before = length(&seen);
        let settings = self.policy.settings.progress.as_ref();
        let mut sources =
            ProgressSources::begin(settings, true, self.cwd(), seen.clone(), self.tree()).await;
        let mut events = sources.baseline().await;
        if before > 0 && length(&seen) > before {
            events.push(Progress { kind: ProgressKind::Tree, note: None }.into());
        }
        events
    }

    /// What those who judge find in their environment. A judge that is an agent with hooks of its
    /// own belongs to this run by it, and is not judged in turn.
    fn environment(&self, iteration: u64) -> Vec<(OsString, OsString)> {
        let run = (env_vars::RUN_ID.into(), self.run.id.as_str().into());
        vec![run, (env_vars::ITERATION.into(), iteration.to_string().into())]
    }

    /// What is started here ends with the hook, or by its own time limit.
    fn tree(&self) -> Rc<Tree> {
        Rc::new(Tree::of_groups(self.run.id))
    }

    fn cwd(&self) -> &Path {
        Path::new(&self.run.cwd)
    }
}
