"""E1xxx: the settings, the command line, and the stored data of projects and sessions."""

from localllm.base.error_texts.text import ErrorText

SETTINGS = {
    "config_unreadable": ErrorText(
        "E1001", "Cannot read {file}.", "{reason}.", "Make the file readable, or move it away."
    ),
    "config_bad_toml": ErrorText("E1002", "{file}:{line}: not valid TOML.", "{reason}.", "Correct that line."),
    "config_unknown_key": ErrorText("E1003", "{where}: unknown setting “{key}”.", "", "{hint}"),
    "config_wrong_type": ErrorText(
        "E1004", "{where}: “{key}” is {got}.", "It must be {expected}.", "Correct the value."
    ),
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
        "{link} is a link, which leads elsewhere; a command that a model has run may have made it.",
        "Remove the link; if it is yours, name the folder its target is in: --work-dir DIR, or research.work_dir in "
        "your settings.",
    ),
    "network_host_invalid": ErrorText(
        "E1026",
        "safety.network_hosts: “{entry}” is not a host.",
        "",
        ('Write "pypi.org", "*.example.org", "host:port", or an address and port such as "127.0.0.1:8080".'),
    ),
    "usage_no_prompt": ErrorText(
        "E1010", "There is nothing to do.", "The prompt is empty.", 'Write what you want, as in localllm -p "…".'
    ),
    "usage_no_folder": ErrorText(
        "E1034", "The folder this was started in is gone.", "", "Change to one that is there: cd ~, for instance."
    ),
    "input_not_text": ErrorText(
        "E1013", "Standard input is not text.", "Its bytes are in no encoding known here.", "Pipe text, such as UTF-8."
    ),
    "script_invalid": ErrorText(
        "E1011", "{file}: not a script of turns.", "{reason}.", "See docs/scripted.md for the format."
    ),
    "provider_unknown": ErrorText("E1012", "There is no provider “{provider}”.", "", "Known providers: {known}."),
    "internal": ErrorText(
        "E1090",
        "Something went wrong inside localllm: {reason}.",
        "This is a fault of the program.",
        "The details are in {log}.",
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
        "E1018", "{folder} cannot be set up.", "{reason}.", "Choose a folder you may write to, with room on its disk."
    ),
    "workspace_in_the_way": ErrorText(
        "E1019",
        "{path} is in the way.",
        "It is neither a file nor a folder of the kind that belongs there.",
        "Move it away, then try again.",
    ),
    "workspace_unfinished": ErrorText(
        "E1021",
        "{folder} is only half set up: {reason}.",
        "Renamed, and not lost: {places}.",
        "Remove the cause and run localllm init again, or rename these back.",
    ),
    "init_needs_yes": ErrorText(
        "E1020",
        "--clear was not done: nobody is there to be asked.",
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
        "It is read, but nothing can be written in this project.",
        "To note anything, work in a copy of the project that can be written to.",
    ),
    "memory_busy": ErrorText(
        "E1703", "Cannot change {file} now.", "{reason}.", "Nothing was lost. Try again in a moment."
    ),
    "memory_layout": ErrorText(
        "E1704",
        "The section's layout does not allow this change.",
        "{reason}.",
        ("Nothing was changed. Edit the file by hand, or put the list right: one item a line, each with “- ”."),
    ),
    "memory_unknown": ErrorText(
        "E8701",
        "There is no “{wanted}” in the notes.",
        "{near}",
        "Give an id or a number of the list, or how the text begins.",
    ),
    "memory_vague": ErrorText(
        "E8707",
        "“{wanted}” is too little to remove something by.",
        "It may mean {names}.",
        "Give the id, or more of the text.",
    ),
    "memory_two_priorities": ErrorText(
        "E8708", "“{text}” has two priorities: {first} and {second}.", "", "Give one of them. Nothing was changed."
    ),
    "memory_secret": ErrorText(
        "E8709",
        "There seems to be a key or a password in “{text}”.",
        ("The notes are a file of the project, and the model is told of them. Nothing was kept."),
        "Say where it is kept instead, such as the name of a variable.",
    ),
    "memory_ambiguous": ErrorText("E8702", "“{wanted}” means several.", "{names}.", "Give the id."),
    "memory_text_empty": ErrorText(
        "E8703", "There is nothing to keep.", "The first line of the text has no letter or digit.", "Give a text."
    ),
    "memory_too_many": ErrorText(
        "E8705",
        "That would be {count} TODOs at once.",
        "At most {limit} are put on the list together.",
        "Take a part of it, such as one section.",
    ),
    "todo_file_unreadable": ErrorText(
        "E8706",
        "“{file}” cannot be read as a plan.",
        "{reason}.",
        "Name a text file of up to {limit:,} bytes, or write what is to be done itself.",
    ),
    "memory_bad_kind": ErrorText("E8704", "“{value}” is not possible.", "", "One of: {choices}."),
    "session_unknown": ErrorText(
        "E1750", "There is no session “{wanted}” in this project.", "", "See which there are: localllm history list."
    ),
    "session_ambiguous": ErrorText("E1751", "“{wanted}” means several sessions.", "{names}.", "Give more of its name."),
    "session_none": ErrorText(
        "E1752", "There is no session to continue.", "Nothing was said in this project yet.", "Begin one: localllm."
    ),
    "session_open": ErrorText(
        "E1753",
        "The session {id} is open in another program.",
        "Two that write into one conversation would spoil it.",
        "Leave it there, or continue with a copy: /fork in that chat, then /resume here.",
    ),
    "session_undeletable": ErrorText(
        "E1763", "The session {id} cannot be deleted.", "{reason}.", "It is still there; fix that first."
    ),
    "session_unreadable": ErrorText(
        "E1754", "The session {id} cannot be read.", "{reason}.", "Begin a new one: localllm."
    ),
    "session_is_this": ErrorText("E1755", "That is the session you are in."),
    "session_empty": ErrorText(
        "E1756",
        "Nothing of this session has been kept yet.",
        "Nothing was said so far.",
        "It is kept from your first request on: say something first.",
    ),
    "session_unkept": ErrorText(
        "E1764", "This session is not being kept.", "{reason}.", "Fix that and start again: what is said then is kept."
    ),
    "session_unwritable": ErrorText(
        "E1757", "Cannot write {file}.", "{reason}.", "Check that its folder is there, its permissions, and free space."
    ),
    "export_exists": ErrorText(
        "E1758",
        "{file} is there already.",
        "",
        "Give another name, or remove it first; localllm history export --force replaces it.",
    ),
    "export_unknown": ErrorText(
        "E1762", "“{wanted}” is no format.", "", "md, html or json; or a file's name that ends so, as {wanted}.md."
    ),
    "session_nothing_before": ErrorText(
        "E1761", "Nothing was said before checkpoint {point}.", "", "/clear begins a new conversation."
    ),
    "history_needs_yes": ErrorText(
        "E1760", "Nobody is there to be asked whether these sessions may be deleted.", "", "Give --yes."
    ),
    "session_no_point": ErrorText(
        "E1759", "The session has no checkpoint “{wanted}”.", "", "See which there are: /rewind."
    ),
}
