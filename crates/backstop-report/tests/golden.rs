//! Whole reports in all forms, of runs written down by hand.

use insta::assert_snapshot;

mod told;

/// One run in all three forms.
macro_rules! golden {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            let report = told::$name();
            assert_snapshot!(concat!(stringify!($name), ".md"), report.to_markdown());
            assert_snapshot!(concat!(stringify!($name), ".html"), without_style(&report.to_html()));
            assert_snapshot!(concat!(stringify!($name), ".json"), report.to_json());
        }
    )*};
}

golden! { finished stalled held empty hostile }

/// The page without its style sheet, which says nothing of the run.
fn without_style(page: &str) -> String {
    let (head, rest) = page.split_once("<style>").expect("a style");
    let (_, rest) = rest.split_once("</style>").expect("its end");
    format!("{head}{rest}")
}
