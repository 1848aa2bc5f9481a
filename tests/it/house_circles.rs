//! No two files or folders that stand side by side in a crate name each other, directly or by way of others beside them. A file and the folder of
//! its parts may.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The place of a module: the names from its crate down.
type Place = Vec<String>;

/// The paths of a file, each from the root of its crate.
struct Paths {
    of: Place,
    found: Vec<Place>,
}

impl Paths {
    fn add(&mut self, path: &[String]) {
        let supers = path.iter().take_while(|part| *part == "super").count();
        let above = &self.of[..self.of.len().saturating_sub(supers)];
        match path.first().map(String::as_str) {
            Some("crate") => self.found.push(path[1..].to_vec()),
            Some("super") => self.found.push([above, &path[supers..]].concat()),
            Some("self") => self.found.push([above, &path[1..]].concat()),
            _ => self.found.push([above, path].concat()),
        }
    }

    fn tree(&mut self, above: &Place, tree: &syn::UseTree) {
        let with = |name: &syn::Ident| [&above[..], &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.add(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.add(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.add(above),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(above, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&vec![], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Place = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if matches!(&*parts[0], "crate" | "super" | "self") {
            self.add(&parts);
        }
        visit::visit_path(self, path);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }
}

/// The pairs that lie on a circle, of files with their paths in `src` and their code.
fn circles(files: &[(PathBuf, String)]) -> BTreeSet<(String, String)> {
    let place = |path: &Path| -> Place {
        let names = path.with_extension("").iter().map(|name| name.to_string_lossy().into_owned()).collect::<Place>();
        names.into_iter().filter(|name| !matches!(&**name, "mod" | "lib" | "main")).collect()
    };
    let all: BTreeSet<Place> = files.iter().map(|(path, _)| place(path)).collect();
    let mut named: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
    for (path, code) in files {
        let mut paths = Paths { of: place(path), found: vec![] };
        paths.visit_file(&syn::parse_file(code).unwrap());
        for other in paths.found {
            let apart = paths.of.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if apart < paths.of.len() && apart < other.len() && all.iter().any(|module| module.starts_with(&other[..=apart])) {
                named.entry(paths.of[..=apart].to_vec()).or_default().insert(other[..=apart].to_vec());
            }
        }
    }
    let is_reached = |from: &Place, wanted: &Place| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(next) = open.pop() {
            open.extend(named.get(next).into_iter().flatten().filter(|other| seen.insert(*other)));
        }
        seen.contains(wanted)
    };
    let pairs = named.iter().flat_map(|(from, others)| others.iter().map(move |other| (from, other)));
    pairs.filter(|(from, other)| is_reached(other, from)).map(|(from, other)| (from.join("/"), other.join("/"))).collect()
}

#[test]
fn no_files_side_by_side_name_each_other_in_a_circle() {
    fn each(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.file_name().unwrap().to_string_lossy().into_owned();
            if entry.is_dir() && name != "tests" {
                each(&entry, found);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "testing.rs" {
                found.push(entry);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = root.join("crates").read_dir().unwrap().map(|entry| entry.unwrap().path().join("src"));
    for folder in crates.chain([root.join("src")]) {
        let mut files = vec![];
        each(&folder, &mut files);
        let files = files.iter().map(|file| (file.strip_prefix(&folder).unwrap().to_path_buf(), std::fs::read_to_string(file).unwrap()));
        let found = circles(&files.collect::<Vec<_>>());
        assert!(found.is_empty(), "{}: {found:#?}", folder.display());
    }
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let of = |a: &str, b: &str, c: &str| {
        circles(&[
            ("x/a.rs".into(), a.into()),
            ("x/b.rs".into(), b.into()),
            ("x/c/d.rs".into(), c.into()),
            ("x/mod.rs".into(), "use a::A;".into()),
        ])
        .len()
    };
    assert_eq!(of("use super::b::B;", "fn f() { crate::x::a::g() }", ""), 2);
    assert_eq!(of("use super::{b::{self, B}, c};", "use crate::x::{c::d::D as E};", "use super::super::a::*;"), 4);
    assert_eq!(of("use super::b::B; use super::X;", "use super::X;", "use super::super::a::A;"), 0);
    assert_eq!(of("use super::b::B;", "#[cfg(test)] mod tests { use super::super::a::A; }", ""), 0);
}
