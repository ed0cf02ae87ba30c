#!/usr/bin/env python3
"""Make .venv with the pinned packages of constraints.txt, every file checked against its hash, and this project.

    python3 scripts/setup.py          what localllm needs to run, and a link to it in ~/.local/bin
    python3 scripts/setup.py --dev    what its tests and checks need as well, and no link
    python3 scripts/setup.py --dev --bench    and what its benchmarks count tokens with

Needs nothing but Python, 3.11 or newer. May be run again at any time: what is there already is kept, a half-made
.venv is made anew. Says what it does on stderr, so that stdout stays empty.
"""

from __future__ import annotations  # so that an older Python reads as far as the message about its age

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
UNFINISHED = VENV / "installing.txt"
OLDEST = (3, 11)
ENTRY = re.compile(r"^\w.*\n(?:[ \t].*\n)*", re.M)
PARENT = re.compile(r"^ +#(?: via)? +([\w.-]+)", re.M)


def main() -> None:
    parser = argparse.ArgumentParser(description="Make .venv with the pinned packages and this project.")
    parser.add_argument("--dev", action="store_true", help="also install what the tests and checks need")
    parser.add_argument("--bench", action="store_true", help="also install what the benchmarks count tokens with")
    arguments = parser.parse_args()
    if sys.version_info < OLDEST:
        sys.exit(f"localllm needs Python 3.11 or newer; this is {sys.version.split()[0]}.{newer_ones()}")
    if not healthy():
        make_venv()
    pinned = select((ROOT / "constraints.txt").read_text("utf-8"), roots(dev=arguments.dev, bench=arguments.bench))
    install(pinned)
    compile_package()
    say("Ready: .venv/bin/localllm" if arguments.dev or os.name == "nt" else link_program(os.environ.get("PATH", "")))


def newer_ones() -> str:
    """A sentence on the newer Pythons of this machine; nothing where there is none."""
    names = [name for name in (f"python3.{minor}" for minor in range(11, 20)) if shutil.which(name)]
    found = [
        name for name in names if subprocess.run([name, "-c", ""], capture_output=True, check=False).returncode == 0
    ]
    return f" Here there is: {', '.join(found)}." if found else ""


def healthy() -> bool:
    """Whether .venv holds a Python new enough and a working pip, and no earlier run broke off while installing."""
    if UNFINISHED.exists() or not PYTHON.exists():
        return False
    probes = (["-c", f"import sys; sys.exit(sys.version_info < {OLDEST})"], ["-m", "pip", "--version"])
    return all(subprocess.run([PYTHON, *p], capture_output=True, check=False).returncode == 0 for p in probes)


def make_venv() -> None:
    say(f"Making .venv with Python {sys.version.split()[0]}")
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    made = subprocess.run(command, env=environment(), stdout=sys.stderr, check=False)
    if made.returncode or not healthy():
        sys.exit("Could not make .venv. On Debian and Ubuntu: apt install python3-venv; else see the message above.")


def roots(*, dev: bool, bench: bool = False) -> set[str]:
    """The names this project itself asks for; its build tool too, which is pinned like everything else."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = project["build-system"]["requires"] + project["project"]["dependencies"]
    for extra in ["dev"] * dev + ["bench"] * bench:
        wanted += project["project"]["optional-dependencies"][extra]
    return {normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in wanted}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def select(constraints: str, wanted: set[str]) -> str:
    """The entries of `constraints` that `wanted` and what they need in turn ("# via" names who needs an entry)."""
    entries = {}
    for entry in ENTRY.findall(constraints):  # a package has several where its version depends on the Python
        name = normal(entry.split("==")[0])
        entries[name] = entries.get(name, "") + entry
    missing = sorted(wanted - entries.keys())
    if missing:
        sys.exit(f"constraints.txt lacks {', '.join(missing)}; run scripts/constraints.py.")
    needed_by = {name: set(map(normal, PARENT.findall(entry))) for name, entry in entries.items()}
    chosen = set(wanted)
    while True:
        more = {name for name, parents in needed_by.items() if parents & chosen} - chosen
        if not more:
            break
        chosen |= more
    return "".join(entries[name] for name in sorted(chosen))


def install(pinned: str) -> None:
    """Install the entries `pinned` with hash checking, then this project itself, in place and without network."""
    say(f"Installing {pinned.count('==')} pinned packages into .venv")
    UNFINISHED.write_text(pinned, "utf-8")
    # without its resolver: the list is whole, and older pips stumble over the two spellings of an extra in it
    if pip("--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", str(UNFINISHED)):
        sys.exit(
            "The pinned packages could not be installed: see pip's message above. If it speaks of connections,\n"
            "check the network, the proxy (HTTPS_PROXY) or pip's index settings, then run this again."
        )
    UNFINISHED.unlink()
    if pip("--no-index", "--no-deps", "--no-build-isolation", "-e", str(ROOT)):
        sys.exit("The project itself could not be installed: see pip's message above.")


def compile_package() -> None:
    """Write the package's bytecode, so that the first start is as fast as any, where Python may not write it itself."""
    command = [str(PYTHON), "-m", "compileall", "-q", str(ROOT / "localllm")]
    subprocess.run(command, env=environment(), stdout=sys.stderr, check=False)


def link_program(search_path: str) -> str:
    """Link the program into ~/.local/bin unless something else is there; what to say of it.

    A link that leads here is ours, and one that leads nowhere is nobody's.
    """
    program, link = VENV / "bin/localllm", Path.home() / ".local/bin/localllm"
    is_other = os.path.lexists(link) and (not link.is_symlink() or (link.exists() and not link.samefile(program)))
    if is_other:
        return f"Ready: .venv/bin/localllm ({link} is another program and stays)"
    try:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    except OSError as error:
        return f"Ready: .venv/bin/localllm ({link}: {error.strerror})"
    if str(link.parent) in search_path.split(os.pathsep):
        return "Ready: localllm"
    return (
        f"Ready: {link}\nYour shell does not look there yet. In its start file (~/.profile, ~/.zshrc), and here:\n"
        'export PATH="$HOME/.local/bin:$PATH"'
    )


def pip(*arguments: str) -> int:
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", *arguments]
    return subprocess.run(command, env=environment(), stdout=sys.stderr, check=False).returncode


def environment() -> dict[str, str]:
    """Ours without what would make pip install elsewhere; index and proxy settings stay."""
    elsewhere = {"PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT"}
    return {**{name: value for name, value in os.environ.items() if name not in elsewhere}, "PIP_USER": "0"}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
