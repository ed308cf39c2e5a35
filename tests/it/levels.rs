//! The modules of the library keep to their levels, and do nothing that is reserved for another module.

mod module_graph;

use module_graph::ModuleGraph;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Every source file of the library (the tools may use any module): its module, its path, its text.
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let inner = path.strip_prefix(&root).unwrap().to_owned();
            if path.is_dir() && inner != Path::new("bin") {
                directories.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") && inner != Path::new("multicall.rs") {
                let module = inner.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
                let text = std::fs::read_to_string(&path).unwrap();
                sources.push((module.to_owned(), inner, text));
            }
        }
    }
    sources.sort();
    assert!(sources.len() > 30);
    sources
}

/// The code of a file, without comments and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The parts of a module and their levels, in the order of its file: `mod NAME; // LEVEL what it is`. Empty if none has
/// a level; else each has one.
fn parts(text: &str) -> Vec<(String, u32)> {
    let part = |line: &str| {
        let (visibility, part) = line.split_once("mod ")?;
        let (name, comment) = part.split_once(';').filter(|_| ["", "pub "].contains(&visibility))?;
        let level = comment.trim_start().strip_prefix("// ").and_then(|c| c.split(' ').next());
        Some((name.to_owned(), level.and_then(|l| l.parse().ok())))
    };
    let parts: Vec<(String, Option<u32>)> = text.lines().filter_map(part).collect();
    if parts.iter().all(|(_, level)| level.is_none()) {
        return Vec::new();
    }
    let has_level = |(name, level): (String, Option<u32>)| {
        (level.map(|level| (name.clone(), level))).unwrap_or_else(|| panic!("module {name} has no level"))
    };
    parts.into_iter().map(has_level).collect()
}

/// The level of each module of the library.
fn levels() -> BTreeMap<String, u32> {
    let lib = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    parts(&lib).into_iter().collect()
}

/// The modules that a text names after `crate::`, one by one or in braces.
fn used(text: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut modules = Vec::new();
    for (at, path) in text.match_indices("crate::") {
        let rest = &text[at + path.len()..];
        match rest.strip_prefix('{') {
            None => modules.push(name(rest)),
            Some(list) => {
                // The names at the top of the list: those behind its brace or a comma of depth one.
                let (mut depth, mut begins) = (1, true);
                for (at, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 1 => begins = true,
                        c if begins && !c.is_whitespace() => {
                            modules.push(name(&list[at..]));
                            begins = false;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
        }
    }
    modules
}

#[test]
fn paths_are_read_singly_and_in_braces() {
    let text = "use crate::record::{id, Link};\nuse crate::{\n    chat::{self, fence},\n    error, store::Store,\n};\ncrate::view::x()";
    assert_eq!(used(text), ["record", "chat", "error", "store", "view"]);
}

/// Keeps: A module uses only lower ones.
#[test]
fn a_module_uses_only_lower_ones() {
    let levels = levels();
    let mut seen = 0;
    for (module, path, text) in sources().iter().filter(|(module, ..)| module != "lib" && module != "bin") {
        let own = levels.get(module).unwrap_or_else(|| panic!("{module} is not in src/lib.rs"));
        for used in used(&code(text)).iter().filter(|used| *used != module) {
            let level = levels.get(used).unwrap_or_else(|| panic!("{}: what is {used}?", path.display()));
            assert!(level < own, "{}: {module} ({own}) uses {used} ({level})", path.display());
            seen += 1;
        }
    }
    assert!(seen > 50, "only {seen} uses were found");
}

#[test]
fn levels_only_rise_in_the_list() {
    for (_, path, text) in sources() {
        let parts = parts(&text);
        assert!(parts.is_sorted_by_key(|(_, level)| *level), "{}: {parts:?}", path.display());
    }
}

/// Keeps: So does a part of a module whose file says the levels of its parts.
#[test]
fn a_part_of_a_module_uses_only_lower_ones() {
    let sources = sources();
    let graph = graph(&sources);
    let with_levels = sources.iter().filter(|(module, _, text)| module != "lib" && !parts(text).is_empty());
    let with_levels: Vec<_> = with_levels.collect();
    assert!(!with_levels.is_empty());
    for (_, path, text) in with_levels {
        let uses = graph.uses_of_higher_parts(path.to_str().unwrap(), &parts(text).into_iter().collect());
        assert!(uses.is_empty(), "{}", uses.join("\n"));
    }
}

/// Which files use which.
fn graph(sources: &[(String, PathBuf, String)]) -> ModuleGraph<'_> {
    ModuleGraph::read(sources.iter().map(|(_, path, text)| (path.to_str().unwrap(), text.as_str())))
}

/// The files of the library outside `modules` whose code holds one of `signs`.
fn files_outside(modules: &[&str], signs: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, path, text) in sources() {
        let home = modules
            .iter()
            .any(|module| path.starts_with(module) || path == Path::new(&format!("{module}.rs")));
        let code = code(&text);
        found.extend(
            signs
                .iter()
                .filter(|sign| !home && code.contains(**sign))
                .map(|s| format!("{}: {s}", path.display())),
        );
    }
    found
}

/// Keeps: Only `cli` and `config` read the environment.
#[test]
fn only_cli_and_config_read_the_environment() {
    assert_eq!(files_outside(&["cli", "config"], &["env::var", "env::args", "env::current"]), [""; 0]);
}

/// Keeps: Only `cli` prints and exits.
#[test]
fn only_cli_prints_and_exits() {
    let signs = ["println!", "print!(", "io::stdout", "io::stderr", "process::exit", "process::abort"];
    assert_eq!(files_outside(&["cli"], &signs), [""; 0]);
}

#[test]
fn one_place_asks_whether_something_is_a_terminal() {
    let asked: usize = sources().iter().map(|(_, _, text)| code(text).matches("atty::is(").count()).sum();
    assert_eq!(asked, 1);
    assert_eq!(files_outside(&["cli"], &["atty", "is_terminal"]), [""; 0]);
}

/// Keeps: Only `cli` knows colours.
#[test]
fn only_cli_knows_colours() {
    assert_eq!(files_outside(&["cli"], &["\\x1b[", "\\u{1b}[", "\\x1B["]), [""; 0]);
}

/// Keeps: SQL is only in `store/sqlite`, and, for the databases of other programs, in `import`.
#[test]
fn the_database_is_spoken_to_in_one_place() {
    let signs = ["rusqlite", "SELECT ", "INSERT ", "DELETE FROM", "UPDATE ", "PRAGMA ", "CREATE TABLE"];
    // The databases of other programs are read by their formats.
    let modules = [
        "store/sqlite",
        "import/chat_backend",
        "import/cursor",
        "import/database",
        "import/goose",
        "import/llm",
        "import/open_webui",
        "import/opencode",
        "import/zed",
    ];
    assert_eq!(files_outside(&modules, &signs), [""; 0]);
    assert_eq!(files_outside(&["store/neo4j"], &["neo4rs", "BoltType", "BoltMap", "BoltList"]), [""; 0]);
}

/// Keeps: Cypher is only in two files.
#[test]
fn every_statement_of_the_graph_database_stands_in_two_files() {
    let signs =
        ["MATCH (", "MERGE (", "CREATE (", "UNWIND ", "DETACH ", "CALL db.", "RETURN ", "Query::new(\""];
    assert_eq!(files_outside(&["store/neo4j/statements", "store/neo4j/changes"], &signs), [""; 0]);
}

/// The names that a file gives to types: `struct`, `enum`, `trait`, `type NAME`. Associated types, which stand
/// indented in a trait or an `impl`, are left out.
fn type_names(text: &str) -> Vec<String> {
    let named = |line: &str| {
        let word = line.trim_start();
        let word = match word.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(')')?.1.trim_start(),
            Some(rest) => rest.trim_start(),
            None => word,
        };
        let (keyword, rest) = word.split_once(' ')?;
        let is_type = ["struct", "enum", "trait"].contains(&keyword) || line == word && keyword == "type";
        let is_type = is_type || keyword == "type" && line.starts_with("pub");
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        (is_type && !name.is_empty()).then_some(name)
    };
    code(text).lines().filter_map(named).collect()
}

#[test]
fn no_two_types_of_one_name_in_a_module() {
    let text =
        "pub(super) struct A<T> {\nenum B {\n    type C = D;\npub type E = F;\n    struct G(u8);\n// trait H";
    assert_eq!(type_names(text), ["A", "B", "E", "G"]);
    let mut files: BTreeMap<(String, String), Vec<PathBuf>> = BTreeMap::new();
    for (module, path, text) in sources() {
        for name in type_names(&text) {
            files.entry((module.clone(), name)).or_default().push(path.clone());
        }
    }
    assert!(files.len() > 200, "only {} types were found", files.len());
    let shared = files.iter().filter(|(_, files)| files.len() > 1);
    let shared: Vec<String> =
        shared.map(|((module, name), files)| format!("{module} has two types {name}: {files:?}")).collect();
    assert!(shared.is_empty(), "{}", shared.join("\n"));
}

/// Keeps: The files of a module have no cyclic dependencies.
#[test]
fn files_of_a_module_form_no_circle() {
    let sources = sources();
    let graph = graph(&sources);
    let circles: Vec<_> = levels().keys().flat_map(|module| graph.circles(module)).collect();
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}
