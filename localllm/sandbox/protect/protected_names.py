"""List the files of a project that programs outside the sandbox trust, by the program that does.

`BELIEVED`: settings and programs that run although nobody starts the project's own code: when its folder is opened or
entered, a commit is made, another assistant reads it, or it is pushed. They are protected: see `protected_paths`. Text
that assistants obey is listed in `base/instruction_files`.

Left out, because the user knowingly starts the project's own code there: Makefile, package.json, .npmrc and
.pnpmfile.cjs, .pnp.cjs (every `yarn install` writes it), .pre-commit-config.yaml and lefthook.yml, build.rs,
conftest.py, the settings of linters, compilers and build tools. Also left out: what a shell sources only through a
plugin that asks first (zpm's .in and .out), .env where no .envrc or mise reads it (see `dotenv_files`), files that name
versions and are written all the time (.tool-versions, .nvmrc, .node-version, .sdkmanrc, .java-version, global.json),
and names that other source files have as well (startup.m of MATLAB).
"""

import msgspec

from localllm.sandbox.protect.interrupted_work import TRANSACTIONS


class Believer(msgspec.Struct, frozen=True):
    """A program, the event at which it trusts files of a project, and their names.

    Names are paths below the project or any folder in it; a folder stands for everything below it. The last component
    may begin with `*`.
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
            ".git/remotes",  # where git kept addresses long ago, and still looks for them
            ".git/branches",
            ".git/modules",
            ".git/worktrees",
            ".gitmodules",
        ),
    ),
    Believer("git daemon, cgit", "serving the folder around: they publish what has it", (".git/git-daemon-export-ok",)),
    Believer("Git LFS", "getting or pushing large files", (".lfsconfig",)),  # the server, and so who gets the password
    Believer("DVC", "getting or pushing data, also by its git hooks", (".dvc/config", ".dvc/config.local")),
    Believer("git-review", "pushing a change", (".gitreview",)),  # where to
    Believer(
        "git",
        "going on with what was interrupted",  # which changes are allowed: see `interrupted_work`
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
            ".hgsub",  # other repositories that every push goes to as well, and every update comes from
            ".hg/store/data/~2ehgsub.i",  # the same in commits: their versions of `.hgsub`, under the names that the
            ".hg/store/data/.hgsub.i",  # formats of the store have for it; `.hgsubstate` has versions alone
            ".hg/data/.hgsub.i",
            ".hg/histedit-state",  # the interrupted work, as a pickle, which runs code when it is read
            ".sl/histedit-state",
            ".jj/repo/config.toml",
            ".jj/repo/store/git_target",
            ".jj/workspace-config.toml",
            ".jj/repo/config-id",  # which settings in the home are the repository's, from jj 0.37 on
            ".jj/workspace-config-id",
            ".pijul/config",
            ".sl/config",
            ".sl/sharedpath",
            "_darcs/prefs/defaultrepo",  # where pushes go
            "_darcs/prefs/sources",
            "_darcs/prefs/defaults",
            "_darcs/prefs/prefs",
            "CVS/Root",
            ".bzr/branch/branch.conf",
            ".bzr/branch/location",  # another branch, with settings of its own
            ".bzr/branches",
            ".bzr/branch.conf",  # where formats without `.bzr/branch` keep it
            ".bzr/control.conf",
            ".p4config",
        ),
    ),
    Believer("Mercurial", "recovering an interrupted transaction, or rolling one back", TRANSACTIONS),
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
            "hermit.hcl",  # of hermit's folder `bin`: its variables are exported
            "activate-hermit",
        ),
    ),
    Believer(
        "ctags and GNU Global, also an editor's",
        "listing the definitions of the project: they write to any file, or load a library, that these name",
        (".ctags", ".ctags.d", "ctags.d/*.ctags", "gtags.conf"),
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
        "language servers of Rust, Haskell, Clojure and Python",
        "opening a file: they ask a command, or an interpreter, that these name",
        ("rust-analyzer.toml", "hie.yaml", ".lsp", ".jedi"),
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
            ".vim/coc-settings.json",  # a user's own folder for vim has more, which nothing reads in a project
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
"""The trusted settings and programs, by the program that trusts them."""
