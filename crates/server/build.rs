//! Compiles `proto/` into a descriptor: what gRPC's messages are, for the face and for clients that ask (reflection).

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut compiler = protox::Compiler::new([&folder])?;
    compiler
        .include_imports(true)
        .open_file("mintage/v1/mint.proto")?;
    let out = Path::new(&std::env::var("OUT_DIR")?).join("mint.bin");
    std::fs::write(out, compiler.encode_file_descriptor_set())?;
    Ok(())
}
