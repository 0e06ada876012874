// build.rs - links librowscan as pkg-config says; the crate pkg-config does the same
// SPDX-License-Identifier: MIT
fn main() {
    let found = std::process::Command::new("pkg-config").args(["--libs", "rowscan"]).output().expect("pkg-config");
    assert!(found.status.success(), "pkg-config finds no rowscan: set PKG_CONFIG_PATH to PREFIX/lib/pkgconfig");
    for flag in String::from_utf8(found.stdout).unwrap().split_whitespace() {
        match flag.split_at(2) {
            ("-L", folder) => println!("cargo:rustc-link-search=native={folder}"),
            ("-l", library) => println!("cargo:rustc-link-lib={library}"),
            _ => (),
        }
    }
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
}
