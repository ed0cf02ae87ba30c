"""Commands of projects in Rust, Go, C, C++, Swift, Zig, Haskell, …"""

from collections.abc import Iterator

from localllm.project.manifests.signs import Command, CommandKind, Signs, at, quoted, table, tables


def rust(signs: Signs) -> Iterator[Command]:
    """Cargo."""
    if "Cargo.toml" not in signs.names:
        return
    manifest = signs.toml("Cargo.toml")
    everywhere = " --workspace" if at(manifest, "workspace") is not None else ""
    yield from _all("rust", "Cargo.toml", build=f"cargo build{everywhere}", test=f"cargo test{everywhere}")
    if at(manifest, "bin") or "src/main.rs" in signs.names:
        yield Command("run", "cargo run", "Cargo.toml", "rust")
    yield Command("lint", f"cargo clippy{everywhere}", "Cargo.toml", "rust")


def go(signs: Signs) -> Iterator[Command]:
    """The go command; golangci-lint where it is set up."""
    if "go.mod" not in signs.names:
        return
    yield from _all("go", "go.mod", build="go build ./...", test="go test ./...")
    if "main.go" in signs.names:
        yield Command("run", "go run .", "main.go", "go")
    for program in signs.programs[:3]:
        yield Command("run", f"go run ./{quoted(program)}", program, "go")
    if found := signs.has(".golangci.yml", ".golangci.yaml", ".golangci.toml"):
        yield Command("lint", "golangci-lint run", found, "go")
    else:
        yield Command("lint", "go vet ./...", "go.mod", "go")


def c(signs: Signs) -> Iterator[Command]:
    """CMake, Meson, Autotools, Bazel."""
    if "CMakeLists.txt" in signs.names:
        yield Command("build", "cmake -B build && cmake --build build", "CMakeLists.txt", "c")
        if signs.says("CMakeLists.txt", r"(?i)\b(?:enable_testing\s*\(|add_test\s*\(|include\s*\(\s*CTest)"):
            line = "cmake -B build && cmake --build build && ctest --test-dir build"
            yield Command("test", line, "CMakeLists.txt", "c")
    if "meson.build" in signs.names:
        yield Command("build", "meson setup build && meson compile -C build", "meson.build", "c")
        if signs.says("meson.build", r"\btest\s*\(") or signs.has("tests/", "test/"):
            yield Command("test", "meson test -C build", "meson.build", "c")
    if "configure.ac" in signs.names:
        before = "" if "configure" in signs.names else "autoreconf -i && "
        yield from _all("c", "configure.ac", build=f"{before}./configure && make", test="make check")
    if name := signs.has("MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"):
        yield from _all("c", name, build="bazel build //...", test="bazel test //...")


def swift(signs: Signs) -> Iterator[Command]:
    """Swift packages."""
    if "Package.swift" in signs.names:
        yield Command("build", "swift build", "Package.swift", "swift")
        if "Tests/" in signs.names or signs.says("Package.swift", r"\.testTarget\b"):
            yield Command("test", "swift test", "Package.swift", "swift")
        if signs.says("Package.swift", r"\.executable(?:Target)?\b"):
            yield Command("run", "swift run", "Package.swift", "swift")


def zig(signs: Signs) -> Iterator[Command]:
    """Zig's own build."""
    if "build.zig" in signs.names:
        yield Command("build", "zig build", "build.zig", "zig")
        if signs.says("build.zig", r"step\(\s*\"test\""):
            yield Command("test", "zig build test", "build.zig", "zig")
        if signs.says("build.zig", r"step\(\s*\"run\""):
            yield Command("run", "zig build run", "build.zig", "zig")


def functional(signs: Signs) -> Iterator[Command]:
    """Haskell, OCaml, Clojure."""
    cabal = next((name for name in sorted(signs.names) if name.endswith(".cabal")), "")
    if "stack.yaml" in signs.names:
        yield from _all("haskell", "stack.yaml", build="stack build", test="stack test")
    elif cabal or "cabal.project" in signs.names:
        source = cabal or "cabal.project"
        yield from _all("haskell", source, build="cabal build all", test="cabal test all")
    if "dune-project" in signs.names:
        yield from _all("ocaml", "dune-project", build="dune build", test="dune test")
    if "project.clj" in signs.names:
        yield from _all("clojure", "project.clj", build="lein compile", test="lein test")


def rust_programs(signs: Signs) -> Iterator[str]:
    """The programs of a crate, as `name (file)`."""
    manifest = signs.toml("Cargo.toml")
    programs = tables(manifest, "bin")
    for program in programs:
        path, name = at(program, "path"), at(program, "name")
        if isinstance(name, str):
            yield f"{name} ({path if isinstance(path, str) else f'src/bin/{name}.rs'})"
    name = table(manifest, "package").get("name")
    if "src/main.rs" in signs.names and isinstance(name, str) and not programs:
        yield f"{name} (src/main.rs)"


def _all(by: str, source: str, **lines: str) -> Iterator[Command]:
    kinds: tuple[CommandKind, ...] = ("build", "test")
    return (Command(kind, lines[kind], source, by) for kind in kinds)
