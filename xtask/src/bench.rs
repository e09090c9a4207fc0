//! `cargo xtask bench`: the bench package, which is a workspace of its own so that the peers it measures stay
//! out of everybody's build.

use crate::{provision, step};

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let which: Vec<&str> = match args.first().map(String::as_str) {
        Some("core") => vec!["core"],
        Some("server") => vec!["server"],
        None => vec!["core", "server"],
        Some(other) => return Err(format!("no benchmark named {other:?}: core or server")),
    };
    let rest = args.get(1..).unwrap_or_default();
    for name in which {
        let mut mint = None;
        if name == "server" {
            provision::debian(provision::BENCH_TOOLS);
            step::run(&mut step::cargo("build --release -p mintage-cli"))?;
            mint = Some(step::target_dir().join("release/mint"));
        }
        let mut command = step::cargo("run --release --quiet --manifest-path bench/Cargo.toml --");
        command.arg(name).args(rest);
        if let Some(mint) = mint {
            command.env("MINT_BIN", mint);
        }
        step::run(&mut command)?;
    }
    Ok(())
}
