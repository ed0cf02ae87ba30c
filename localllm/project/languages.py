"""What files are written in, by their names, and which of them are nobody's own work."""

import re
from pathlib import PurePosixPath

_SUFFIXES: dict[str, tuple[str, ...]] = {
    "Ada": (".adb", ".ads"), "Assembly": (".asm", ".s"), "Astro": (".astro",), "Blade": (".blade.php",),
    "C": (".c",), "C#": (".cs", ".csx"), "C++": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp"),
    "Clojure": (".clj", ".cljs", ".cljc", ".edn"), "CUDA": (".cu", ".cuh"), "Cython": (".pyx", ".pxd"),
    "Dart": (".dart",), "Elixir": (".ex", ".exs", ".heex"), "Elm": (".elm",), "Erlang": (".erl", ".hrl"),
    "F#": (".fs", ".fsx"), "Fortran": (".f", ".f90", ".f95", ".for"), "GDScript": (".gd",), "Go": (".go",),
    "GraphQL": (".graphql", ".gql"), "Groovy": (".groovy",), "Haskell": (".hs", ".lhs"), "HCL": (".tf", ".hcl"),
    "HTML": (".html", ".htm"), "CSS": (".css",), "SCSS": (".scss", ".sass", ".less"), "Java": (".java",),
    "JavaScript": (".js", ".mjs", ".cjs", ".jsx"), "Julia": (".jl",), "Jupyter Notebook": (".ipynb",),
    "Kotlin": (".kt", ".kts"), "Lua": (".lua",), "MATLAB": (".m",), "Nim": (".nim",), "Nix": (".nix",),
    "Objective-C": (".mm",), "OCaml": (".ml", ".mli"), "Perl": (".pl", ".pm", ".t"), "PHP": (".php", ".phtml"),
    "PowerShell": (".ps1", ".psm1"), "Protocol Buffers": (".proto",), "Python": (".py", ".pyi", ".pyw"),
    "R": (".r", ".rmd"), "Ruby": (".rb", ".rake", ".gemspec", ".erb"), "Rust": (".rs",), "Scala": (".scala", ".sbt"),
    "Shell": (".sh", ".bash", ".zsh", ".fish"), "Solidity": (".sol",), "SQL": (".sql",), "Svelte": (".svelte",),
    "Swift": (".swift",), "TeX": (".tex", ".sty"), "TypeScript": (".ts", ".mts", ".cts", ".tsx"), "Vim": (".vim",),
    "Visual Basic": (".vb",), "VHDL": (".vhd", ".vhdl"), "Verilog": (".v", ".sv"), "Vue": (".vue",), "Zig": (".zig",),
    "Batch": (".bat", ".cmd"), "Tcl": (".tcl",), "Awk": (".awk",), "Lisp": (".lisp", ".el", ".scm", ".rkt"),
}  # fmt: skip
_BY_SUFFIX = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes}
_BY_NAME = {
    "Gemfile": "Ruby",
    "Rakefile": "Ruby",
    "Vagrantfile": "Ruby",
    "Makefile": "Makefile",
    "makefile": "Makefile",
    "GNUmakefile": "Makefile",
    "CMakeLists.txt": "CMake",
    "Dockerfile": "Dockerfile",
    "Jenkinsfile": "Groovy",
    "SConstruct": "Python",
}
BESIDE_CODE = frozenset({"HTML", "CSS", "SCSS", "Makefile", "CMake", "Dockerfile", "Batch", "Jupyter Notebook", "HCL"})
"""Languages that tell what a project is only where there is no other."""

_FOREIGN = re.compile(
    r"(?:^|/)(?:vendor|vendored|_vendor|third[_-]party|3rdparty|external|node_modules|bower_components|site-packages|Pods"
    r"|dist|\.yarn|testdata|fixtures|__snapshots__|__generated__)/"
    r"|(?:\.min\.(?:js|css)|[._-]bundle\.js|\.pb\.go|_pb2(?:_grpc)?\.pyi?|\.g\.dart|\.designer\.cs|\.generated\.\w+)$"
)
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|t|examples|docs?|evals?|bench(?:marks?)?)/|^example/"
    r"|(?:^|/)(?:test_|conftest)[^/]*$|[_.](?:test|spec)\.\w+$|Tests?\.\w+$"
)
NEVER_PART = tuple(
    """
    bower_components .venv venv .tox .nox .mypy_cache .ruff_cache .pytest_cache .gradle .next .nuxt .svelte-kit .turbo
    .terraform .eggs *.egg-info *.dist-info *.pyc
    """.split()
)
"""Folders that tools make and nobody writes in; patterns as in .gitignore."""


def language_named(path: str) -> str:
    """The language of a file; "" for what is no code. A .h is taken for C."""
    name = path.rsplit("/", 1)[-1]
    if known := _BY_NAME.get(name):
        return known
    suffixes = PurePosixPath(name).suffixes
    return _BY_SUFFIX.get("".join(suffixes[-2:]).lower()) or (
        _BY_SUFFIX.get(suffixes[-1].lower(), "C" if suffixes[-1].lower() == ".h" else "") if suffixes else ""
    )


_INTERPRETERS = {
    "Shell": r"(?:ba|da|k|z)?sh",
    "Python": r"python[\d.]*",
    "Perl": r"perl",
    "Ruby": r"ruby",
    "JavaScript": r"node|deno|bun",
    "PHP": r"php",
    "Awk": r"[gm]?awk",
    "Lua": r"lua(?:jit)?",
    "Tcl": r"tclsh|wish|expect",
    "R": r"Rscript",
}


def may_be_script(path: str) -> bool:
    """Whether only the first line of a file can tell what it is written in."""
    name = path.rsplit("/", 1)[-1]
    return "." not in name and name not in _BY_NAME and not name.isupper()


def language_started(data: bytes) -> str:
    """The language of a script by its `#!` line; "" where there is none."""
    if not data.startswith(b"#!"):
        return ""
    words = data[:200].split(b"\n")[0].decode("ascii", "replace")[2:].split()
    names = [word.rsplit("/", 1)[-1] for word in words if not word.startswith("-")]
    program = names[1] if names[:1] == ["env"] and len(names) > 1 else next(iter(names), "")
    return next((language for language, names in _INTERPRETERS.items() if re.fullmatch(names, program)), "")


def is_test(path: str) -> bool:
    """Whether a file is a test, an example, or belongs to them: what it imports may be all kinds of things."""
    return _TEST.search(path) is not None


def is_foreign(path: str) -> bool:
    """Whether a file was copied from elsewhere, made by a program, or is data for tests."""
    return _FOREIGN.search(path) is not None
