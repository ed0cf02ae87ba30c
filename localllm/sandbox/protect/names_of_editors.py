"""List the files of a project that editors, and language servers in them, trust; see `protected_names`."""

from localllm.sandbox.protect.believer import Believer

EDITORS = (
    Believer(
        "VS Code and its kin",
        "opening the folder",
        (".vscode", ".theia", ".vs", "*.code-workspace", ".joyride"),
    ),
    Believer(
        "JetBrains, Zed, Fleet, Nova, Helix, clients of a build server",
        "opening the folder",
        (".idea", "*.ipr", "*.iws", ".run", ".zed", ".fleet", ".nova", ".helix", ".bsp", "buildServer.json"),
    ),
    Believer(
        "Eclipse, and Java in other editors",
        "opening the project: its builders, annotation processors, and what asks the compiler for its macros",
        (".project", ".cproject", ".externalToolBuilders", ".factorypath", ".settings/language.settings.xml"),
    ),
    Believer(
        "Lite XL, Pragtical, Lapce, TextMate",
        "opening the folder",
        (".lite_project.lua", ".pragtical_project.lua", ".lapce", ".tm_properties"),
    ),
    Believer("SciTE", "opening a file: a script that these name", ("SciTE.properties", "SciTEDirectory.properties")),
    Believer("KDevelop", "opening the project", (".kdev4", "*.kdev4")),
    Believer("Bloop, which Metals asks", "a change: it compiles with plugins that these name", (".bloop/*.json",)),
    Believer("Calva", "connecting to a REPL, and looking at a name: code that it evaluates", (".calva/config.edn",)),
    Believer("Jupytext", "opening a notebook or script: Python", (".jupytext.py",)),
    Believer(
        "Asciidoctor in an editor", "showing a document: extensions", (".asciidoctor/lib", ".asciidoctor/templates")
    ),
    Believer(
        "SFTP of Sublime Text, remote-ftp and remote-sync of Atom",
        "saving a file, which they send to the host that these name",
        ("sftp-config.json", "sftp-config-alt*.json", ".ftpconfig", ".remote-sync.json"),
    ),
    Believer(
        "Obsidian and Logseq",
        "opening the folder as notes: their plugins",
        (".obsidian/plugins", ".obsidian/community-plugins.json", "logseq/custom.js", "logseq/config.edn"),
    ),
    Believer(
        "language servers of many languages",
        "opening a file: they run a command, an interpreter or a plugin that these name",
        (
            "rust-analyzer.toml",
            "hie.yaml",
            ".hie-bios",
            "kls-classpath",
            "kls-classpath.sh",
            ".lsp",
            ".jedi",
            ".ropeproject/config.py",
            ".solargraph.yml",
            ".phpactor.json",
            ".phpactor.yml",
            ".merlin",
            ".tern-project",
            "ols.json",
            "c3lsp.json",
            "omnisharp.json",
            ".nixd.json",
            ".sourcekit-lsp",
            "protols.toml",  # README of protols: the paths of protoc and clang-format
            "veridian.yml",  # of verible and verilator
            ".svls.toml",  # README of svls: libraries that it loads
            ".emmyrc.json",  # of emmylua: `externalTool`, run when a file is formatted
            ".emmyrc.lua",
        ),
    ),
    Believer(
        "Ruby LSP, Sorbet, Steep",
        "opening the folder: Ruby, and options that name a program (srb: `--watchman-path`) or files to write",
        ("ruby_lsp/addon.rb", "sorbet/config", "Steepfile"),  # deeper add-ons: see `content_rules`
    ),
    Believer("Trunk Check", "a change of a file, with its service running", (".trunk",)),
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
            ".local.vimrc",
            "_vimrc_local.vim",
            ".nvimrc",
            ".nvim.lua",
            ".nvim-dap.lua",
            ".nvim-dap/nvim-dap.lua",
            ".nvim/nvim-dap.lua",
            ".lazy.lua",
            ".neoconf.json",
            ".nlsp-settings",
            ".vim-lsp-settings",  # of vim-lsp: arguments of language servers, and programs that these run
            ".vim/coc-settings.json",  # a user's own folder for vim has more, which nothing reads in a project
            ".ycm_extra_conf.py",
            "Session.vim",
        ),
    ),
    Believer(
        "Emacs",
        "opening a file, or starting where it was left",
        (".dir-locals.el", ".dir-locals-2.el", ".emacs.desktop"),
    ),
    Believer("Sublime Text, Kate", "opening the project", ("*.sublime-project", ".kateproject", ".kateproject.local")),
)
"""Programs and settings that run when a folder, project or file is opened, or when one is saved."""
