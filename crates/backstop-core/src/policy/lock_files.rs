//! Lock files: what package managers write down of the versions that they chose.

/// Whether a path is that of a lock file, in whatever folder.
pub(crate) fn is_lock_file(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    LOCK_FILES.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}

/// By their names, sorted as bytes.
const LOCK_FILES: &[&str] = &[
    ".terraform.lock.hcl",  // Terraform, OpenTofu
    "Berksfile.lock",       // Chef
    "Brewfile.lock.json",   // Homebrew
    "Cargo.lock",           // Rust
    "Cartfile.resolved",    // Carthage
    "Chart.lock",           // Helm
    "Gemfile.lock",         // Ruby
    "Gopkg.lock",           // Go, dep
    "JuliaManifest.toml",   // Julia
    "MODULE.bazel.lock",    // Bazel
    "Manifest.toml",        // Julia
    "Package.resolved",     // Swift
    "Pipfile.lock",         // Python, Pipenv
    "Podfile.lock",         // CocoaPods
    "Puppetfile.lock",      // Puppet
    "bun.lock",             // Bun
    "bun.lockb",            // Bun
    "cabal.project.freeze", // Haskell
    "composer.lock",        // PHP
    "conan.lock",           // C and C++
    "conda-lock.yml",       // Conda
    "deno.lock",            // Deno
    "devbox.lock",          // Devbox
    "flake.lock",           // Nix
    "gems.locked",          // Ruby
    "glide.lock",           // Go, Glide
    "go.sum",               // Go
    "go.work.sum",          // Go
    "gradle.lockfile",      // Gradle
    "mix.lock",             // Elixir
    "npm-shrinkwrap.json",  // npm
    "package-lock.json",    // npm
    "packages.lock.json",   // NuGet
    "paket.lock",           // .NET, Paket
    "pdm.lock",             // Python, PDM
    "pixi.lock",            // Pixi
    "pnpm-lock.yaml",       // pnpm
    "poetry.lock",          // Python, Poetry
    "project.lock.json",    // .NET
    "pubspec.lock",         // Dart, Flutter
    "pylock.toml",          // Python
    "rebar.lock",           // Erlang
    "renv.lock",            // R
    "shard.lock",           // Crystal
    "spack.lock",           // Spack
    "stack.yaml.lock",      // Haskell
    "uv.lock",              // Python, uv
    "vcpkg-lock.json",      // C++, vcpkg
    "yarn.lock",            // Yarn
];

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn the_names_are_sorted_so_that_each_is_found() {
        assert!(LOCK_FILES.is_sorted());
        assert!(LOCK_FILES.iter().all(|name| is_lock_file(name.as_bytes())));
    }

    #[rstest]
    #[case("web/package-lock.json", true)]
    #[case("../Cargo.lock", true)]
    #[case("cargo.lock", false)]
    #[case("Cargo.lock.md", false)]
    #[case("Cargo.lock/readme", false)]
    #[case("package.json", false)]
    fn only_the_whole_name_counts(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(is_lock_file(path.as_bytes()), expected);
    }
}
