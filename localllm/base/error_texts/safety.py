"""E9xxx: refusals that protect the user's files, secrets or machine."""

from localllm.base.error_texts.text import ErrorText

SAFETY = {
    "path_outside": ErrorText(
        "E9001", "{path} is outside the project {root}.", "", "Only files of the project can be used."
    ),
    "path_outside_near": ErrorText(
        "E9033", "{path} is outside the project {root}.", "", "Did you mean {near}? Paths are relative to the project."
    ),
    "path_invalid": ErrorText("E9002", "{path} is not a usable path: {reason}.", "", "Give a path inside the project."),
    "path_not_regular": ErrorText(
        "E9003", "{path} is not a regular file.", "", "Devices, pipes and sockets are not opened."
    ),
    "path_protected": ErrorText(
        "E9004",
        "{path} is protected: a change there would later be run or trusted outside the sandbox.",
        "",
        "Ask the user to change it.",
    ),
    "denied_by_rule": ErrorText(
        "E9010", "{name} is denied by the rule {rule}.", "", "Do it another way, or say what you would need."
    ),
    "denied_by_user": ErrorText("E9011", "The user refused {name}.", "", "{feedback}"),
    "denied_with_words": ErrorText("E9019", "The user refused {name}, with words to the model.", "", "{feedback}"),
    "denied_unattended": ErrorText(
        "E9012",
        "{name} needs a confirmation and nobody is there to give it.",
        "",
        "Tell the user what you would have done, and that --yes, --mode or an allow rule permits it.",
    ),
    "denied_unattended_command": ErrorText(
        "E9018",
        "{name} needs a confirmation for this command and nobody is there to give it.",
        "",
        (
            "list_files, read_file and search_files need none. Otherwise tell the user what you would have "
            "done, and that --yes, --mode or an allow rule permits it."
        ),
    ),
    "denied_unwanted": ErrorText(
        "E9028",
        "{name} was not run: the user asked that nothing be changed.",
        "",
        "Say in your answer what you would change.",
    ),
    "denied_banned": ErrorText(
        "E9032",
        "{name} was not run: the user asked that this file be left as it is.",
        "",
        "Go on without it, or say in your answer what you would change in it.",
    ),
    "denied_no_commit": ErrorText(
        "E9034",
        "{name} was not run: the user asked that nothing be committed.",
        "",
        "Leave the changes uncommitted.",
    ),
    "denied_no_address": ErrorText(
        "E9041",
        "{name} was not run: the user asked that this address not be read.",
        "",
        "Go on without it, and say in your answer what you could not look up.",
    ),
    "denied_no_run": ErrorText(
        "E9035",
        "{name} was not run: the user asked that this file not be run.",
        "",
        "Read it instead, or say in your answer what you would run.",
    ),
    "denied_moved_away": ErrorText(
        "E9037",
        "{name} was not run: what is moved there is deleted, as /tmp and ~ of a command are thrown away when it ends, "
        "and /undo would not bring back all of it.",
        "",
        "Move it to a place in the project, or tell the user to move it.",
    ),
    "denied_dry_run": ErrorText(
        "E9036",
        "{name} was not run: the user asked for a dry run of this file only.",
        "",
        "Give it its option for that; if it has none, say so in your answer.",
    ),
    "denied_keep_changes": ErrorText(
        "E9043",
        "{name} was not run: the user asked that the changes be kept, and this throws them away.",
        "",
        "git reset --soft or --mixed takes a commit back and keeps its changes.",
    ),
    "denied_address": ErrorText(
        "E9017",
        "{name} was not run: the user has neither typed nor allowed this address, and nobody is there to ask.",
        "No search in this conversation found exactly this address either; --yes does not permit it.",
        (
            "Search for the page, or tell the user to write its address in the request, "
            "or to allow the host with fetch_page({site}) in safety.allow."
        ),
    ),
    "denied_plan_mode": ErrorText(
        "E9015",
        "{name} was not run: this is plan mode, in which nothing is changed.",
        "",
        (
            "Look at what you need, then answer with a plan: what to change, where, and how to "
            "check it. The user leaves plan mode when they agree."
        ),
    ),
    "mode_needs_sandbox": ErrorText(
        "E9016",
        "The mode auto is not available here: this machine has no sandbox for commands.",
        "{reason}.",
        "Choose ask or auto-edit (--mode, safety.mode), or accept it with --i-accept-no-sandbox.",
    ),
    "command_offline": ErrorText(
        "E9023",
        "The command was not run: localllm is offline, and nothing on this machine keeps a command off the network.",
        "{reason}.",
        "Run it yourself, or leave out --offline (in the settings: offline = false).",
    ),
    "command_root_too_wide": ErrorText(
        "E9020",
        "The command was not run: {root} holds the home folder, the temporary files, shared memory or sockets of other "
        "programs, or the system's programs.",
        "The sandbox could not keep the rest of it out of reach.",
        "Start localllm in the folder of a project.",
    ),
    "command_state_exposed": ErrorText(
        "E9022",
        "The command was not run: {folder}, where localllm keeps sessions and your answers, is in the project.",
        "The sandbox of this machine (landlock) cannot keep a folder in the project out of reach.",
        "Set LOCALLLM_STATE_DIR to a folder outside the project.",
    ),
    "command_own_folder": ErrorText(
        "E9029",
        "The command was not run: {root} is, or is in, a folder of localllm's own ({folder}).",
        "What is kept there is believed later: answers, trust, sessions, settings, caches.",
        "The tools for files can read there. To work with commands, the user can copy it elsewhere and start localllm "
        "in the copy.",
    ),
    "command_all_closed": ErrorText(
        "E9027",
        "The command was not run: the whole project is closed to reading ({rules}).",
        "What read_file is denied is hidden from commands too.",
        "The user can change the rule in the settings (safety.deny, safety.rules) to name what is secret.",
    ),
    "command_not_reverted": ErrorText(
        "E9021",
        "The command changed protected files and this could not be undone ({path}: {reason}).",
        "",
        "Check them before anything outside the sandbox uses them.",
    ),
    "project_moved": ErrorText(
        "E9042",
        "The command was ended: the project's folder is no longer at {root}, where another one or none is now.",
        "{reason}.",
        "Start localllm in the folder where it is.",
    ),
    "project_replaced": ErrorText(
        "E9044",
        "The command was not run: {root} is another folder than when this session began.",
        "The other tools and /undo still work in the former one, wherever it is now.",
        "Put that folder back in its place, or start localllm anew in the one where you want to work.",
    ),
    "record_unreadable": ErrorText(
        "E9026",
        "What a command of a killed localllm left at protected names may still be there: its record cannot be read "
        "({record}).",
        "The record says what has to be put back.",
        "Make the record yours and readable, and start again. Until then, check git hooks, editor tasks and the like.",
    ),
    "network_not_allowed": ErrorText(
        "E9030",
        "{host} is not among the hosts that commands may reach.",
        "",
        "Do without it, or ask the user to add it to safety.network_hosts.",
    ),
    "network_not_public": ErrorText(
        "E9031",
        "{host} resolves to {address}, which is not a public address.",
        "",
        "Only the user can allow it, by adding that address and port to safety.network_hosts.",
    ),
    "denied_dangerous": ErrorText(
        "E9014",
        "{name} was not run: “{rule}” is dangerous, and only a person at the keyboard may allow it.",
        "",
        "Do it another way, or tell the user what you would have done.",
    ),
    "interrupted_before": ErrorText("E9024", "Interrupted by the user before it started: nothing was done."),
    "interrupted_command": ErrorText(
        "E9025", "Stopped by the user while it ran; what it had changed by then stays as it is."
    ),
    "interrupted_by_user": ErrorText("E9013", "Interrupted by the user; it may have been done anyway."),
}
