"""What direnv and mise export: which files, and which changes of them are undone."""

from pathlib import Path

import pytest

from localllm.sandbox.protect.dotenv_files import is_dotenv, is_harmless_dotenv, sourced_by
from localllm.sandbox.protect.revert import ProtectedFiles


@pytest.mark.parametrize(
    ("path", "content", "read"),
    [
        (".envrc", "dotenv", {".env"}),
        (".envrc", "dotenv_if_exists # mine\nlayout python", {".env"}),
        (".envrc", "dotenv .env.local", {".env.local"}),
        (".envrc", 'dotenv_if_exists "$PWD/conf/dev.env"', {"conf/dev.env"}),
        (".envrc", "source_env_if_exists .envrc.local; use flake", {".envrc.local"}),
        (".envrc", "set -a; source ./vars.sh; set +a", {"./vars.sh"}),
        (".envrc", "export $(grep -v '^#' .env | xargs)", {".env"}),
        (".envrc", "source .venv/bin/activate\nPATH_add bin", set[str]()),
        (".envrc", "export A=dotenv\nuse nix", set[str]()),
        ("sub/mise.toml", '[env]\n_.file = [".env", "conf/.env.dev"]', {".env", "conf/.env.dev"}),
        ("mise.toml", "[env]\nNODE_ENV = 'x'", set[str]()),
        ("Makefile", "include .env", set[str]()),
    ],
)
def test_what_is_read(path: str, content: str, read: set[str]) -> None:
    assert set(sourced_by(path, content.encode())) == read


def test_names() -> None:
    assert all(map(is_dotenv, (".env", "a/.env.local", ".ENV")))
    assert not any(map(is_dotenv, (".envrc", ".envrc.local", "dev.env", ".env/x")))


@pytest.mark.parametrize(
    "line",
    [
        "DB=sqlite",
        "export API_KEY='a $b `c`'",
        'URL="postgres://u:p@h/db?a=1&b=2"  # the database',
        "",
        "  # PATH=x",
        "NODE_ENV=development",
        "BROWSER=none",
        "PYTHONUNBUFFERED=1",
        "GIT_SHA=abc",
        "BASE_PATH=/api",
        "LOG_PATH=logs",
        "MAKER_ID=7",
        "VIMEO_TOKEN=x",
        "HISTORY_LIMIT=20",
        "START_COMMAND=run",
        "COLOR=abc#d",
        "COLOR=abc # d",
        "PORT=8000\r",
        "MAX_UPLOAD_MB=20",
        "USE_CACHE=true",
        "WORKERS=4",
        "VITE_API_BASE=/api",
        "NEXT_PUBLIC_SITE_NAME='My shop'",
        "DATABASE_URL=postgres://u:p@localhost:5432/shop",
        "SMTP_HOST=mail.example.com",
        "STRIPE_WEBHOOK_SECRET=whsec_1",
        "OPENAI_API_KEY=sk-1",
        "OPENAI_MODEL=gpt-4o-mini",
        "MAIL_FROM='Ann <a@b.example>'",
        "SITE_TITLE=会社",
        "ALLOWED_HOSTS=a,b",
    ],
)
def test_ordinary_lines_may_be_written(line: str) -> None:
    assert is_harmless_dotenv(b"A=1\n", f"A=1\n{line}\n".encode())


@pytest.mark.parametrize(
    "line",
    [
        "PROMPT_COMMAND='_direnv_hook; touch x'",
        "GIT_SSH_COMMAND=x",
        "export PATH=/tmp/x",
        "path=/tmp/x",
        "LD_PRELOAD=./x.so",
        "ENV=./x.sh",
        "BASH_ENV=x",
        "PS1=x",
        "PAGER=x",
        "GOPATH=x",
        "PKG_CONFIG_PATH=x",
        "MAKEFLAGS=-f x",
        "HISTFILE=x",
        "NODE_OPTIONS=--require=x",
        "PYTHONSTARTUP=x",
        "https_proxy=http://x",
        "A=$(touch x)",
        'A="`touch x`"',
        "A=1;touch x",
        "A=1 touch x",
        "A=1&PATH=x",
        'A="',
        "PATH: x",
        "touch x",
        "A=1\\",
        "A=1\r#;touch x",
        "A=1\x0c#;touch x",
        "A=1\x0b#;touch x",
        "A=1\x85#;touch x",
        "A=1\u2028#;touch x",
        "A=1\u00a0#;touch x",
        "A=1\u3000#;touch x",
        "A='1\r2'",
        "\u3000# x",
        "é=1",
        "ENV=development",
        "ENV=1",
        "LESSKEYIN=x",
        "LESSKEYIN=1",
        "GUILE_LOAD_PATH=1",
        "TAR_OPTIONS='--checkpoint-action=exec=x'",
        "_JAVA_OPTIONS=-javaagent:x",
        "DOTNET_STARTUP_HOOKS=x",
        "DBUS_SESSION_BUS_ADDRESS=unixexec:x",
        "SSLKEYLOGFILE=x",
        "HGMERGE=x",
        "NULLCMD=x",
        "R_PROFILE_USER=x",
        "YARN_YARN_PATH=x",
        "PUPPETEER_EXECUTABLE_PATH=x",
        "MPLBACKEND=module://x",
        "OPENAI_BASE_URL=http://x",
        "AZURE_OPENAI_ENDPOINT=http://x",
        "SOMETHING_NEW=x",
    ],
)
def test_what_programs_believe_may_not(line: str) -> None:
    assert not is_harmless_dotenv(b"A=1\n", f"A=1\n{line}\n".encode())
    assert is_harmless_dotenv(f"A=1\n{line}\n".encode(), f"B=2\n{line}\n".encode()), "it was there"


KEY = "KEY='begin\nabc\nend'\n"


@pytest.mark.parametrize(
    ("after", "is_harmless"),
    [
        (f"DB=x\n{KEY}PORT=1\n", True),
        ("DB=x\nPORT=1\n", True),
        ("KEY='begin\nNAME='a;touch x'\nabc\nend'\n", False),
        ("KEY='begin\nNAME='a;touch x'\n", False),
        (f"{KEY}abc\n", False),
        (f"{KEY}{KEY}", False),
    ],
)
def test_a_value_of_several_lines_stays_whole(after: str, is_harmless: bool) -> None:
    assert is_harmless_dotenv(f"A=1\n{KEY}".encode(), after.encode()) is is_harmless


@pytest.mark.parametrize("envrc", ["dotenv\n", "set -a; . .env\n"])
def test_a_command_may_write_it_but_not_what_is_believed(tmp_path: Path, envrc: str) -> None:
    root = tmp_path.resolve()
    (root / ".envrc").write_text(envrc)
    files = ProtectedFiles(root, None)
    for before, after, is_kept in (
        (None, "DB=sqlite\n", True),
        ("DB=sqlite\n", "DB=postgres\nDEBUG=1\n", True),
        ("DB=sqlite\n", "DB=sqlite\nPROMPT_COMMAND=x\n", False),
        (None, "GIT_SSH_COMMAND=x\n", False),
        ("DB=sqlite\n", None, True),
    ):
        (root / ".env").unlink(missing_ok=True)
        if before:
            (root / ".env").write_text(before)
        files.begin()
        assert not [path for path in files.pins()[0] if path.endswith("/.env")]
        (root / ".env").unlink(missing_ok=True)
        if after:
            (root / ".env").write_text(after)
        assert files.end() == (() if is_kept else (".env",))
        now = (root / ".env").read_text() if (root / ".env").exists() else None
        assert now == (after if is_kept else before)


def test_without_direnv_it_is_nobodys(tmp_path: Path) -> None:
    files = ProtectedFiles(tmp_path.resolve(), None)
    files.begin()
    (tmp_path / ".env").write_text("PROMPT_COMMAND=x\n")
    assert files.end() == ()
