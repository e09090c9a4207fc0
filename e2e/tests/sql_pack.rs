//! The shipped SQL scripts are what their parts and the library's tables make.

use std::fs;

use mintage_e2e::sql::pack;

/// `MINT_WRITE_SQL=1 cargo test -p mintage-e2e sql_pack` writes them anew.
#[test]
fn every_shipped_script_is_what_its_parts_make() {
    for file in pack::generated() {
        if std::env::var_os("MINT_WRITE_SQL").is_some() {
            fs::write(&file.path, &file.text).expect("the tree can be written");
        }
        let found = fs::read_to_string(&file.path).unwrap_or_default();
        assert!(
            found == file.text,
            "{} is not what sql/*/src and the presets make; MINT_WRITE_SQL=1 cargo test -p mintage-e2e sql_pack \
             writes it",
            file.path.display()
        );
    }
}

#[test]
fn the_makefile_and_the_control_file_name_the_scripts_there_are() {
    let folder = pack::folder("postgres");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("the file is in the tree");
    let scripts = format!(
        "DATA = mintage--{0}.sql mintage--{0}--{1}.sql mintage--{1}.sql\n",
        pack::FIRST_VERSION,
        pack::VERSION
    );
    assert!(read("Makefile").contains(&scripts));
    assert!(read("mintage.control").contains(&format!("default_version = '{}'\n", pack::VERSION)));
}
