//! A new kind of step, tool, provider, body, check, request or server must be named by the compiler wherever something is decided by it: no
//! `match` over one of these has an arm for all the rest. Events and replies are left out: who reads one event of forty wants no other.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The enums that grow with the language, and those by which it is decided what is allowed, hidden, trusted or counted.
const GROWING: [&str; 21] = [
    "StepKind", "ToolKind", "FilePart", "Provider", "Service", "WireFormat", "Body", "Check", "PlainCheck", "CallRequest", "Deed", "Act",
    "ActKind", "Touch", "ServerTransport", "ServerKind", "Approve", "PermissionMode", "SecretReader", "HostSource", "AskedStage",
];

/// The `match`es of a file that have an arm for the rest of such an enum, each with the function it stands in.
#[derive(Default)]
struct Matches {
    function: String,
    found: Vec<(String, &'static str)>,
}

impl<'ast> Visit<'ast> for Matches {
    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        let takes_rest = matched.arms.iter().any(|arm| arm.guard.is_none() && (takes_all(&arm.pat) || takes_some(&arm.pat)));
        if takes_rest && let Some(of) = matched.arms.iter().find_map(|arm| named(&arm.pat)) {
            self.found.push((self.function.clone(), of));
        }
        visit::visit_expr_match(self, matched);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.function = signature.ident.to_string();
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }
}

/// Whether a pattern fits whatever comes.
fn takes_all(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::Wild(_) => true,
        // `None` and constants are read as names, too.
        syn::Pat::Ident(name) => name.subpat.as_ref().map_or(!is_capital(&name.ident), |(_, inner)| takes_all(inner)),
        syn::Pat::Tuple(tuple) => tuple.elems.iter().all(takes_all),
        syn::Pat::Reference(inner) => takes_all(&inner.pat),
        syn::Pat::Paren(inner) => takes_all(&inner.pat),
        syn::Pat::Or(either) => either.cases.iter().any(takes_all),
        _ => false,
    }
}

/// Whether it is `Some(_)`, beside `Some(StepKind::Set(_))`.
fn takes_some(pattern: &syn::Pat) -> bool {
    match pattern {
        syn::Pat::TupleStruct(wrapped) => wrapped.path.is_ident("Some") && wrapped.elems.iter().all(takes_all),
        syn::Pat::Or(either) => either.cases.iter().any(takes_some),
        _ => false,
    }
}

fn is_capital(name: &syn::Ident) -> bool {
    name.to_string().starts_with(|first: char| first.is_uppercase())
}

/// The growing enum of which a pattern names a variant.
fn named(pattern: &syn::Pat) -> Option<&'static str> {
    struct Paths(Option<&'static str>);
    impl<'ast> Visit<'ast> for Paths {
        fn visit_path(&mut self, path: &'ast syn::Path) {
            let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            let of = GROWING.iter().find(|growing| names.iter().rev().nth(1).is_some_and(|name| name == *growing));
            self.0 = self.0.or(of.copied());
        }
    }
    let mut paths = Paths(None);
    paths.visit_pat(pattern);
    paths.0
}

fn matches_in(code: &str) -> Vec<(String, &'static str)> {
    let mut matches = Matches::default();
    matches.visit_file(&syn::parse_file(code).unwrap());
    matches.found
}

#[test]
fn no_match_has_an_arm_for_the_rest_of_an_enum_that_grows() {
    fn each(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() && !entry.ends_with("tests") {
                each(&entry, found);
            } else if entry.extension().is_some_and(|ending| ending == "rs") && !entry.ends_with("tests.rs") {
                found.push(entry);
            }
        }
    }
    let mut files = vec![];
    ["src", "crates"].iter().for_each(|folder| each(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files));
    assert!(files.len() > 300, "{} files", files.len());
    let told: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let of_file = matches_in(&std::fs::read_to_string(file).unwrap());
            of_file.into_iter().map(move |(function, of)| format!("{}: {function}, over {of}", file.display()))
        })
        .collect();
    assert!(told.is_empty(), "{} with an arm for the rest:\n{}", told.len(), told.join("\n"));
}

#[test]
fn arms_for_the_rest_are_seen_wherever_they_stand() {
    let arms = |arms: &str| matches_in(&format!("fn f() {{ match a {{ {arms} }} }}")).len();
    for seen in [
        "StepKind::Set(_) => 1, _ => 2",
        "Some(model::PlainCheck::Links(x)) => 1, other => 2",
        "(Body::Text, 1) | (Body::Html, 2) => 1, (_, _) => 2",
        "&StepKind::Set(_) => 1, &other => 2",
        "CallRequest::Print(_) => 1, ref other => 2",
        "CallRequest::Print(_) | _ => 1",
        "(&ToolKind::Broken, _) => 1, (&(_ | ToolKind::Sql(_)), _) => 2",
        "Some(Touch::Read) => 1, Some(_) => 2, None => 3",
        "Approve::Never => 1, other @ _ => 2",
        "Some(Touch::Read) => 1, Some(_) | None => 2",
    ] {
        assert_eq!(arms(seen), 1, "{seen}");
    }
    for fine in [
        "StepKind::Set(_) => 1, StepKind::Broken => 2",
        "_ if b => 1, Provider::Broken => 2",
        "Some(x) => 1, _ => 2",
        "(Some(x), _) => 1, (None, Touch::Read) => 2",
        "Some(Touch::Read) => 1, Some(Touch::Write) | None => 2",
        "ServerTransport::Program { .. } => 1, other @ ServerTransport::Http { .. } => 2",
        "Ok(1) => 1, _ => f(ToolKind::X)",
    ] {
        assert_eq!(arms(fine), 0, "{fine}");
    }
}
