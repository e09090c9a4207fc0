//! Bugs that are planted on purpose stand in `proof/mutants`, not in the product: each file there replaces texts of
//! the sources. `cargo xtask check` sees that every text is still there; `cargo xtask proof` plants them all in a copy
//! of the tree, in which `MINT_PLANTED` turns one on.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

use crate::step;
use crate::tree::{self, read};

/// One file: a bug, or several in the same lines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    #[serde(rename = "in")]
    places: Vec<Place>,
}

/// A text of the product, and what the mutant has instead.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    file: String,
    product: String,
    mutant: String,
}

/// Checks that every mutant can be planted and has a row in the table of what finds it.
pub(crate) fn check() -> Result<(), String> {
    let root = step::root();
    let mut wrong = Vec::new();
    let table = read(&root.join("proof/src/planted.rs"))?;
    for (path, mutant) in mutants()? {
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        for place in &mutant.places {
            let found = read(&root.join(&place.file))?.matches(&place.product).count();
            if found != 1 {
                wrong.push(format!(
                    "{shown}: its text stands {found} times in {}, not once; take over what became of the lines",
                    place.file
                ));
            }
        }
        for name in names(&mutant) {
            if !table.contains(&format!("\"{name}\"")) {
                wrong.push(format!("{shown}: {name} has no row in proof/src/planted.rs"));
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n       ")),
    }
}

/// Copies the tree to a folder of the target folder, with every bug planted, and says where it is.
pub(crate) fn plant() -> Result<PathBuf, String> {
    let root = step::root();
    let tree = step::target_dir().join("planted-tree");
    let mut changed = Vec::new();
    for (_, mutant) in mutants()? {
        for place in mutant.places {
            let path = root.join(&place.file);
            let at = match changed.iter().position(|(known, _)| *known == path) {
                Some(at) => at,
                None => {
                    changed.push((path.clone(), read(&path)?));
                    changed.len() - 1
                }
            };
            let text = &mut changed[at].1;
            if text.matches(&place.product).count() != 1 {
                return Err(format!("{}: a mutant's text is not there once", place.file));
            }
            *text = text.replacen(&place.product, &place.mutant, 1);
        }
    }
    let switch = (
        root.join("crates/core/src/planted.rs"),
        read(&root.join("proof/mutants/planted.rs"))?,
    );
    changed.push(switch);
    tree::copy_with(&tree, &changed)?;
    Ok(tree)
}

/// The names that `MINT_PLANTED` may have.
fn names(mutant: &Mutant) -> BTreeSet<&str> {
    let texts = mutant.places.iter().map(|place| place.mutant.as_str());
    texts
        .flat_map(|text| text.split("planted!(\"").skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

fn mutants() -> Result<Vec<(PathBuf, Mutant)>, String> {
    let folder = step::root().join("proof/mutants");
    let cannot = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            let mutant = toml::from_str(&read(&path)?).map_err(|e| format!("{}: {e}", path.display()))?;
            found.push((path, mutant));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_mutant_can_be_planted_and_has_its_row() {
        super::check().unwrap();
    }

    #[test]
    fn a_mutant_names_what_turns_it_on() {
        let mutant = super::Mutant {
            places: vec![super::Place {
                file: "a.rs".into(),
                product: "x".into(),
                mutant: "if planted!(\"one\") || planted!(\"two\") { x }".into(),
            }],
        };
        assert_eq!(
            super::names(&mutant).into_iter().collect::<Vec<_>>(),
            ["one", "two"]
        );
    }
}
