//! `cargo xtask bench`: the bench package, which is a workspace of its own so that the peers it measures stay
//! out of everybody's build.

use std::fs;
use std::io::Write;
use std::process::Command;

use crate::{provision, step};

/// The page that shows the last saved run of a benchmark, between two comments of its name.
fn page_of(name: &str) -> &'static str {
    match name {
        "bulk" => "docs/bulk.md",
        "sqlwire" => "docs/performance-wire.md",
        "cosid" => "docs/cosid.md",
        _ => "docs/performance.md",
    }
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    if args.first().is_some_and(|name| name == "sql") {
        return sql(&args[1..]);
    }
    let save = args.iter().any(|a| a == "--save");
    let args: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .filter(|a| *a != "--save")
        .collect();
    let (names, rest): (&[&str], &[&str]) = match args.as_slice() {
        [
            name @ ("core" | "command" | "server" | "bulk" | "stores" | "sqlwire" | "cosid"),
            rest @ ..,
        ] => (&[*name], rest),
        [] => (
            &["core", "command", "server", "bulk", "stores", "sqlwire", "cosid"],
            &[],
        ),
        [other, ..] => {
            return Err(format!(
                "no benchmark named {other:?}: core, command, server, bulk, stores, sqlwire, cosid or sql"
            ));
        }
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
    let mut command = match name {
        // The servers that it starts are those of the end-to-end tests.
        "stores" => step::cargo("bench --quiet -p mintage-e2e --bench shared_stores --"),
        "sqlwire" => step::cargo("bench --quiet -p mintage-e2e --bench sql_wire --"),
        "cosid" => step::cargo("bench --quiet -p mintage-e2e --bench cosid --"),
        _ => step::cargo("run --release --quiet --manifest-path bench/Cargo.toml -p mintage-bench --"),
    };
    let of_servers = matches!(name, "stores" | "sqlwire" | "cosid");
    if !of_servers {
        command.arg(name);
    }
    command.args(rest);
    if of_servers {
        provision::debian(provision::TEST_TOOLS);
    }
    if name == "server" {
        provision::debian(provision::BENCH_TOOLS);
    }
    if name == "cosid"
        && let Some(jars) = provision::java()
    {
        command.env("MINT_TEST_JAVA", jars);
    }
    if matches!(
        name,
        "server" | "command" | "bulk" | "stores" | "sqlwire" | "cosid"
    ) {
        step::run(&mut step::cargo("build --release -p mintage-cli"))?;
        command.env("MINT_BIN", step::target_dir().join("release/mint"));
    }
    if name == "bulk"
        && let Some(python) = provision::bench_python()
    {
        command.env("MINT_BENCH_PYTHON", python);
    }
    let mut text = shown(&mut command)?;
    if name == "stores" {
        text.push('\n');
        text += &shown(&mut step::cargo(
            "bench --quiet -p mintage-ledger --bench many_sequences",
        ))?;
    }
    Ok(text)
}

/// Bulk inserts into private databases; writes its table and picture itself.
fn sql(rows: &[String]) -> Result<(), String> {
    provision::debian(provision::TEST_TOOLS);
    let mut command = step::cargo("run --quiet --manifest-path bench/Cargo.toml -p mintage-bench-sql --");
    step::run(command.args(rows))
}

/// Runs a benchmark, and shows what it prints.
fn shown(command: &mut Command) -> Result<String, String> {
    let text = step::output(command)?;
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
