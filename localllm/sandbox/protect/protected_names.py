"""List the files of a project that programs outside the sandbox trust, by the program that does.

`BELIEVED`: settings and programs that run although nobody starts the project's own code: when its folder is opened or
entered, a commit is made, another assistant reads it, or it is pushed. They are protected: see `protected_paths`. Text
that assistants obey is listed in `base/instruction_files`.

Left out, because the user knowingly starts the project's own code there: Makefile, package.json, .npmrc, bunfig.toml,
.pnpmfile.cjs, .pnp.cjs (every `yarn install` writes it), .pre-commit-config.yaml and lefthook.yml, build.rs,
conftest.py, the settings of linters, compilers and build tools (.bazelrc, .mvn, gradle.properties). Also left out: what
a shell sources only through a plugin that asks first (zpm's .in and .out), .env where no .envrc or mise reads it (see
`sourced_files`), files that name versions and are written all the time (.tool-versions but for a template: see
`content_rules`; .nvmrc, .node-version, .sdkmanrc, .java-version, global.json), what is daily work and lets a push
start no more than the code that is pushed (Procfile, app.json, wrangler.toml, fly.toml), what runs nothing
(CODEOWNERS, .clangd), programs that ask first (.luarc.json), names that other source files have as well (startup.m of
MATLAB), and what a program writes itself all the time, also while a command runs (.metals, .serena/cache).
"""

from localllm.sandbox.protect.believer import Believer
from localllm.sandbox.protect.interrupted_work import TRANSACTIONS
from localllm.sandbox.protect.mercurial_requirements import REQUIREMENTS
from localllm.sandbox.protect.names_at_a_push import OF_BOTS, ON_PUSH
from localllm.sandbox.protect.names_of_assistants import IN_ANY_HIDDEN_FOLDER, OF_ASSISTANTS, OF_WORK_TREES
from localllm.sandbox.protect.names_of_editors import EDITORS

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
            ".git/refs/replace",  # a commit shown as another one, but pushed as it is
            ".git/modules",
            ".git/worktrees",
            ".gitmodules",
        ),
    ),
    Believer("git daemon, cgit", "serving the folder around: they publish what has it", (".git/git-daemon-export-ok",)),
    Believer("Git LFS", "getting or pushing large files", (".lfsconfig",)),  # the server, and so who gets the password
    Believer("sentry-cli", "any command: who gets the user's token (`url`)", (".sentryclirc",)),
    Believer("DVC", "getting or pushing data, also by its git hooks", (".dvc/config", ".dvc/config.local")),
    Believer("DataLad", "getting data: which password goes to which address", (".datalad/providers",)),
    Believer(
        "git-fat, git-bigstore, clasp",  # git-fat also hands rsync the options that are in it, such as `--rsh`
        "pushing large files, or the code: where to",
        (".gitfat", ".bigstore", ".clasp.json"),
    ),
    Believer(
        "git-review, Git Town, git-cl, spr, git-subrepo, braid, git-ftp",
        "pushing a change: where to, and who gets the token",
        (
            ".gitreview",
            "git-town.toml",
            ".git-town.toml",
            ".git-branches.toml",
            "codereview.settings",
            ".spr.yml",
            ".spr.yaml",
            ".gitrepo",
            ".braids.json",
            ".git-ftp-config",
        ),
    ),
    Believer(
        "git",
        "going on with what was interrupted",  # which changes are allowed: see `interrupted_work`
        (
            ".git/BISECT_NAMES",
            ".git/BISECT_START",
            ".git/rebase-merge/author-script",
            ".git/rebase-apply/author-script",
            ".git/rebase-merge/git-rebase-todo",
            ".git/rebase-merge/strategy",
            ".git/rebase-merge/strategy_opts",
            ".git/rebase-merge/gpg_sign_opt",
            ".git/rebase-apply/apply-opt",
            ".git/rebase-apply/gpg_sign_opt",
            ".git/rebase-merge/update-refs",
            ".git/rebase-merge/refs-to-delete",
            ".git/rebase-merge/head-name",
            ".git/rebase-apply/head-name",
            ".git/rebase-merge/msgnum",
            ".git/rebase-merge/end",
            ".git/rebase-merge/done",
            ".git/rebase-apply/next",
            ".git/rebase-apply/last",
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
            ".bzr/branch/bound",  # where commits, pushes and pulls go in formats up to 5; commands can set the format
            ".bzr/branch/parent",
            ".bzr/branch/pull",
            ".bzr/branch/x-pull",
            ".bzr/bound",  # the same in formats without `.bzr/branch`
            ".bzr/parent",
            ".bzr/pull",
            ".bzr/x-pull",
            ".bzr/branches",
            ".bzr/branch.conf",  # where formats without `.bzr/branch` keep it
            ".bzr/control.conf",
            ".p4config",
            "p4config.txt",
            ".plastic/plastic.selector",
        ),
    ),
    Believer("Mercurial", "any command: extensions that it turns on", REQUIREMENTS),
    Believer("Mercurial", "recovering an interrupted transaction, or rolling one back", TRANSACTIONS),
    Believer(
        "tools around version control",
        "any command of theirs in the folder",
        (
            ".reviewboardrc",
            ".arcconfig",
            ".repo/repo",
            ".repo/manifest.xml",  # where `repo sync` fetches from, and `repo upload` sends changes to
            ".repo/manifests/*.xml",
            ".repo/local_manifest.xml",
            ".repo/local_manifests",
            ".gclient",
            ".gclient_entries",
            ".mrconfig",
        ),
    ),
    Believer(
        "lazygit, gh-dash, ungit",
        "being started in a repository: their pagers, commands and plugins",
        (".lazygit.yml", ".gh-dash.yml", ".gh-dash.yaml", ".ungitrc"),
    ),
    Believer(
        "sops, pass, passage, git-secret, git-agecrypt, blackbox",
        "encrypting a secret: who can read it then",
        (".sops.yaml", ".gpg-id", ".age-recipients", ".gitsecret/keys", "git-agecrypt.toml", ".blackbox"),
    ),
    Believer("pass", "any command, with extensions in the store turned on", (".extensions/*.bash",)),
    Believer("husky", "a commit", (".husky",)),
    Believer(
        "shell",
        "a shell whose home is the folder",
        (
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".bash_aliases",
            ".profile",
            ".inputrc",
            ".kshrc",
            ".mkshrc",
            ".cshrc",
            ".tcshrc",
            ".login",
            ".logout",
            ".config/fish",
            ".zshenv",
            ".zshrc",
            ".zprofile",
            ".zlogin",
            ".zlogout",
            ".zshenv.zwc",  # compiled, and taken instead where they are the newer ones
            ".zshrc.zwc",
            ".zprofile.zwc",
            ".zlogin.zwc",
            ".zlogout.zwc",
            ".xonshrc",
            ".yashrc",
            ".yash_profile",
            ".config/xonsh",
            ".config/nushell",
            ".config/elvish",
            ".config/powershell",
        ),
    ),
    Believer(
        "direnv, mise, autoenv, rvm, rbenv and its like, fnox, tfswitch",
        "entering the folder",
        (
            ".envrc",
            ".direnv/*.rc",  # nix-direnv sources its cache; the rest of the folder is an environment like .venv
            ".direnv/bin",
            "mise.toml",
            "mise.*.toml",  # of an environment or a system, which mise takes for trusted with the folder
            "mise/config.toml",
            "mise/config.*.toml",
            "mise/conf.d",
            ".mise.toml",
            ".mise.*.toml",
            ".mise",
            ".config/mise.toml",
            ".config/mise.*.toml",
            ".config/mise",
            ".miserc.toml",
            ".miserc.local.toml",
            ".config/miserc.toml",
            ".rtx.toml",
            ".autoenv",
            ".autoenv.leave",
            ".autoenv.zsh",
            ".autoenv_leave.zsh",
            ".rvmrc",
            ".versions.conf",
            ".ruby-env",
            ".rbenv-vars",  # exported at any command of Ruby, of Node.js, of Python
            ".nodenv-vars",
            ".pyenv-vars",
            ".phpbrewrc",
            ".prototools",
            ".shadowenv.d",
            "fnox.toml",
            "fnox.*.toml",
            ".fnox.toml",
            ".tfswitch.toml",  # the path that is written to
            ".tgswitch.toml",
            "hermit.hcl",  # of hermit's folder `bin`: its variables are exported
            "activate-hermit",
        ),
    ),
    Believer(
        "ctags and GNU Global, also an editor's",
        "listing the definitions of the project: they write to any file, or load a library, that these name",
        (".ctags", ".ctags.d", "ctags.d/*.ctags", "gtags.conf"),
    ),
    Believer(
        "ugrep, yt-dlp, Ledger, hledger, zk",
        "a search, a download or a question in the folder: they run, or write to, what these name",
        (".ugrep", "yt-dlp.conf", ".ledgerrc", "hledger.conf", ".zk/config.toml"),
    ),
    Believer("Midnight Commander", "showing the menu in the folder: its own commands", (".mc.menu",)),
    Believer(
        "knife, salt-ssh, the Azure CLI, go-jira",
        "any command: Ruby, a program, or where extensions come from",
        (".chef", "Saltfile", ".azure/config", ".jira.d"),
    ),
    Believer(
        "tmux-sessionizer, tmuxinator, tmuxp, smug",
        "opening a session in the folder",
        (
            ".tmux-sessionizer",
            ".tmuxinator.yml",
            ".tmuxinator.yaml",
            ".tmuxp.yaml",
            ".tmuxp.yml",
            ".tmuxp.json",
            ".smug.yml",
        ),
    ),
    Believer("rustup", "any command of cargo or rustc, also an editor's", ("rust-toolchain", "rust-toolchain.toml")),
    *EDITORS,
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
            "$irbrc",
            "irb.rc",
            ".ghci",
            ".ghcid",  # options of ghcid, also `--command`
            ".jdbrc",
            "jdb.ini",
            ".gnuplot",
            ".spiceinit",  # of ngspice, which has `shell COMMAND`
            "spice.rc",
            "xschemrc",  # of xschem: Tcl
            ".magicrc",  # of magic: Tcl
            ".cdsinit",  # of Virtuoso, as the next: SKILL
            ".simrc",
            ".synopsys_*.setup",  # of dc_shell and its like: Tcl
            ".Rprofile",
            ".radian_profile",
            "renv/activate.R",  # which nearly every `.Rprofile` sources that there is
            "packrat/init.R",
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
            ".singularrc",
            "scilab.ini",
            "profile.do",
            "autoexec.sas",
            "sasv9.cfg",
            ".matlab7rc.sh",
            "javaclasspath.txt",
            "javalibrarypath.txt",
            ".rootrc",
            ".rootlogon.C",
            "rootlogon.C",
            "rootalias.C",
            "rootlogoff.C",
            ".vmdrc",
            ".pymolrc",
            "pymolrc",
            ".pymolrc*.py",  # PyMOL runs them all
            ".pymolrc*.pym",
            ".pymolrc*.pml",
            ".pymolrc*.p1m",
            "pymolrc*.py",
            "pymolrc*.pym",
            "pymolrc*.pml",
            "pymolrc*.p1m",
            ".calcinit",
            ".harlequin.toml",
            "harlequin.toml",
            ".iredisrc",
            ".myclirc",
        ),
    ),
    Believer(
        "cargo, yarn, Corepack and Conan",
        "any command, also that of an editor which only asks what the project consists of",
        (
            ".corepack.env",  # where yarn and pnpm themselves come from, and whether their signatures are checked
            ".conanrc",
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
            "devfile.yaml",
            "devfile.yml",
            ".devfile.yaml",
            ".devfile.yml",
            ".devfile",
            ".ona",
            ".gitpod",
            ".gitpod.yml",
            ".codesandbox",
            ".idx",
            ".replit",
        ),
    ),
    Believer("continuous integration and deployment", "a push, with the secrets of the repository", ON_PUSH),
    Believer(
        "bots of a code host",
        "a push: what they merge and publish by themselves, with rights of the repository",
        OF_BOTS,
    ),
    Believer(
        "Python",
        "every start, of an environment in which a package of the project is worked on",
        (
            "sitecustomize.py",
            "sitecustomize",  # a folder is a module as well, and so are these
            "sitecustomize.pyc",
            "sitecustomize.so",
            "sitecustomize.*.so",
            "usercustomize.py",
            "usercustomize",
            "usercustomize.pyc",
            "usercustomize.so",
            "usercustomize.*.so",
        ),
    ),
    Believer("localllm", "being started in the folder", (".localllm", "localllm.toml")),
    Believer(
        "SearxNG, which localllm asks unasked",  # with the compose file beside them: see `compose_files`
        "a search: where its words go, and which addresses it finds",
        ("searxng/settings.yml", "searxng/limiter.toml"),
    ),
    Believer("other assistants", "being started in the folder: their settings name programs to run", OF_ASSISTANTS),
    Believer("any assistant", "being started in the folder: servers and hooks that it runs", IN_ANY_HIDDEN_FOLDER),
    Believer(
        "programs that start assistants in work trees",
        "making or removing one, in which they run commands of these",
        OF_WORK_TREES,
    ),
)
"""The trusted settings and programs, by the program that trusts them."""
