//! Which files of a module use which, read from their tokens.
//!
//! File A uses file B if the code of A names an item that is defined in B. A name is followed through imports, globs
//! and re-exports to the file that defines it. `mod x;` and `pub use x::Y;` are no use by themselves; a private import
//! that a child takes by `super::` counts as an item of the file that has it. Methods are not followed, since their
//! file depends on the type of the receiver. A variable counts as the re-exported function whose name it has.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The names of a module from the top of the library down: `["store", "sqlite", "read"]`.
type ModulePath = Vec<String>;

/// One name, lifetime, literal, `::`, or single character, and its line, counted from 0.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

impl Token<'_> {
    fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_') && !self.text.ends_with(['"', '\''])
    }
}

/// The tokens of `text`, without comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 0);
    while let Some(c) = rest.chars().next() {
        let is_comment = rest.starts_with("//");
        let length = if is_comment {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = literal_length(rest) {
            length
        } else if c.is_alphanumeric() || matches!(c, '_' | '\'') {
            let after = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_');
            after.map_or(rest.len(), |length| length + 1)
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if !is_comment && !c.is_whitespace() {
            tokens.push(Token { text: token, line });
        }
        line += token.matches('\n').count();
        rest = after;
    }
    tokens
}

/// How long the string or character is with which `text` begins. A lifetime is none.
fn literal_length(text: &str) -> Option<usize> {
    let unprefixed = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let prefix = text.len() - unprefixed.len();
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let quoted = raw.trim_start_matches('#');
        let hashes = raw.len() - quoted.len();
        let end = format!("\"{}", &raw[..hashes]);
        let body = quoted.strip_prefix('"')?;
        return Some(prefix + 1 + hashes + 1 + body.find(&end)? + end.len());
    }
    let quote = unprefixed.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let is_lifetime = |body: &str| !body.starts_with('\\') && body.chars().nth(1) != Some('\'');
    let body = &unprefixed[1..];
    if quote == '\'' && is_lifetime(body) {
        return None;
    }
    let mut is_escaped = false;
    let end = body.find(|c| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })?;
    Some(prefix + 1 + end + 1)
}

/// `tokens` without the items that only tests have.
fn without_tests(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut kept = Vec::new();
    let mut rest = tokens.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
        if rest.len() > attribute.len() && rest.iter().zip(attribute).all(|(t, a)| t.text == a) {
            rest = &rest[attribute.len()..];
            let mut depth = 0;
            let end = rest.iter().position(|token| {
                depth += depth_change(token);
                depth == 0 && matches!(token.text, "}" | ";")
            });
            rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
        } else {
            kept.push(*first);
            rest = after;
        }
    }
    kept
}

fn depth_change(token: &Token<'_>) -> i32 {
    match token.text {
        "{" | "(" | "[" => 1,
        "}" | ")" | "]" => -1,
        _ => 0,
    }
}

/// A path as it stands in the code, with the line where it stands.
struct Mention {
    path: Vec<String>,
    line: usize,
}

/// The item that one `use` brings under one name, or all that is in a module.
struct Import {
    path: Vec<String>,
    is_glob: bool,
    is_public: bool,
    line: usize,
}

/// The declarations and uses in the tokens of one file.
#[derive(Default)]
struct File {
    /// Names of items at the top of the file, macros with their `!`.
    defined: BTreeSet<String>,
    children: BTreeSet<String>,
    imports: BTreeMap<String, Vec<Import>>,
    globs: Vec<Import>,
    mentions: Vec<Mention>,
}

impl File {
    fn read(text: &str) -> File {
        let tokens = without_tests(tokens(text));
        let mut file = File::default();
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let (mut at, mut depth) = (0, 0);
        while at < tokens.len() {
            let is_top = depth == 0;
            match text(at) {
                "use" if text(at + 1) != "<" => {
                    let end = at + tokens[at..].iter().position(|t| t.text == ";").unwrap();
                    // `pub`, or the end of `pub(super)`.
                    let is_public = at > 0 && matches!(text(at - 1), "pub" | ")");
                    file.read_use(&tokens[at + 1..end], &[], is_public);
                    at = end;
                }
                "mod" if is_top => {
                    assert_eq!(text(at + 2), ";", "a module within a file is not read");
                    file.children.insert(text(at + 1).to_owned());
                    at += 2;
                }
                "macro_rules" if is_top => {
                    let name = text(at + 2);
                    file.defined.extend([name.to_owned(), format!("{name}!")]);
                    at += 2;
                }
                "fn" | "struct" | "enum" | "union" | "const" | "static" | "type" | "trait" => {
                    let name = at + 1 + usize::from(text(at + 1) == "mut");
                    let is_item = tokens.get(name).is_some_and(Token::is_name) && text(name) != "fn";
                    if is_item && is_top {
                        file.defined.insert(text(name).to_owned());
                    }
                    if is_item && text(at) != "const" {
                        at = name;
                    }
                }
                _ if tokens[at].is_name() => at = file.read_path(&tokens, at),
                _ => depth += depth_change(&tokens[at]),
            }
            at += 1;
        }
        file
    }

    /// Reads one tree of a `use` after `prefix`, up to the end of `tokens`.
    fn read_use(&mut self, tokens: &[Token<'_>], prefix: &[String], is_public: bool) {
        let mut path = prefix.to_vec();
        let mut name = prefix.last().cloned();
        let mut is_glob = false;
        for (at, token) in tokens.iter().enumerate() {
            match token.text {
                "::" => {}
                "*" => is_glob = true,
                "self" if at == 0 && !prefix.is_empty() => {}
                "as" => {
                    name = Some(tokens[at + 1].text.to_owned());
                    break;
                }
                "{" => {
                    let list = &tokens[at + 1..tokens.len() - 1];
                    let mut depth = 0;
                    for tree in list.split(|token| {
                        depth += depth_change(token);
                        depth == 0 && token.text == ","
                    }) {
                        if !tree.is_empty() {
                            self.read_use(tree, &path, is_public);
                        }
                    }
                    return;
                }
                text => {
                    path.push(text.to_owned());
                    name = Some(text.to_owned());
                }
            }
        }
        let import = Import { path, is_glob, is_public, line: tokens[0].line };
        if import.is_glob {
            self.globs.push(import);
        } else {
            self.imports.entry(name.unwrap()).or_default().push(import);
        }
    }

    /// Reads the path that begins at `at`; returns its last token.
    fn read_path(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
        let mut end = at;
        let mut path = vec![text(at).to_owned()];
        while text(end + 1) == "::" && tokens.get(end + 2).is_some_and(Token::is_name) {
            path.push(text(end + 2).to_owned());
            end += 2;
        }
        let before = if at == 0 { "" } else { text(at - 1) };
        // A member: a field, a method, or what stands after `<Type>::`.
        let is_member = matches!(before, "." | "::");
        let is_binding = path.len() == 1
            && path[0].starts_with(char::is_lowercase)
            && (matches!(before, "let" | "mut" | "for") || text(end + 1) == ":");
        if !is_member && !is_binding {
            if path.len() == 1 && text(end + 1) == "!" {
                path[0].push('!');
            }
            self.mentions.push(Mention { path, line: tokens[at].line });
        }
        end
    }
}

/// All files of a library, by the module that each is.
pub(super) struct ModuleGraph<'a> {
    files: BTreeMap<ModulePath, File>,
    texts: BTreeMap<ModulePath, &'a str>,
}

/// The other files that one file uses, each with the first line that does.
type Uses = BTreeMap<ModulePath, usize>;

impl<'a> ModuleGraph<'a> {
    /// Reads files, each given by its path in `src` and its text.
    pub(super) fn read(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let texts: BTreeMap<_, _> =
            sources.into_iter().map(|(path, text)| (module_path(path), text)).collect();
        let mut files: BTreeMap<_, _> =
            texts.iter().map(|(module, text)| (module.clone(), File::read(text))).collect();
        files.entry(ModulePath::new()).or_insert_with(|| File {
            children: texts.keys().map(|module| module[0].clone()).collect(),
            ..File::default()
        });
        ModuleGraph { files, texts }
    }

    /// The file that defines what `path` names in the code of `from`; nothing for a module, a local name, or what is
    /// not of this library.
    fn resolve(&self, from: &ModulePath, path: &[String]) -> Option<ModulePath> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(from, ModulePath::new(), rest),
            "self" => self.walk(from, from.clone(), rest),
            "super" => self.walk(from, from[..from.len() - 1].to_vec(), rest),
            name => {
                let file = &self.files[from];
                let is_module = file.children.contains(name) && !rest.is_empty();
                if is_module || file.imports.contains_key(name) {
                    return self.walk(from, from.clone(), path);
                }
                if file.defined.contains(name) {
                    return None;
                }
                if name.ends_with('!') {
                    let mut ancestors = (1..from.len()).map(|length| from[..length].to_vec());
                    return ancestors.find(|module| self.files[module].defined.contains(name));
                }
                file.globs.iter().find_map(|glob| self.through_glob(from, glob, path))
            }
        }
    }

    /// Where `path` leads from inside `module`.
    fn walk(&self, from: &ModulePath, module: ModulePath, path: &[String]) -> Option<ModulePath> {
        let (name, rest) = path.split_first()?;
        if name == "super" {
            return self.walk(from, module[..module.len() - 1].to_vec(), rest);
        }
        let file = self.files.get(&module)?;
        let imports = file.imports.get(name).map_or(&[][..], Vec::as_slice);
        // A module and an item may have one name: at the end of a path the item is meant.
        let is_module = file.children.contains(name) && (!rest.is_empty() || imports.is_empty());
        if file.defined.contains(name) && (rest.is_empty() || !is_module) {
            return Some(module);
        }
        if is_module {
            let mut child = module;
            child.push(name.clone());
            return self.walk(from, child, rest);
        }
        if !imports.is_empty() {
            let mut visible = imports.iter().filter(|import| import.is_public || module == *from).peekable();
            if visible.peek().is_none() {
                return Some(module);
            }
            // `use serde;` names a crate.
            return visible
                .filter(|import| import.path != [name.as_str()])
                .find_map(|import| self.resolve(&module, &[import.path.as_slice(), rest].concat()));
        }
        let mut globs = file.globs.iter().filter(|glob| glob.is_public);
        globs.find_map(|glob| self.through_glob(&module, glob, path)).or(Some(module))
    }

    /// Where `path` leads if `glob`, which stands in `module`, brings its first name.
    fn through_glob(&self, module: &ModulePath, glob: &Import, path: &[String]) -> Option<ModulePath> {
        let is_there = |found: &ModulePath| {
            let file = &self.files[found];
            file.defined.contains(&path[0]) || file.imports.contains_key(&path[0])
        };
        let (file, first) = (&self.files[module], &glob.path[0]);
        let is_of_library = matches!(first.as_str(), "crate" | "self" | "super")
            || file.children.contains(first)
            || file.imports.contains_key(first);
        let found =
            if is_of_library { self.resolve(module, &[glob.path.as_slice(), path].concat()) } else { None };
        found.filter(is_there)
    }

    /// The files of its top-level module that the file `from` uses.
    fn uses(&self, from: &ModulePath) -> Uses {
        let file = &self.files[from];
        let imports = file.imports.values().flatten().chain(&file.globs).filter(|import| !import.is_public);
        let imports = imports.map(|import| (&import.path, import.line));
        let mentions = file.mentions.iter().map(|mention| (&mention.path, mention.line));
        let mut uses = Uses::new();
        for (path, line) in imports.chain(mentions) {
            let found = self.resolve(from, path).filter(|to| to != from && to.first() == from.first());
            if let Some(to) = found {
                let first = uses.entry(to).or_insert(line);
                *first = line.min(*first);
            }
        }
        uses
    }

    /// Every circle among the files of `top`, with the lines that make it.
    pub(super) fn circles(&self, top: &str) -> Vec<String> {
        let modules: Vec<_> =
            self.files.keys().filter(|module| module.first().is_some_and(|m| m == top)).collect();
        let uses: BTreeMap<_, _> = modules.iter().map(|module| (*module, self.uses(module))).collect();
        let reached: BTreeMap<_, _> =
            modules.iter().map(|module| (*module, reachable(&uses, module))).collect();
        let mut circles = BTreeSet::new();
        for module in &modules {
            let circle: Vec<_> = modules
                .iter()
                .filter(|m| reached[*module].contains(**m) && reached[*m].contains(*module))
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().map(|circle| self.describe(&circle, &uses)).collect()
    }

    /// Every use between two parts of the module whose file is at `path` that does not lead to a lower level.
    pub(super) fn uses_of_higher_parts(&self, path: &str, levels: &BTreeMap<String, u32>) -> Vec<String> {
        let parent = module_path(path);
        let part = |module: &ModulePath| module.strip_prefix(&*parent)?.first().cloned();
        let mut found = Vec::new();
        for (from, own) in self.files.keys().filter_map(|from| Some((from, part(from)?))) {
            for (to, line) in self.uses(from) {
                if part(&to).is_some_and(|part| part != own && levels[&part] >= levels[&own]) {
                    found.push(self.describe_use(from, &to, line));
                }
            }
        }
        found
    }

    fn describe_use(&self, from: &ModulePath, to: &ModulePath, line: usize) -> String {
        let code = self.texts[from].lines().nth(line).unwrap_or_default().trim();
        format!("{} uses {}: {}: {code}", file_name(from), file_name(to), line + 1)
    }

    fn describe(&self, circle: &[&&ModulePath], uses: &BTreeMap<&ModulePath, Uses>) -> String {
        let names: Vec<_> = circle.iter().map(|module| file_name(module)).collect();
        let mut text = format!("{}: a circle of {}\n", circle[0][0], names.join(", "));
        for from in circle {
            for (to, line) in uses[**from].iter().filter(|(to, _)| circle.contains(&&&**to)) {
                writeln!(text, "  {}", self.describe_use(from, to, *line)).unwrap();
            }
        }
        text
    }
}

/// Every file that `from` uses, itself or through others.
fn reachable<'a>(uses: &'a BTreeMap<&ModulePath, Uses>, from: &ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<_> = uses[from].keys().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(uses.get(module).into_iter().flat_map(Uses::keys));
        }
    }
    reached
}

/// The module that a file is: `store/sqlite.rs` is `store::sqlite`.
fn module_path(path: &str) -> ModulePath {
    let path = path.strip_suffix(".rs").unwrap();
    path.split('/').filter(|name| *name != "lib").map(str::to_owned).collect()
}

fn file_name(module: &ModulePath) -> String {
    format!("{}.rs", module.join("/"))
}

/// The files that `from` uses, of these: each its path and its text.
fn used_by(from: &str, files: &[(&str, &str)]) -> Vec<String> {
    let graph = ModuleGraph::read(files.iter().copied());
    graph.uses(&module_path(from)).keys().map(file_name).collect()
}

#[test]
fn an_import_is_a_use_of_the_file_that_defines_the_item() {
    let uses = |code: &str| {
        used_by("m/a.rs", &[("m.rs", PARENT), ("m/a.rs", code), ("m/b.rs", CHILD), ("m/b/c.rs", "")])
    };
    const PARENT: &str =
        "mod a;\nmod b;\npub use b::{Thing, make as create};\nuse std::fmt;\npub struct Own;\n";
    const CHILD: &str = "pub(super) mod c;\npub struct Thing;\npub fn make() {}\n";
    for (code, files) in [
        ("use super::b::Thing;", "m/b.rs"),
        ("use super::b::{self, c::{Deep as Other, self}, Thing as Item};", "m/b.rs m/b/c.rs"),
        ("use super::{b, b::c}; fn f() { c::deep() }", "m/b/c.rs"),
        ("use super::{\n    b::c::Deep,\n    Own,\n};", "m.rs m/b/c.rs"),
        ("use crate::{error::Error, m::{b::make, Own}};", "m.rs m/b.rs"),
        ("use super::Thing;", "m/b.rs"),
        ("use super::create;", "m/b.rs"),
        ("use super::fmt;", "m.rs"),
        ("use self::super::Own;", "m.rs"),
        ("use super::*; fn f(thing: Thing) {}", "m/b.rs"),
        ("use super::b::*; fn f() { make() }", "m/b.rs"),
        ("use std::fmt; use super::b; use other::Thing;", ""),
    ] {
        assert_eq!(uses(code).join(" "), files, "{code}");
    }
}

#[test]
fn a_path_in_the_code_is_a_use() {
    let uses = |code: &str| {
        used_by("m/a.rs", &[("m.rs", PARENT), ("m/a.rs", code), ("m/b.rs", "pub struct Thing;")])
    };
    const PARENT: &str =
        "macro_rules! made { () => {} }\nmod a;\nmod b;\npub(super) use b::Thing;\nconst MOST: u8 = 1;\n";
    for (code, files) in [
        ("fn f() -> super::b::Thing {}", "m/b.rs"),
        ("fn f(x: &'static super::Thing) { x.make::<crate::m::Own>() }", "m.rs m/b.rs"),
        ("const A: [u8; super::MOST as usize] = [0; 1];", "m.rs"),
        ("fn f() { write!(out, \"{}\", super::b::Thing::new()) }", "m/b.rs"),
        ("fn f(x: &mut super::Thing) {}", "m/b.rs"),
        ("impl Clone for super::b::Thing {}", "m/b.rs"),
        ("made!();", "m.rs"),
        ("macro_rules! made { () => {} } made!();", ""),
        (
            "// super::b::Thing\n/// super::b::Thing\nfn f() { \"super::b::Thing\"; r#\"\"super::b::Thing\"#; '\"'; }",
            "",
        ),
        ("fn f<'a>(c: &'a str) { let c = '\\''; super::b::make() }", "m/b.rs"),
        ("fn f() {}\n#[cfg(test)]\nmod tests { use super::super::b::Thing; fn f() {} }", ""),
        ("#[cfg(test)]\nuse super::Thing;\nfn f(x: super::Own) {}", "m.rs"),
    ] {
        assert_eq!(uses(code).join(" "), files, "{code}");
    }
}

#[test]
fn a_parent_uses_what_its_own_code_names() {
    let uses = |code: &str| used_by("m.rs", &[("m.rs", code), ("m/a.rs", "pub fn a() {}\npub struct Item;")]);
    for (code, files) in [
        ("mod a;\npub use a::{Item, a};", ""),
        ("mod a;\npub use a::*;", ""),
        ("mod a;\npub use a::Item;\nimpl Item {}", "m/a.rs"),
        ("mod a;\npub use a::a;\nfn f() { a() }", "m/a.rs"),
        ("mod a;\nfn f() { a::a() }", "m/a.rs"),
        ("mod a;\nuse a::Item;", "m/a.rs"),
        ("mod a;\npub use a::Item;\nfn f(x: &mut Item) {}", "m/a.rs"),
        ("mod a;\npub use a::Item;\nimpl Clone for Item {}", "m/a.rs"),
        ("mod a;\npub use a::a;\nfn f(a: u8) { let a = Thing { a: 1 }; other.a() }", ""),
    ] {
        assert_eq!(uses(code).join(" "), files, "{code}");
    }
}

#[test]
fn a_circle_of_files_is_found() {
    let parent = "mod low;\nmod high;\npub use low::Item;\npub struct Shared;\n";
    let files = [
        ("m.rs", parent),
        ("m/low.rs", "pub struct Item;\nfn f() {\n    super::high::run();\n}\n"),
        ("m/high.rs", "use super::{Item, Shared};\npub fn run() {}\n"),
    ];
    let circles = ModuleGraph::read(files).circles("m");
    assert_eq!(
        circles,
        ["m: a circle of m/high.rs, m/low.rs\n  \
          m/high.rs uses m/low.rs: 1: use super::{Item, Shared};\n  \
          m/low.rs uses m/high.rs: 3: super::high::run();\n"]
    );
    let parent = format!("{parent}fn g() {{ high::run() }}\n");
    let low = "pub struct Item;\n";
    let circles = ModuleGraph::read([("m.rs", parent.as_str()), ("m/low.rs", low), files[2]]).circles("m");
    assert_eq!(circles.len(), 1);
    assert!(circles[0].starts_with("m: a circle of m.rs, m/high.rs\n"), "{circles:?}");
}

#[test]
fn a_use_of_a_higher_part_is_found_behind_its_parent() {
    let files = [
        ("m.rs", "mod low; // 1\nmod high; // 2\n"),
        ("m/low.rs", "mod a;\n"),
        ("m/low/a.rs", "use crate::m::high::run;\n"),
        ("m/high.rs", "mod b;\npub(super) use b::run;\nuse super::low::Item;\n"),
        ("m/high/b.rs", "pub(in crate::m) fn run() {}\n"),
    ];
    let graph = ModuleGraph::read(files);
    let uses = |low, high| {
        graph.uses_of_higher_parts("m.rs", &[("low".to_owned(), low), ("high".to_owned(), high)].into())
    };
    let upward = "m/low/a.rs uses m/high/b.rs: 1: use crate::m::high::run;";
    let downward = "m/high.rs uses m/low.rs: 3: use super::low::Item;";
    assert_eq!(uses(1, 2), [upward]);
    assert_eq!(uses(2, 1), [downward]);
    assert_eq!(uses(1, 1), [downward, upward]);
}

#[test]
fn files_that_use_only_lower_ones_form_no_circle() {
    let files = [
        ("m.rs", "mod low;\nmod high;\npub use low::Item;\npub use high::run;\npub fn all() { run() }\n"),
        ("m/low.rs", "pub struct Item;\n"),
        ("m/high.rs", "use super::Item;\npub fn run() {}\n"),
        ("other.rs", "use crate::m::Item;\n"),
    ];
    assert_eq!(ModuleGraph::read(files).circles("m"), [""; 0]);
}
