"""E1xxx: the settings, the command line, and the stored data of projects and sessions."""

from localllm.base.error_texts.text import ErrorText

SETTINGS = {
    "config_unreadable": ErrorText(
        "E1001", "Cannot read {file}.", "{reason}.", "Make the file readable, or move it away."
    ),
    "script_unreadable": ErrorText("E1038", "Cannot read {file}.", "{reason}.", "Correct the path."),
    "config_bad_toml": ErrorText("E1002", "{file}:{line}: not valid TOML.", "{reason}.", "Correct that line."),
    "config_unknown_key": ErrorText("E1003", "{where}: unknown setting “{key}”.", "", "{hint}"),
    "config_wrong_type": ErrorText("E1004", "{where}: “{key}” is {got}.", "It must be {expected}.", "{hint}"),
    "config_secret_in_file": ErrorText(
        "E1005",
        "{where}: “{key}” holds a secret.",
        "Secrets are never read from settings files.",
        "Remove the value and set the environment variable {variable}.",
    ),
    "config_unwritable": ErrorText(
        "E1006",
        "Cannot write {file}.",
        "{reason}.",
        "Nothing was changed; check the folder's permissions and free space.",
    ),
    "project_folder_unusable": ErrorText(
        "E1007", "Cannot use {folder}.", "{reason}.", "Long output is kept there: make it a writable folder."
    ),
    "work_folder_unusable": ErrorText(
        "E1035",
        "The work folder {folder} cannot be used.",
        "{reason}.",
        "Make it a writable folder, or name another: --work-dir DIR, or research.work_dir in your settings.",
    ),
    "work_folder_link": ErrorText(
        "E1036",
        "The work folder {folder} cannot be used.",
        "{link} is a link that leads elsewhere; a command that a model ran may have made it.",
        "Remove the link; if it is yours, name the folder its target is in: --work-dir DIR, or research.work_dir in "
        "your settings.",
    ),
    "network_host_invalid": ErrorText(
        "E1026",
        "safety.network_hosts: “{entry}” is not a host.",
        "",
        'Write "pypi.org", "*.example.org", "host:port", or an address and port such as "127.0.0.1:8080".',
    ),
    "usage_no_prompt": ErrorText(
        "E1010", "There is nothing to do.", "The prompt is empty.", 'Write what you want, as in localllm -p "…".'
    ),
    "usage_no_folder": ErrorText(
        "E1034", "The current folder no longer exists.", "", "Change to one that exists: cd ~, for instance."
    ),
    "no_home": ErrorText(
        "E1039",
        "There is no home folder.",
        "Neither HOME nor the system's list of users names one.",
        "Set the environment variable HOME to a folder of your own.",
    ),
    "input_not_text": ErrorText(
        "E1013", "Standard input is not text.", "Its encoding is not recognised.", "Pipe in text, such as UTF-8."
    ),
    "script_invalid": ErrorText(
        "E1011", "{file}: not a script of turns.", "{reason}.", "See docs/scripted.md for the format."
    ),
    "provider_unknown": ErrorText("E1012", "There is no provider “{provider}”.", "", "Known providers: {known}."),
    "internal": ErrorText(
        "E1090",
        "Something went wrong inside localllm: {reason}.",
        "This is a bug in localllm.",
        "The details are in {log}.",
    ),
    "own_folder_closed": ErrorText(
        "E1086",
        "localllm cannot use its own {path}: {reason}.",
        "It belongs to somebody else, or is closed to you.",
        "Give it back to yourself (chown, chmod u+rwX), also the folders above it; or set LOCALLLM_STATE_DIR.",
    ),
    "llm_address_unusable": ErrorText(
        "E1014",
        "The address of the model server, “{address}”, cannot be used.",
        "{reason}.",
        "Correct llm.{provider}.base_url, as in http://localhost:1234.",
    ),
    "llm_key_unusable": ErrorText(
        "E1015",
        "The key in the environment variable {variable} cannot be used.",
        "It holds characters other than printable ASCII.",
        "Set {variable} again, to the key alone.",
    ),
    "rule_malformed": ErrorText(
        "E1016",
        "{setting}: “{rule}” is not a rule.",
        (
            "A rule is a tool, run_command(the first words of a plain command), or a tool with a "
            "path below the project such as edit_file(docs/); there are no wildcards."
        ),
        "Correct the rule.",
    ),
    "rule_leads_out": ErrorText(
        "E1037",
        "{setting}: the rule “{rule}” leads out of the project, to {target}.",
        "A project that is not trusted closes nothing outside it: every command may need what is there.",
        "Remove the rule or the link, or, if you want it closed, put the rule into your own settings.",
    ),
    "rule_unknown_tool": ErrorText(
        "E1017", "{setting}: the tool of the rule “{rule}” does not exist.", "", "Did you mean {nearest}?"
    ),
    "rule_example_failed": ErrorText(
        "E1025",
        "safety.rules: the rule {rule} ({decision}) {happened}: “{example}”.",
        "The examples in `match` and `not_match` are checked at every start.",
        "Correct the rule or the example.",
    ),
    "workspace_unusable": ErrorText(
        "E1018", "{folder} cannot be set up.", "{reason}.", "Choose a writable folder with free disk space."
    ),
    "workspace_in_the_way": ErrorText(
        "E1019",
        "{path} is in the way.",
        "It is not the kind of file or folder that belongs there.",
        "Move it away, then try again.",
    ),
    "workspace_unfinished": ErrorText(
        "E1021",
        "{folder} is only half set up: {reason}.",
        "Renamed, not lost: {places}.",
        "Fix the cause and run localllm init again, or rename these back.",
    ),
    "init_needs_yes": ErrorText(
        "E1020",
        "--clear was not carried out: nobody is there to confirm it.",
        "It would rename {names}.",
        "Add --yes if that is what you want.",
    ),
    "llm_setting_missing": ErrorText(
        "E1022",
        "The provider {provider} needs {setting}.",
        "It is empty.",
        "Set it, as in {example}: localllm config set {setting} VALUE.",
    ),
    "llm_endpoint_unusable": ErrorText(
        "E1024", "The endpoint “{endpoint}” cannot be used.", "{reason}.", "Correct {setting}, as in {example}."
    ),
    "llm_key_missing": ErrorText(
        "E1023",
        "The provider {provider} needs a key.",
        "The environment variable {variable} is not set.",
        "Set {variable} (or {other}) to the key.",
    ),
    "memory_unusable": ErrorText("E1701", "Cannot use {file}.", "{reason}.", "It was left as it is. {fix}"),
    "memory_unreachable": ErrorText(
        "E1702", "Cannot read or write {file}.", "{reason}.", "Nothing was changed; check permissions and free space."
    ),
    "memory_read_only": ErrorText(
        "E1705",
        "{file} cannot be changed: {reason}.",
        "It can be read, but nothing in this project can be written.",
        "To save notes, work in a writable copy of the project.",
    ),
    "memory_busy": ErrorText(
        "E1703", "Cannot change {file} now.", "{reason}.", "Nothing was lost. Try again in a moment."
    ),
    "memory_layout": ErrorText(
        "E1704",
        "The section's layout does not allow this change.",
        "{reason}.",
        "Nothing was changed. Edit the file by hand, or fix the list: one item per line, each starting with “- ”.",
    ),
    "memory_unknown": ErrorText(
        "E8701",
        "There is no “{wanted}” in the notes.",
        "{near}",
        "Give an id, a number from the list, or the beginning of the text.",
    ),
    "memory_vague": ErrorText(
        "E8707",
        "“{wanted}” is too short to tell what to remove.",
        "It could mean {names}.",
        "Give the id, or more of the text.",
    ),
    "memory_two_priorities": ErrorText(
        "E8708", "“{text}” has two priorities: {first} and {second}.", "", "Give one of them. Nothing was changed."
    ),
    "memory_secret": ErrorText(
        "E8709",
        "“{text}” seems to contain a key or a password.",
        "The notes are a file in the project that the model reads. Nothing was saved.",
        "Note where it is stored instead, such as the name of a variable.",
    ),
    "memory_ambiguous": ErrorText("E8702", "“{wanted}” matches several.", "{names}.", "Give the id."),
    "memory_text_empty": ErrorText(
        "E8703", "There is nothing to save.", "The first line of the text has no letter or digit.", "Give some text."
    ),
    "memory_too_many": ErrorText(
        "E8705",
        "That would be {count} TODOs at once.",
        "At most {limit} can be added at once.",
        "Use a part of it, such as one section.",
    ),
    "todo_file_unreadable": ErrorText(
        "E8706",
        "“{file}” cannot be read as a plan.",
        "{reason}.",
        "Give a text file of up to {limit:,} bytes, or write the task itself.",
    ),
    "memory_bad_kind": ErrorText("E8704", "“{value}” is not a possible value.", "", "One of: {choices}."),
    "session_unknown": ErrorText("E1750", "There is no session “{wanted}” in this project.", "", "{hint}"),
    "session_ambiguous": ErrorText(
        "E1751", "“{wanted}” matches several sessions.", "{names}.", "Give more of its name."
    ),
    "session_none": ErrorText(
        "E1752",
        "There is no session to continue.",
        "Nothing has been said in this project yet.",
        "Start one: localllm.",
    ),
    "session_open": ErrorText(
        "E1753",
        "The session {id} is open in another program.",
        "Two programs writing to one conversation would corrupt it.",
        "Leave it there, or continue with a copy: /fork in that chat, then /resume here.",
    ),
    "session_undeletable": ErrorText(
        "E1763", "The session {id} cannot be deleted.", "{reason}.", "It is still there; fix that first."
    ),
    "session_unreadable": ErrorText(
        "E1754", "The session {id} cannot be read.", "{reason}.", "Start a new one: localllm."
    ),
    "session_is_this": ErrorText("E1755", "That is the session you are in."),
    "session_empty": ErrorText(
        "E1756",
        "Nothing of this session has been saved yet.",
        "Nothing has been said so far.",
        "It is saved from your first request on: say something first.",
    ),
    "session_unkept": ErrorText(
        "E1764", "This session is not being saved.", "{reason}.", "Fix that and restart localllm."
    ),
    "session_unwritable": ErrorText(
        "E1757", "Cannot write {file}.", "{reason}.", "Check that its folder is there, its permissions, and free space."
    ),
    "export_exists": ErrorText(
        "E1758",
        "{file} already exists.",
        "",
        "Give another name, or remove it first; localllm history export --force replaces it.",
    ),
    "export_unknown": ErrorText(
        "E1762",
        "It cannot be exported as “{wanted}”.",
        "A session can be exported as md, html or json; a report also as pdf.",
        "Use one of these, or a file name with that ending, such as notes.md.",
    ),
    "copy_nothing": ErrorText("E1765", "There is no answer to copy yet."),
    "copy_no_block": ErrorText(
        "E1766",
        "The last answer has no code block {wanted}.",
        "Its code blocks: {count}.",
        "/copy copies the whole answer.",
    ),
    "copy_too_long": ErrorText(
        "E1767",
        "That is too long for the clipboard of the terminal.",
        "It has {size} characters in base64; terminals take {most}.",
        "/copy N copies one code block; /export writes the session to a file.",
    ),
    "copy_nowhere": ErrorText(
        "E1768",
        "No clipboard can be reached from here.",
        "This terminal has none, and no program for it was found (wl-copy, xclip, xsel).",
        "/export writes the session to a file.",
    ),
    "copy_plain": ErrorText(
        "E1769",
        "Nothing was copied.",
        "The output is plain: no terminal, TERM=dumb or ui.theme.",
        "/export writes the session to a file.",
    ),
    "session_nothing_before": ErrorText(
        "E1761", "Nothing was said before checkpoint {point}.", "", "/clear starts a new conversation."
    ),
    "history_needs_yes": ErrorText(
        "E1760", "Nobody is there to confirm that these sessions may be deleted.", "", "Add --yes."
    ),
    "session_no_point": ErrorText("E1759", "The session has no checkpoint “{wanted}”.", "", "To list them: /rewind."),
}
