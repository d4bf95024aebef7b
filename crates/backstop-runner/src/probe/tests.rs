//! Where files can't be watched. No process is started here: others end all that they find.

use backstop_core::document::Syntax;
use backstop_core::policy::Policy;

use super::*;

#[test]
fn without_a_watch_files_are_looked_at_now_and_then_and_that_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[[rule]]\nwhen = { type = \"file_created\", path = \"DONE\" }\nthen = \"complete\"";
    let policy = Policy::load(text.as_bytes(), Syntax::Toml).unwrap().policy;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let [condition] = policy.asked()[..] else { panic!("one question was asked") };
    let Condition::FileCreated(file) = condition else { panic!("it is about a file") };
    let subject = Subject::File(Arc::new(FileQuestion::created(file)));
    let question = Question::new(condition.key(), subject);
    runtime.block_on(async {
        let mut probes = Probes::with_watch(vec![question], folder.path(), FileWatch::polling);
        assert_eq!(probes.ask_all().await[0].met, Some(false));
        assert!(probes.warnings().iter().any(|warning| warning.contains("once a second")));
        std::fs::write(folder.path().join("DONE"), "").unwrap();
        let changed = tokio::time::timeout(Duration::from_secs(60), probes.changed()).await;
        assert_eq!(changed.unwrap()[0].met, Some(true));
        assert_eq!(probes.warnings(), [""; 0]);
    });
}
