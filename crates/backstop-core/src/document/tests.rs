//! The same document in three syntaxes, and every refusal.

mod hostile;

use super::*;
use crate::diagnostic::Diagnostic;
use rstest::rstest;
use serde_json::json;
use std::fmt::Write;

const SYNTAXES: [Syntax; 3] = [Syntax::Toml, Syntax::Yaml, Syntax::Json];

const TOML: &str = r#"
name = "nïght"
count = 1_000
ratio = 0.5
flag = true

[limits]
cost = 0x10
list = [1, "two", []]

[[rules]]
id = 'a\b'
when = { type = "x", count = 50 }

[[rules]]
id = "\u00e9"
"#;

const YAML: &str = r#"# policy
name: nïght
count: 1000
ratio: 0.5
flag: true
limits:
  cost: 0x10
  list: [1, two, []]
rules:
  - id: 'a\b'
    when: {type: x, count: 50}
  - id: "\xe9"
"#;

const JSON: &str = r#"{
  "name": "nïght", "count": 1000, "ratio": 5e-1, "flag": true,
  "limits": {"cost": 16, "list": [1, "two", []]},
  "rules": [{"id": "a\\b", "when": {"type": "x", "count": 50}}, {"id": "\u00e9"}]
}"#;

fn read(text: &str, syntax: Syntax) -> Node {
    parse(text.as_bytes(), syntax).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

fn refuse(bytes: &[u8], syntax: Syntax) -> Vec<Diagnostic> {
    parse(bytes, syntax).expect_err("the document should be refused")
}

/// One line for each value: its path, and the text at its span.
fn literals(text: &str, node: &Node) -> String {
    fn walk(out: &mut String, path: &str, text: &str, node: &Node) {
        writeln!(out, "{path} = {}", text[node.span.clone()].escape_debug()).unwrap();
        match &node.value {
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(out, &format!("{path}[{index}]"), text, item);
                }
            }
            Value::Table(table) => {
                for entry in &table.entries {
                    let key = &text[entry.key_span.clone()];
                    walk(out, &format!("{path}.{key}"), text, &entry.node);
                }
            }
            _ => {}
        }
    }
    let mut out = String::new();
    let Value::Table(table) = &node.value else {
        panic!("not a table")
    };
    for entry in &table.entries {
        walk(&mut out, &text[entry.key_span.clone()], text, &entry.node);
    }
    out
}

/// One line for each diagnostic: message, underlined text, related text.
fn briefly(bytes: &[u8], syntax: Syntax) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    for diagnostic in refuse(bytes, syntax) {
        let at = |span: &std::ops::Range<usize>| {
            format!(
                "{}:{}",
                span.start,
                text.get(span.clone()).unwrap_or("?").escape_debug()
            )
        };
        write!(out, "{}", diagnostic.message).unwrap();
        diagnostic
            .span
            .iter()
            .for_each(|span| write!(out, " @{}", at(span)).unwrap());
        diagnostic
            .label
            .iter()
            .for_each(|label| write!(out, " ({label})").unwrap());
        diagnostic
            .related
            .iter()
            .for_each(|(span, label)| write!(out, " [{} {label}]", at(span)).unwrap());
        diagnostic
            .hint
            .iter()
            .for_each(|hint| write!(out, " help: {hint}").unwrap());
        out.push('\n');
    }
    out
}

#[test]
fn three_syntaxes_give_one_tree() {
    let expected = json!({
        "name": "nïght", "count": 1000, "ratio": 0.5, "flag": true,
        "limits": {"cost": 16, "list": [1, "two", []]},
        "rules": [{"id": "a\\b", "when": {"type": "x", "count": 50}}, {"id": "é"}],
    });
    for (text, syntax) in [
        (TOML, Syntax::Toml),
        (YAML, Syntax::Yaml),
        (JSON, Syntax::Json),
    ] {
        let node = read(text, syntax);
        assert_eq!(to_value(&node).unwrap(), expected, "{}", syntax.name());
        assert_eq!(Syntax::detect(text), syntax);
        let Value::Table(table) = &node.value else {
            panic!()
        };
        let keys: Vec<&str> = table
            .entries
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        assert_eq!(keys, ["name", "count", "ratio", "flag", "limits", "rules"]);
        assert_eq!(table.get("count").unwrap().node.value, Value::Integer(1000));
        assert!(table.get("cost").is_none());
    }
}

#[test]
fn toml_spans_are_the_literals() {
    insta::assert_snapshot!(literals(TOML, &read(TOML, Syntax::Toml)), @r#"
    name = \"nïght\"
    count = 1_000
    ratio = 0.5
    flag = true
    limits = [limits]
    limits.cost = 0x10
    limits.list = [1, \"two\", []]
    limits.list[0] = 1
    limits.list[1] = \"two\"
    limits.list[2] = []
    rules = [[rules]]
    rules[0] = [[rules]]
    rules[0].id = \'a\\b\'
    rules[0].when = { type = \"x\", count = 50 }
    rules[0].when.type = \"x\"
    rules[0].when.count = 50
    rules[1] = [[rules]]
    rules[1].id = \"\\u00e9\"
    "#);
    let odd = "a.b.c = 1 # x\n\"q k\" = \"\"\"\nmulti\n\"\"\"\nwhen = 2020-01-02T03:04:05Z\nf = -inf\n[x.y]\nz = { p.q = [\n 1, # c\n] }\nbig = 99999999999999999999\n";
    insta::assert_snapshot!(literals(odd, &read(odd, Syntax::Toml)), @r#"
    a = a
    a.b = b
    a.b.c = 1
    "q k" = \"\"\"\nmulti\n\"\"\"
    when = 2020-01-02T03:04:05Z
    f = -inf
    x = x
    x.y = [x.y]
    x.y.z = { p.q = [\n 1, # c\n] }
    x.y.z.p = p
    x.y.z.p.q = [\n 1, # c\n]
    x.y.z.p.q[0] = 1
    x.y.big = 99999999999999999999
    "#);
}

#[test]
fn yaml_spans_are_the_literals() {
    insta::assert_snapshot!(literals(YAML, &read(YAML, Syntax::Yaml)), @r#"
    name = nïght
    count = 1000
    ratio = 0.5
    flag = true
    limits = cost: 0x10\n  list: [1, two, []]
    limits.cost = 0x10
    limits.list = [1, two, []]
    limits.list[0] = 1
    limits.list[1] = two
    limits.list[2] = []
    rules = id: \'a\\b\'\n    when: {type: x, count: 50}\n  - id: \"\\xe9\"
    rules[0] = id: \'a\\b\'\n    when: {type: x, count: 50}
    rules[0].id = \'a\\b\'
    rules[0].when = {type: x, count: 50}
    rules[0].when.type = x
    rules[0].when.count = 50
    rules[1] = id: \"\\xe9\"
    rules[1].id = \"\\xe9\"
    "#);
    let odd = "é: ü # c\n'k' : 'it''s'\nnothing:\nblock: |2- # why\n    text\n   more\n\nfold: &f !!str >\n  a\n  b\n\
               anchored: &x {d: 1}\nalias: *x\nplain: multi\n  line\ntagged: !!str 5\nlist:\n- - 1\n  - \"2\" # c\n-\n- [k: v]\n<<: merge\nlast: yes\n";
    insta::assert_snapshot!(literals(odd, &read(odd, Syntax::Yaml)), @r#"
    é = ü
    'k' = \'it\'\'s\'
    nothing = 
    block = |2- # why\n    text\n   more
    fold = >\n  a\n  b
    anchored = {d: 1}
    anchored.d = 1
    alias = *x
    alias.d = 1
    plain = multi\n  line
    tagged = 5
    list = 1\n  - \"2\" # c\n-\n- [k: v]
    list[0] = 1\n  - \"2\"
    list[0][0] = 1
    list[0][1] = \"2\"
    list[1] = 
    list[2] = [k: v]
    list[2][0] = k: v
    list[2][0].k = v
    << = merge
    last = yes
    "#);
    let windows = odd.replace('\n', "\r\n");
    let node = read(&windows, Syntax::Yaml);
    let plain = literals(odd, &read(odd, Syntax::Yaml));
    assert_eq!(literals(&windows, &node).replace("\\r\\n", "\\n"), plain);
}

#[test]
fn json_spans_are_the_literals() {
    insta::assert_snapshot!(literals(JSON, &read(JSON, Syntax::Json)), @r#"
    "name" = \"nïght\"
    "count" = 1000
    "ratio" = 5e-1
    "flag" = true
    "limits" = {\"cost\": 16, \"list\": [1, \"two\", []]}
    "limits"."cost" = 16
    "limits"."list" = [1, \"two\", []]
    "limits"."list"[0] = 1
    "limits"."list"[1] = \"two\"
    "limits"."list"[2] = []
    "rules" = [{\"id\": \"a\\\\b\", \"when\": {\"type\": \"x\", \"count\": 50}}, {\"id\": \"\\u00e9\"}]
    "rules"[0] = {\"id\": \"a\\\\b\", \"when\": {\"type\": \"x\", \"count\": 50}}
    "rules"[0]."id" = \"a\\\\b\"
    "rules"[0]."when" = {\"type\": \"x\", \"count\": 50}
    "rules"[0]."when"."type" = \"x\"
    "rules"[0]."when"."count" = 50
    "rules"[1] = {\"id\": \"\\u00e9\"}
    "rules"[1]."id" = \"\\u00e9\"
    "#);
    let odd = r#"{"é\n": "\ud83d\ude00/\/", "n": [-0.0, 1E5, 9223372036854775808, null]}"#;
    let node = read(odd, Syntax::Json);
    insta::assert_snapshot!(literals(odd, &node), @r#"
    "é\n" = \"\\ud83d\\ude00/\\/\"
    "n" = [-0.0, 1E5, 9223372036854775808, null]
    "n"[0] = -0.0
    "n"[1] = 1E5
    "n"[2] = 9223372036854775808
    "n"[3] = null
    "#);
    assert_eq!(to_value(&node).unwrap()["é\n"], "😀//");
    assert_eq!(
        to_value(&node).unwrap()["n"][2],
        9_223_372_036_854_775_808.0
    );
}

#[test]
fn a_byte_order_mark_is_skipped_but_counted() {
    for (text, syntax) in [
        (TOML, Syntax::Toml),
        (YAML, Syntax::Yaml),
        (JSON, Syntax::Json),
    ] {
        let marked = format!("\u{feff}{text}");
        assert_eq!(
            literals(&marked, &read(&marked, syntax)),
            literals(text, &read(text, syntax))
        );
        assert_eq!(Syntax::detect(&marked), syntax);
    }
    let errors = refuse("\u{feff}a = 1\na = 2".as_bytes(), Syntax::Toml);
    assert_eq!(errors[0].span, Some(9..10));
    assert_eq!(errors[0].related.as_ref().unwrap().0, 3..4);
}

#[rstest]
#[case("")]
#[case(" \n\t\r\n")]
#[case("\u{feff}")]
fn an_empty_file_is_an_empty_table(#[case] text: &str) {
    for syntax in SYNTAXES {
        assert_eq!(read(text, syntax).value, Value::Table(Table::default()));
    }
}

#[test]
fn only_comments_are_an_empty_table_too() {
    for (text, syntax) in [
        ("# x\n", Syntax::Toml),
        ("# x\n", Syntax::Yaml),
        ("---\n", Syntax::Yaml),
        ("{}", Syntax::Json),
    ] {
        assert_eq!(
            read(text, syntax).value,
            Value::Table(Table::default()),
            "{text}"
        );
    }
}

#[test]
fn extensions_and_names() {
    assert_eq!(Syntax::from_extension("toml"), Some(Syntax::Toml));
    assert_eq!(Syntax::from_extension("YML"), Some(Syntax::Yaml));
    assert_eq!(Syntax::from_extension("yaml"), Some(Syntax::Yaml));
    assert_eq!(Syntax::from_extension("json"), Some(Syntax::Json));
    assert_eq!(Syntax::from_extension("jsonc"), None);
    assert_eq!(SYNTAXES.map(Syntax::name), ["TOML", "YAML", "JSON"]);
}

#[test]
fn numbers_that_json_cannot_hold_are_not_lost_silently() {
    let table = [
        ("a = [inf, 1, nan]", Syntax::Toml, vec!["inf", "nan"]),
        ("a = 1e999", Syntax::Toml, vec!["1e999"]),
        ("a: {b: -.inf}", Syntax::Yaml, vec!["-.inf"]),
    ];
    for (text, syntax, literals) in table {
        let errors = to_value(&read(text, syntax)).unwrap_err();
        let spans = errors.into_iter().filter_map(|error| error.span);
        assert_eq!(spans.map(|span| &text[span]).collect::<Vec<_>>(), literals);
    }
}

#[test]
fn files_beyond_the_limit_are_refused() {
    let mut bytes = vec![b' '; MAX_BYTES];
    assert!(parse(&bytes, Syntax::Toml).is_ok());
    // Invalid UTF-8 as well, but the size is looked at first.
    bytes.push(0xff);
    assert_eq!(
        briefly(&bytes, Syntax::Toml),
        "file is 16777217 bytes long, more than the 16 MiB allowed help: a policy is a short file; \
         check that this is the one you meant\n"
    );
}

#[test]
fn other_encodings_are_refused() {
    for syntax in SYNTAXES {
        insta::allow_duplicates! {
            insta::assert_snapshot!(briefly(b"a\n\xe9\xff", syntax), @"file is not UTF-8: invalid byte 0xe9 at offset 2, line 2 @2:? help: save the file as UTF-8");
            insta::assert_snapshot!(briefly(b"\xff\xfea\0", syntax), @"file is not UTF-8: invalid byte 0xff at offset 0, line 1 @0:? help: save the file as UTF-8");
        }
    }
}

#[rstest]
#[case("a = ", "[", "]")]
#[case("a = ", "{a=", "}")]
#[case("", "a.", "")]
#[case("a: ", "[", "]")]
#[case("", "{a: ", "}")]
#[case("a:\n ", "- ", "")]
#[case("{\"a\":", "[", "]")]
#[case("", "{\"a\":", "}")]
fn nesting_is_limited(#[case] start: &str, #[case] open: &str, #[case] close: &str) {
    let syntax = match (start, open) {
        (_, "{\"a\":") | ("{\"a\":", _) => Syntax::Json,
        ("a = ", _) | (_, "a.") => Syntax::Toml,
        _ => Syntax::Yaml,
    };
    let text = |levels: usize| {
        let end = if start.starts_with('{') { "}" } else { "" };
        let (inner, tail) = match (open, syntax) {
            ("[", _) => ("", ""),
            ("a.", _) => ("a", " = 1"),
            _ => ("1", ""),
        };
        format!(
            "{start}{}{inner}{}{tail}{end}",
            open.repeat(levels),
            close.repeat(levels)
        )
    };
    // The top-level table is the first level, unless the repeated part opens that as well.
    let root = usize::from(!(start.is_empty() && open.starts_with('{')));
    assert!(
        parse(text(MAX_DEPTH - root).as_bytes(), syntax).is_ok(),
        "{}",
        text(MAX_DEPTH - root)
    );
    for levels in [MAX_DEPTH - root + 1, 70, 82, 130, 300, 100_000] {
        let errors = refuse(text(levels).as_bytes(), syntax);
        assert_eq!(errors.len(), 1, "{levels}: {errors:?}");
        assert_eq!(
            errors[0].message, "nested deeper than 64 levels",
            "{levels}"
        );
        let unclosed = refuse(format!("{start}{}", open.repeat(levels)).as_bytes(), syntax);
        assert!(!unclosed.is_empty());
    }
}

#[test]
fn syntax_errors_are_all_reported() {
    insta::assert_snapshot!(briefly(b"a = 1 2\nb = \"\\q\"\n= 3\nc = 01\nd = tru\n[e\nf = 1", Syntax::Toml), @r#"
    string values must be quoted @4:1 2 (expected literal string)
    missing escaped value @14: (expected `b`, `e`, `f`, `n`, `r`, `\`, `"`, `x`, `u`, `U`)
    unquoted keys cannot be empty @17: (expected letters, numbers, `-`, `_`)
    unexpected leading zero @25:0
    invalid boolean @32:tru (expected `true`)
    unclosed table @38: (expected `]`)
    "#);
    insta::assert_snapshot!(briefly(b"a: [1\nb: 2\n", Syntax::Yaml), @"illegal placement of ':' indicator @7::");
    insta::assert_snapshot!(briefly(b"a: \"x", Syntax::Yaml), @r#"while scanning a quoted scalar, found unexpected end of stream @3:\""#);
    insta::assert_snapshot!(briefly(b"a\0: 1", Syntax::Yaml), @r#"found unprintable character @1:\0"#);
    insta::assert_snapshot!(briefly("{\"é\": 1,\n \"日\": é}".as_bytes(), Syntax::Json), @"expected value @18:é");
    insta::assert_snapshot!(briefly(b"{\"a\": [1,\n2,]}", Syntax::Json), @"trailing comma @12:] help: JSON allows no comma before a closing bracket");
    insta::assert_snapshot!(briefly(b"{\"a\": 1 // c\n}", Syntax::Json), @"expected `,` or `}` @8:/ help: JSON has no comments; TOML and YAML have");
    insta::assert_snapshot!(briefly(b"{\"a\": \"\\ud83d\"}", Syntax::Json), @r#"unexpected end of hex escape @13:\""#);
    insta::assert_snapshot!(briefly(b"{\"a\": 1", Syntax::Json), @"the file ends within an object @7:");
    insta::assert_snapshot!(briefly(b"{a: 1}", Syntax::Json), @"key must be a string @1:a help: JSON keys stand in double quotes");
    insta::assert_snapshot!(briefly(b"{\"a\": 1e999}", Syntax::Json), @"number out of range @10:9");
    insta::assert_snapshot!(briefly(b"{} {}", Syntax::Json), @"trailing characters @3:{");
}

#[test]
fn duplicate_keys_point_at_the_first() {
    insta::assert_snapshot!(
        briefly(
            b"a = 1\na = 2\nb = {x = 1, x = 2}\nl = [{y = 1}, {y = 2, 'y' = 3}]\nc.d = 1\nc.d = 2\nc = 3\n[t]\nk = 1\n[[u]]\nk = 1\n[[u]]\nk = 1\nk = 2\n[t]\n[u.v]\n[u.v]\n[[t]]\n",
            Syntax::Toml
        ), @r#"
    duplicate key `a` @6:a (defined again) [0:a first defined here]
    duplicate key `x` @24:x (defined again) [17:x first defined here]
    duplicate key `y` @53:\'y\' (defined again) [46:y first defined here]
    duplicate key `d` @73:d (defined again) [65:d first defined here]
    duplicate key `c` @79:c (defined again) [63:c first defined here]
    duplicate key `k` @119:k (defined again) [113:k first defined here]
    duplicate key `t` @126:t (defined again) [86:t first defined here]
    duplicate key `v` @138:v (defined again) [132:v first defined here]
    duplicate key `t` @143:t (defined again) [86:t first defined here]
    "#);
    insta::assert_snapshot!(briefly(b"a: 1\n\"a\": 2\nb: {x: 1, x: 2}\na: 3\n", Syntax::Yaml), @r#"
    duplicate key `a` @5:\"a\" (defined again) [0:a first defined here]
    duplicate key `x` @22:x (defined again) [16:x first defined here]
    duplicate key `a` @28:a (defined again) [0:a first defined here]
    "#);
    insta::assert_snapshot!(briefly(br#"{"a": 1, "b": {"x": 1, "\u0078": 2}, "a": 2}"#, Syntax::Json), @r#"
    duplicate key `x` @23:\"\\u0078\" (defined again) [15:\"x\" first defined here]
    duplicate key `a` @37:\"a\" (defined again) [1:\"a\" first defined here]
    "#);
}

#[test]
fn yaml_oddities_are_refused() {
    insta::assert_snapshot!(briefly(b"1: a\ntrue: b\n~: c\n[x]: d\n? {y: 1}\n: e\n1.5: f\n", Syntax::Yaml), @r#"
    key is an integer, not a string @0:1 (put it in quotes)
    key is a boolean, not a string @5:true (put it in quotes)
    key is nothing, not a string @13:~
    key is a list, not a string @18:[x]
    key is a table, not a string @27:{y: 1}
    key is a number, not a string @38:1.5 (put it in quotes)
    "#);
    insta::assert_snapshot!(briefly(b"a: 1\n---\nb: 2\n", Syntax::Yaml), @"more than one document in the file @5:--- (a second one starts here)");
    insta::assert_snapshot!(briefly(b"a: !thing 1\nb: !!set {x}\nc: !!int x\nd: !!binary aa\n", Syntax::Yaml), @r#"
    tag `!thing` is not supported here @3:!thing 1 (write the value without it)
    tag `!!set` is not supported here @15:!!set { (write the value without it)
    `x` does not fit its tag `!!int` @28:!!int x
    tag `!!binary` is not supported here @39:!!binary aa (write the value without it)
    "#);
    insta::assert_snapshot!(briefly(b"a: &x [*x]\n", Syntax::Yaml), @"alias stands inside the value that it names @7:*x (would repeat without end)");
    insta::assert_snapshot!(briefly(b"a: *x\n", Syntax::Yaml), @"while parsing node, found unknown anchor @3:*");
}

#[test]
fn yaml_tags_aliases_and_merge_keys_mean_what_the_core_schema_says() {
    let text = "a: !!float 1\nb: !!str 1\nc: ! 12\nd: !!int 0x1f\ne: !!null ~\nf: !!bool True\n\
                g: !!seq [1]\nh: !!map {i: 1}\nj: &name word\n*name : aliased\nk: *name\n\
                <<: {b: 2}\nl: yes\nm: 'null'\nn: 0o17\n";
    let expected = json!({
        "a": 1.0, "b": "1", "c": "12", "d": 31, "e": null, "f": true, "g": [1], "h": {"i": 1},
        "j": "word", "word": "aliased", "k": "word", "<<": {"b": 2}, "l": "yes", "m": "null", "n": 15,
    });
    assert_eq!(to_value(&read(text, Syntax::Yaml)).unwrap(), expected);
}

#[test]
fn toml_headers_dots_and_brackets_add_up_to_one_depth() {
    let text = |inner: usize| {
        let header = vec!["a"; 30].join(".");
        let dotted = vec!["b"; 21].join(".");
        format!(
            "[{header}]\n{dotted} = {}{}\n",
            "[".repeat(inner),
            "]".repeat(inner)
        )
    };
    // The file, 30 tables of the header, 20 of the dotted key.
    assert!(parse(text(MAX_DEPTH - 51).as_bytes(), Syntax::Toml).is_ok());
    let errors = refuse(text(MAX_DEPTH - 50).as_bytes(), Syntax::Toml);
    assert_eq!(errors[0].message, "nested deeper than 64 levels");
}

#[rstest]
#[case("- 1\n", Syntax::Yaml, "a list")]
#[case("text", Syntax::Yaml, "a string")]
#[case("null", Syntax::Yaml, "nothing")]
#[case("[]", Syntax::Json, "a list")]
#[case("3", Syntax::Json, "an integer")]
fn the_top_level_is_a_table(#[case] text: &str, #[case] syntax: Syntax, #[case] kind: &str) {
    let errors = refuse(text.as_bytes(), syntax);
    assert_eq!(
        errors[0].message,
        format!("the file holds {kind}, not a table of settings")
    );
}
