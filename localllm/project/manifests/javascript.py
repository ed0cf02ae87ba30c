"""Commands of a JavaScript or TypeScript project."""

import re
from collections.abc import Iterator

from localllm.base.events import Json
from localllm.project.manifests.signs import Command, CommandKind, Signs, at, table

JAVASCRIPT = "javascript"
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "pnpm-workspace.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_NO_TEST = "no test specified"
_SCRIPTS: tuple[tuple[CommandKind, tuple[str, ...]], ...] = (
    ("test", ("test", "tests", "test:unit", "unit", "test:ci", "test:all", "spec")),
    ("build", ("build", "compile", "dist")),
    ("run", ("dev", "start", "serve", "develop")),
    ("lint", ("lint",)),
    ("lint", ("typecheck", "type-check", "tsc", "check-types", "types")),
)
"""The script names of each kind; the first that exists is used."""
_TASKS: tuple[tuple[CommandKind, str], ...] = (("build", "build"), ("run", "dev"), ("run", "start"), ("lint", "lint"))


def commands(signs: Signs) -> Iterator[Command]:
    """Yield the scripts of package.json, run by the detected package manager."""
    if "package.json" in signs.names:
        yield from _of_package(signs)
    if name := signs.has("deno.json", "deno.jsonc"):
        yield from _of_deno(signs, name)


def manager(signs: Signs) -> str:
    """Return the package manager: from package.json, else by the lock file, also further up; else npm."""
    said = at(signs.json("package.json"), "packageManager")
    if isinstance(said, str) and (match := re.match(r"(npm|yarn|pnpm|bun)@", said)):
        return match[1]
    for names in (signs.names, signs.above):
        for lock, name in _LOCKS.items():
            if lock in names:
                return name
    return "npm"


def _of_package(signs: Signs) -> Iterator[Command]:
    manifest = signs.json("package.json")
    scripts = table(manifest, "scripts")
    tool = manager(signs)
    for kind, names in _SCRIPTS:
        if name := next((name for name in names if _is_real(scripts.get(name))), ""):
            yield _command(kind, _script(tool, name), "package.json")
    yield from _of_all_packages(signs, tool, manifest)
    if tool == "bun" and not _is_real(scripts.get("test")) and any("test" in name for name in signs.names):
        yield _command("test", "bun test", "package.json")


def _is_real(script: Json) -> bool:
    """Whether a script exists and is not npm init's placeholder."""
    return isinstance(script, str) and bool(script.strip()) and _NO_TEST not in script


def _script(tool: str, name: str) -> str:
    if tool == "npm":
        return f"npm {name}" if name in ("test", "start") else f"npm run {name}"
    return f"bun run {name}" if tool == "bun" else f"{tool} {name}"


def _of_all_packages(signs: Signs, tool: str, manifest: Json) -> Iterator[Command]:
    """Yield the command that tests all packages of a workspace."""
    if "turbo.json" in signs.names:
        yield _command("test", "npx turbo run test", "turbo.json")
    elif "nx.json" in signs.names:
        yield _command("test", "npx nx run-many -t test", "nx.json")
    elif "lerna.json" in signs.names:
        yield _command("test", "npx lerna run test", "lerna.json")
    elif "pnpm-workspace.yaml" in signs.names:
        yield _command("test", "pnpm -r test", "pnpm-workspace.yaml")
    elif at(manifest, "workspaces"):
        everywhere = {
            "npm": "npm test --workspaces --if-present",
            "yarn": "yarn workspaces foreach -A run test"
            if ".yarnrc.yml" in signs.names
            else "yarn workspaces run test",
            "bun": "bun run --filter '*' test",
        }
        yield _command("test", everywhere.get(tool, "pnpm -r test"), "package.json")


def _of_deno(signs: Signs, name: str) -> Iterator[Command]:
    tasks = table(signs.json(name), "tasks")
    yield _command("test", "deno task test" if "test" in tasks else "deno test", name)
    for kind, task in _TASKS:
        if task in tasks:
            yield _command(kind, f"deno task {task}", name)
    if "lint" not in tasks:
        yield _command("lint", "deno lint", name)


def entry_points(signs: Signs) -> Iterator[str]:
    """Yield the installed programs, as `name (file)`, and the main file."""
    manifest = signs.json("package.json")
    programs, name = at(manifest, "bin"), at(manifest, "name")
    if isinstance(programs, str) and isinstance(name, str):
        yield f"{name.rsplit('/', 1)[-1]} ({programs})"
    for program, path in table(manifest, "bin").items():
        yield f"{program} ({path})"
    for key in ("main", "module"):
        if isinstance(path := at(manifest, key), str):
            yield path
            break


def _command(kind: CommandKind, line: str, source: str) -> Command:
    return Command(kind, line, source, JAVASCRIPT)
