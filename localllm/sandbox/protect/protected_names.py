"""What of a project is believed by something outside the sandbox, with the program that believes it.

Two tables. `BELIEVED`: settings and programs that run although nobody starts the project's own code: because its folder
is opened or entered, a commit is made, another assistant looks at it, or it is pushed. They are protected: see
`protected`. `INSTRUCTIONS`: text that assistants obey. Honest work edits it and a checkout changes it, so it is
not undone; whoever lets it be changed is asked or told.

Left out, because the user starts the project's own code there, knowingly: Makefile, package.json and .npmrc,
.pnp.cjs (every `yarn install` writes it), .pre-commit-config.yaml and lefthook.yml, build.rs, conftest.py, the settings
of linters, compilers and build tools. Left out as well: what a shell sources only through a plugin that asks first
(.env, and zpm's .in and .out), what names versions alone (.tool-versions, .nvmrc), and names that other sources have as
well (startup.m of MATLAB).
"""

import os
from pathlib import Path

import msgspec

from localllm.base.files import real_path


class Believer(msgspec.Struct, frozen=True):
    """A program, when it believes what it finds, and under which names.

    Names are paths below the project or any folder in it; of a folder, all that is beneath. The last part may begin
    with `*`.
    """

    program: str
    when: str
    names: tuple[str, ...]


BELIEVED = (
    Believer(
        "git",
        "any command of git in the repository",
        (
            ".git/hooks",
            ".git/config",
            ".git/config.worktree",
            ".git/commondir",
            ".git/info/attributes",
            ".git/remotes",  # where it kept addresses long ago, and still looks for them
            ".git/branches",
            ".git/modules",
            ".git/worktrees",
            ".gitmodules",
        ),
    ),
    Believer("Git LFS", "getting or pushing large files", (".lfsconfig",)),  # where to, with the user's password
    Believer("git-review", "pushing a change", (".gitreview",)),  # where to
    Believer(
        "git",
        "going on with what was interrupted",  # what of these may change: see `unfinished_work`
        (
            ".git/BISECT_NAMES",
            ".git/rebase-merge/author-script",
            ".git/rebase-apply/author-script",
            ".git/rebase-merge/git-rebase-todo",
            ".git/rebase-merge/strategy",
            ".git/rebase-merge/strategy_opts",
            ".git/rebase-merge/gpg_sign_opt",
            ".git/rebase-apply/apply-opt",
            ".git/rebase-apply/gpg_sign_opt",
            ".git/sequencer/todo",
            ".git/sequencer/opts",
        ),
    ),
    Believer(
        "git",
        "reading objects, which then may be another repository's",
        (".git/objects/info/alternates", ".git/objects/info/http-alternates"),
    ),
    Believer(
        "other version control",
        "any command in the repository",
        (
            ".hg/hgrc",
            ".hg/hgrc-not-shared",
            ".hg/sharedpath",
            ".hg/histedit-state",  # what was interrupted, as a pickle, which is run when it is read
            ".sl/histedit-state",
            ".jj/repo/config.toml",
            ".jj/repo/store/git_target",
            ".jj/workspace-config.toml",
            ".pijul/config",
            ".sl/config",
            ".sl/sharedpath",
            "_darcs/prefs/defaults",
            "_darcs/prefs/prefs",
            "CVS/Root",
            ".bzr/branch/branch.conf",
            ".p4config",
        ),
    ),
    Believer(
        "tools around version control",
        "any command of theirs in the folder",
        (".reviewboardrc", ".arcconfig", ".repo/repo", ".gclient", ".gclient_entries"),
    ),
    Believer("husky", "a commit", (".husky",)),
    Believer(
        "shell",
        "a shell whose home is the folder",
        (
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".profile",
            ".zshenv",
            ".zshrc",
            ".zprofile",
            ".zlogin",
            ".zlogout",
        ),
    ),
    Believer(
        "direnv, mise, autoenv, rvm",
        "entering the folder",
        (
            ".envrc",
            ".direnv/*.rc",  # nix-direnv sources its cache; the rest of the folder is an environment like .venv
            ".direnv/bin",
            "mise.toml",
            "mise.local.toml",
            "mise/config.toml",
            "mise/config.local.toml",
            "mise/conf.d",
            ".mise.toml",
            ".mise.local.toml",
            ".mise",
            ".config/mise.toml",
            ".config/mise",
            ".rtx.toml",
            ".autoenv",
            ".autoenv.leave",
            ".autoenv.zsh",
            ".autoenv_leave.zsh",
            ".rvmrc",
            ".versions.conf",
            ".ruby-env",
            ".prototools",
        ),
    ),
    Believer("rustup", "any command of cargo or rustc, also an editor's", ("rust-toolchain", "rust-toolchain.toml")),
    Believer(
        "VS Code and its kin",
        "opening the folder",
        (".vscode", ".theia", ".vs", "*.code-workspace"),
    ),
    Believer(
        "JetBrains, Zed, Fleet, Nova, Helix, clients of a build server",
        "opening the folder",
        (".idea", "*.ipr", "*.iws", ".run", ".zed", ".fleet", ".nova", ".helix", ".bsp", "buildServer.json"),
    ),
    Believer(
        "Eclipse, and Java in other editors",
        "opening the project: its builders and annotation processors",
        (".project", ".externalToolBuilders", ".factorypath"),
    ),
    Believer("Lite XL, Lapce", "opening the folder", (".lite_project.lua", ".lapce")),
    Believer(
        "language servers of Haskell, Clojure and Python",
        "opening a file: they ask a command, or an interpreter, that these name",
        ("hie.yaml", ".lsp", ".jedi"),
    ),
    Believer(
        "vim and neovim",
        "opening a file",
        (
            ".exrc",
            "_exrc",
            ".vimrc",
            "_vimrc",
            ".gvimrc",
            "_gvimrc",
            ".lvimrc",
            ".nvimrc",
            ".nvim.lua",
            ".lazy.lua",
            ".neoconf.json",
            ".nlsp-settings",
            ".vim/coc-settings.json",  # a folder of somebody's own settings for vim has more, which nothing reads here
            ".ycm_extra_conf.py",
        ),
    ),
    Believer("Emacs", "opening a file", (".dir-locals.el", ".dir-locals-2.el")),
    Believer("Sublime Text, Kate", "opening the project", ("*.sublime-project", ".kateproject")),
    Believer(
        "debuggers and interactive interpreters",
        "being started in the folder",
        (
            ".gdbinit",
            ".lldbinit",
            ".pdbrc",
            ".perldb",
            ".pryrc",
            ".byebugrc",
            ".irbrc",
            "irbrc",
            "_irbrc",
            ".ghci",
            ".Rprofile",
            ".Renviron",
            ".RData",
            ".ocamlinit",
            ".octaverc",
            ".iex.exs",
            ".psysh.php",
            ".phpdbginit",
            ".valgrindrc",
            ".erlang",
            ".scilab",
            "scilab.ini",
            "profile.do",
            "autoexec.sas",
        ),
    ),
    Believer(
        "cargo and yarn",
        "any command, also that of an editor which only asks what the project consists of",
        (
            ".cargo/config",
            ".cargo/config.toml",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/releases",
            ".yarn/plugins",
            ".yarn/sdks",
        ),
    ),
    Believer(
        "development environments in containers and elsewhere",
        "opening the project",
        (
            ".devcontainer",
            ".devcontainer.json",
            ".gitpod",
            ".gitpod.yml",
            ".codesandbox",
            ".idx",
            ".replit",
        ),
    ),
    Believer(
        "continuous integration and deployment",
        "a push, with the secrets of the repository",
        (
            ".github/workflows",
            ".github/actions",
            ".gitea/workflows",
            ".gitea/actions",
            ".forgejo/workflows",
            ".forgejo/actions",
            ".gitlab-ci.yml",
            ".gitlab-ci",
            ".gitlab/ci",
            ".circleci",
            "Jenkinsfile",
            "azure-pipelines.yml",
            "azure-pipelines.yaml",
            ".azure-pipelines",
            ".azuredevops",
            "bitbucket-pipelines.yml",
            ".travis.yml",
            ".appveyor.yml",
            "appveyor.yml",
            ".cirrus.yml",
            ".cirrus.star",
            ".drone.yml",
            ".drone.star",
            ".drone.jsonnet",
            ".woodpecker",
            ".woodpecker.yml",
            ".woodpecker.yaml",
            ".buildkite",
            ".semaphore",
            ".teamcity",
            ".tekton",
            ".build.yml",
            ".builds",
            ".readthedocs.yaml",
            ".readthedocs.yml",
            "cloudbuild.yaml",
            "cloudbuild.yml",
            "buildspec.yml",
            "amplify.yml",
            "bitrise.yml",
            "codemagic.yaml",
            ".taskcluster.yml",
            ".zuul.yaml",
            ".zuul.d",
            "zuul.yaml",
            "zuul.d",
            ".onedev-buildspec.yml",
            "wercker.yml",
            ".scrutinizer.yml",
            "bamboo-specs",
            ".harness",
            ".buddy",
            "buddy.yml",
            ".prow.yaml",
            ".packit.yaml",
            ".packit.yml",
            "netlify.toml",
            "vercel.json",
            "heroku.yml",
            "render.yaml",
            "appspec.yml",
        ),
    ),
    Believer(
        "Python",
        "every start, of an environment in which a package of the project is worked on",
        ("sitecustomize.py", "usercustomize.py"),
    ),
    Believer("localllm", "being started in the folder", (".localllm", "localllm.toml")),
    Believer(
        "other assistants",
        "being started in the folder: their settings name programs to run",
        (
            ".mcp.json",
            ".claude",
            ".cursor",
            ".codex",
            ".gemini",
            ".aider.conf.yml",
            ".amazonq",
            ".amp",
            ".augment",
            ".cline",
            ".clinerules/hooks",
            ".clinerules/workflows",
            ".codebuddy",
            ".continue",
            ".continuerc.json",
            ".crush",
            ".crush.json",
            "conductor.json",
            "crush.json",
            ".factory",
            ".github/hooks",
            ".goose",
            "gptme.toml",
            ".grok",
            ".iflow",
            ".junie",
            ".kilocode",
            ".kiro",
            "opencode.json",
            "opencode.jsonc",
            ".opencode",
            ".openhands",
            ".pi",
            ".qwen",
            ".roo",
            ".roomodes",
            ".tabnine",
            ".trae",
            ".vibe",
            ".windsurf",
        ),
    ),
)
"""The settings and programs, by who believes them."""

INSTRUCTIONS = (
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.local.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "CODEBUDDY.md",
    "CODEX.md",
    "CRUSH.md",
    "GEMINI.md",
    "IFLOW.md",
    "JULES.md",
    "OpenCode.md",
    "QWEN.md",
    "replit.md",
    "WARP.md",
    ".aiderrules",
    ".augment-guidelines",
    ".clinerules",
    ".cursorrules",
    ".continuerules",
    ".goosehints",
    ".kilocoderules",
    ".openhands_instructions",
    ".roorules",
    ".rules",
    ".voidrules",
    ".windsurfrules",
    ".github/chatmodes",
    ".github/copilot-instructions.md",
    ".github/instructions",
    ".github/prompts",
    ".github/agents",
    ".github/skills",
    ".agent",
    ".agents",
)
"""The texts, named as above."""

_BY_MODE = (".clinerules-", ".roorules-")
"""How the names of texts for one mode of an assistant begin: `.roorules-code`."""

_INSTRUCTIONS = frozenset(name.casefold() for name in INSTRUCTIONS)


def is_instruction(relative_path: str) -> bool:
    """Whether a path below the project (`/` between its names) is, or lies beneath, a text that assistants obey."""
    parts = relative_path.casefold().split("/")
    return any(
        name in _INSTRUCTIONS or name.startswith(_BY_MODE)
        for start in range(len(parts))
        for name in (parts[start], "/".join(parts[start : start + 2]))
    )


def linked_instructions(root: Path) -> set[str]:
    """Find what those of the texts that are links, in the folder `root` itself, stand for; paths below it."""
    real = os.path.realpath(root)
    links = (f"{real}/{name}" for name in INSTRUCTIONS)
    targets = (real_path(link) for link in links if os.path.islink(link))  # noqa: PTH114 - strings
    return {target[len(real) + 1 :] for target in targets if target.startswith(f"{real}/")}
