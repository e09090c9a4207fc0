//! `cargo xtask bench`: the bench package, which is a workspace of its own so that the peers it measures stay
//! out of everybody's build.

use std::fs;
use std::io::Write;

use crate::{provision, step};

/// The page that shows the last saved run of a benchmark, between two comments of its name.
fn page_of(name: &str) -> &'static str {
    match name {
        "bulk" => "docs/bulk.md",
        _ => "docs/performance.md",
    }
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let save = args.iter().any(|a| a == "--save");
    let args: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|a| *a != "--save")
        .collect();
    let (names, rest): (&[&str], &[&str]) = match args.as_slice() {
        [name @ ("core" | "server" | "bulk"), rest @ ..] => (&[*name], rest),
        [] => (&["core", "server", "bulk"], &[]),
        [other, ..] => return Err(format!("no benchmark named {other:?}: core, server or bulk")),
    };
    for name in names {
        let text = bench(name, rest)?;
        if save {
            let shown = page_of(name);
            let page = step::root().join(shown);
            let old = fs::read_to_string(&page).map_err(|e| format!("{shown}: {e}"))?;
            let new = replaced(&old, name, &text).ok_or(format!("{shown} has no place for {name}"))?;
            fs::write(&page, new).map_err(|e| format!("{shown}: {e}"))?;
            eprintln!("saved in {shown}");
        }
    }
    Ok(())
}

fn bench(name: &str, rest: &[&str]) -> Result<String, String> {
    let mut command = step::cargo("run --release --quiet --manifest-path bench/Cargo.toml --");
    command.arg(name).args(rest);
    if name == "server" {
        provision::debian(provision::BENCH_TOOLS);
        step::run(&mut step::cargo("build --release -p mintage-cli"))?;
        command.env("MINT_BIN", step::target_dir().join("release/mint"));
    }
    if name == "bulk" {
        step::run(&mut step::cargo("build --release -p mintage-cli"))?;
        command.env("MINT_BIN", step::target_dir().join("release/mint"));
        if let Some(python) = provision::bench_python() {
            command.env("MINT_BENCH_PYTHON", python);
        }
    }
    let text = step::output(&mut command)?;
    let shown = std::io::stdout().write_all(text.as_bytes());
    shown.map_err(|e| format!("cannot write the output: {e}"))?;
    Ok(text)
}

/// The page with `text` between `<!-- name -->` and `<!-- /name -->`.
fn replaced(page: &str, name: &str, text: &str) -> Option<String> {
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let start = page.find(&open)? + open.len();
    let end = start + page[start..].find(&close)?;
    Some(format!("{}\n{}\n{}", &page[..start], text.trim(), page[end..].trim_end()) + "\n")
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn a_saved_run_takes_the_place_of_the_one_before() {
        let page = "head\n<!-- core -->\nold\n<!-- /core -->\n<!-- server -->\n<!-- /server -->\n";
        let new = replaced(page, "core", "| a |\n").unwrap();
        assert_eq!(
            new,
            "head\n<!-- core -->\n\n| a |\n<!-- /core -->\n<!-- server -->\n<!-- /server -->\n"
        );
        assert_eq!(replaced(&new, "core", "| a |\n").unwrap(), new);
        assert_eq!(replaced(page, "other", ""), None);
    }
}
