//! `cargo xtask originals FOLDER`: servers of other systems that somebody has built, asked side by side with our faces.

use std::path::Path;

use crate::{provision, step};

const HELP: &str = "\
cargo xtask originals FOLDER

  asks originals that you have built every request of crates/faces/tests/originals.tsv, and the faces beside
  them; fails where one of the two answers otherwise than the table says

  FOLDER holds a program for each original, such as a script around `java -jar`; those that are not there are
  skipped:
    leaf     leaf-server, with the tag `orders` in its table
    tinyid   tinyid-server, with the biz types `orders`, `even` (delta 2, step 100) and `neg` (max_id -40,
             step 10) and the token `tok` for each
    cosid    cosid-proxy-server, over an empty Redis
    idgo     idgo, over an empty database
  Each is started with PORT in its environment, brings the database that it needs, and serves on
  127.0.0.1:$PORT until it is killed, with all that it started. Libraries without a server (leaf-core, CosId
  over Redis and JDBC, uid-generator) are left out: `cargo xtask test java_clients` runs those that can be had
  from Maven Central.
";

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [folder] = args else {
        return Err(format!("a folder is needed\n\n{HELP}"));
    };
    if matches!(folder.as_str(), "help" | "--help" | "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let folder = Path::new(folder)
        .canonicalize()
        .map_err(|why| format!("{folder}: {why}\n\n{HELP}"))?;
    provision::debian(provision::TEST_TOOLS);
    let mut test = step::cargo("test -p mintage-e2e --test end_to_end");
    test.args(["originals_built::", "--", "--ignored", "--nocapture"]);
    if std::env::var_os("MINT_BIN").is_none() {
        step::run(&mut step::cargo("build -p mintage-cli"))?;
        test.env("MINT_BIN", step::target_dir().join("debug/mint"));
    }
    step::run(test.env("MINT_ORIGINALS", folder))
}
