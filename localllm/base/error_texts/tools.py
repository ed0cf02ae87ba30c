"""E8xxx: failures of tools. The model reads them too: short, with the fix."""

from localllm.base.error_texts.text import ErrorText

TOOLS = {
    "tool_unknown": ErrorText("E8001", "There is no tool “{name}”.", "{near}", "Tools: {known}."),
    "tool_bad_arguments": ErrorText("E8002", "Bad arguments for {name}: {reason}.", "", "Call it like this: {example}"),
    "tool_nameless": ErrorText(
        "E8006",
        "The call names no tool; nothing was run.",
        "",
        'Write {{"name": "…", "arguments": {{…}}}}. Tools: {known}.',
    ),
    "patch_unreadable": ErrorText(
        "E8008",
        "The patch cannot be read: {reason}; nothing was changed.",
        "",
        "Use edit_file, or write_file for a new file.",
    ),
    "tool_malformed_json": ErrorText(
        "E8003",
        "The arguments of {name} are not valid JSON: {reason}.",
        "",
        "Send the whole call again, as in: {example}",
    ),
    "tool_crashed": ErrorText(
        "E8004", "{name} failed unexpectedly: {reason}.", "", "Try another way; the details are in the log."
    ),
    "changed_while_asked": ErrorText(
        "E8007",
        "What {name} would change was modified while the user was asked; nothing was changed.",
        "",
        "Read it again first.",
    ),
    "tool_cut_arguments": ErrorText(
        "E8005",
        "The call of {name} was cut off by the token limit; nothing was run.",
    ),
    "file_missing": ErrorText("E8010", "There is no file {path}.", "", "{hint}"),
    "file_is_directory": ErrorText("E8011", "{path} is a folder.", "", "Use list_files to see what is in it."),
    "file_not_text": ErrorText("E8012", "{path} is not a text file ({reason}).", "", "It cannot be read as text."),
    "file_is_database": ErrorText(
        "E8117",
        "{path} is not a text file ({reason}).",
        "",
        "It cannot be read as text. A command shows what is in it: sqlite3 {quoted} .schema",
    ),
    "file_exists": ErrorText(
        "E8013", "{path} already exists.", "", "Use edit_file to change it, or write_file to replace it."
    ),
    "file_unreadable": ErrorText("E8014", "Cannot read {path}: {reason}."),
    "file_unwritable": ErrorText("E8015", "Cannot write {path}: {reason}.", "", "Nothing was changed."),
    "project_read_only": ErrorText(
        "E8032",
        "Cannot write {path}: {reason}.",
        "This project is not writable.",
        "Show the change in the answer instead; to make it, work in a writable copy of the project.",
    ),
    "file_bad_range": ErrorText(
        "E8016", "{path} ends at line {total}: there is no line {start}.", "", "Ask for a line between 1 and {total}."
    ),
    "file_too_large": ErrorText(
        "E8017",
        "{path} is too large: {size:,} bytes, and {limit:,} is the limit.",
        "",
        "Use search_files to find the lines you need, or run_command with head, tail or sed.",
    ),
    "file_not_kept": ErrorText(
        "E8018", "{path} was written, but reading it back gave something else.", "", "Read it to see what is there now."
    ),
    "file_unknown_encoding": ErrorText(
        "E8019",
        "The encoding of {path} was not recognised.",
        "",
        'Read it with an encoding, such as encoding="{likely}".',
    ),
    "edit_no_match": ErrorText(
        "E8020",
        "old_string was not found in {path}; nothing was changed.",
        "{closest}",
        "Copy the text exactly as read_file shows it.",
    ),
    "edit_elided": ErrorText(
        "E8034",
        "old_string was not found in {path}; nothing was changed.",
        "“{line}” works only if the lines before and after it occur exactly once: {places}.",
        "Copy the lines it stands for, or send only the lines that change.",
    ),
    "edit_ambiguous": ErrorText(
        "E8021",
        "old_string occurs {count} times in {path} (lines {lines}); nothing was changed.",
        "{places}",
        "{hint}",
    ),
    "edit_too_many": ErrorText(
        "E8033",
        "old_string occurs more than 10,000 times in {path}; nothing was changed.",
        "",
        "Send a longer passage, or change the file with a command.",
    ),
    "edit_too_large": ErrorText(
        "E8090",
        "{path} would have more than {limit:,} characters; nothing was changed.",
        "",
        "Send a shorter new_string, or change the file with a command.",
    ),
    "edit_no_change": ErrorText(
        "E8022", "old_string and new_string are the same; nothing was changed.", "", "Send the text you want instead."
    ),
    "edit_already_applied": ErrorText(
        "E8023",
        "{path} already has new_string at line {line}; nothing was changed.",
        "",
        "Go on if you made this edit before. If not, read the lines: it may not be the version you expect.",
    ),
    "edit_placeholder": ErrorText(
        "E8025",
        "“{line}” stands for text that was not written out; nothing was changed.",
        "It would replace that text.",
        "Send only the passage that changes, in full; the rest of the file stays as it is.",
    ),
    "edit_overlap": ErrorText(
        "E8026", "It changes what edit {number} of the same call put there.", "", "Merge the two edits."
    ),
    "edit_of_several": ErrorText(
        "E8027",
        "Edit {number} of {count} cannot be made, so none was: {reason}",
        "{details}",
        "Fix it and send all {count} again.",
    ),
    "file_changed_since": ErrorText(
        "E8028",
        "{path} has changed since it was last read here; nothing was changed.",
        "",
        "Read it again with read_file, then make the change to what is there now.",
    ),
    "write_unread": ErrorText(
        "E8035",
        "{path} already exists and was not read; nothing was written.",
        "{text}",
        "To change a part of it, use edit_file; to replace all of it, send the same call again.",
    ),
    "would_destroy": ErrorText(
        "E8029",
        "{name} was not run: the file would lose {lost}.",
        "",
        (
            "Change only the part that changes with edit_file, or write the whole text. To delete text on "
            "purpose: edit_file with it in old_string and an empty new_string."
        ),
    ),
    "loss_refused": ErrorText(
        "E8091",
        "The user refused this {name}: the file would lose {lost}.",
        "",
        "Keep that: change only the part that changes with edit_file, or write the whole text.",
    ),
    "edit_empty": ErrorText(
        "E8024",
        "old_string is empty; {path} was not changed.",
        "",
        (
            "To insert, copy the line before or after the place into old_string and repeat it in new_string. To "
            "replace the whole file, use write_file."
        ),
    ),
    "search_bad_pattern": ErrorText(
        "E8030",
        "“{pattern}” is not a valid regular expression: {reason}.",
        "",
        "Escape special characters with a backslash.",
    ),
    "search_timeout": ErrorText(
        "E8031",
        "The search for “{pattern}” took longer than {seconds:.0f} s.",
        "",
        "Search a smaller folder or a simpler pattern.",
    ),
    "git_not_a_repository": ErrorText(
        "E8040", "{path} is not in a git repository.", "", "Run git init there first, if history is wanted."
    ),
    "git_failed": ErrorText("E8041", "git could not do that: {reason}"),
    "git_nothing_to_commit": ErrorText(
        "E8042", "There is nothing to commit.", "", "Change a file first, or name files that have changed."
    ),
    "git_in_another": ErrorText(
        "E8106",
        "Nothing was committed: {path} is in a repository of its own, {folder}.",
        "",
        "Commit it there (cd {folder} && git commit -a); then {folder} can be named here.",
    ),
    "git_only_new": ErrorText(
        "E8058",
        "Nothing is staged and no tracked file has changed; there are only new files: {names}.",
        "",
        "List those to commit in files.",
    ),
    "git_only_own_new": ErrorText(
        "E8116",
        "Nothing was committed: this session only made new files ({names}). What else is changed may be the user's "
        "unfinished work: {others}.",
        "",
        "List the files to commit in files.",
    ),
    "git_conflict_markers": ErrorText(
        "E8094",
        "Nothing was committed: conflict markers are left in {places}.",
        "",
        "Resolve these as well, and commit again. If they belong there: git add FILE",
    ),
    "git_unresolved": ErrorText(
        "E8095",
        "Nothing was committed: {paths} is still in conflict.",
        "One side deleted the file, or it is not text.",
        "Make it what it shall be, or delete it, and name it in files.",
    ),
    "git_not_owned": ErrorText(
        "E8043",
        "git refuses the repository of {path}: it belongs to another user.",
        "{reason}",
        "The user can trust it with: git config --global --add safe.directory {path}",
    ),
    "git_no_identity": ErrorText(
        "E8044", "git has no name and email yet.", "", "The user must set git config --global user.name and user.email."
    ),
    "git_filtered": ErrorText(
        "E8045",
        "Nothing was committed: {path} passes through the filter “{filter}”.",
        "Only the repository's own configuration defines it, or it might run something in the project.",
        "Ask the user to commit it by hand.",
    ),
    "git_staged_protected": ErrorText(
        "E8086",
        "Nothing was committed: the staged version of {paths} differs from the work tree.",
        "Programs run or trust it outside the sandbox, and a command may have staged it without the file.",
        "Name the files to commit. The user can look at it (git diff --cached), and commit: git commit -m {message}",
    ),
    "git_staged_outside": ErrorText(
        "E8046",
        "Nothing was committed: {path}, outside the project, is staged too.",
        "",
        "Name the files to commit, or ask the user to commit from {top}.",
    ),
    "git_missing": ErrorText("E8047", "git is not installed.", "", "Install git, or work without it."),
    "git_passed_over": ErrorText(
        "E8096",
        "git is not used: {file} lies in a project or repository, leads there, or is a shim.",
        "A command may have put it there, or chosen what it runs.",
        "Work without it, or ask the user to install git elsewhere, such as in ~/.local/bin.",
    ),
    "git_no_message": ErrorText("E8048", "A commit needs a message.", "", "Say in one line what changed and why."),
    "git_ignored": ErrorText(
        "E8049", "{path} is ignored by .gitignore; nothing was committed.", "", "Leave it out, or ask the user."
    ),
    "git_broken": ErrorText(
        "E8085",
        "git is not used here: {path} is no valid repository.",
        "Its HEAD, objects or refs are missing or damaged, and git would use a repository around the project.",
        "/undo restores what a command has broken; git init makes a new repository.",
    ),
    "git_leads_out": ErrorText(
        "E8052",
        "git is not used here: {path} leads to {target}.",
        "It is outside the project and its repository, and nothing says that they belong together.",
        "The user can check it, and remove or replace {path}.",
    ),
    "git_index_refused": ErrorText(
        "E8083",
        "git is not used here: {path} names a file that git itself never tracks, or is damaged.",
        "git would read and write files inside .git or outside the project.",
        "The user can delete {path} and run git reset; the files stay as they are.",
    ),
    "git_too_many_folders": ErrorText(
        "E8053",
        "git is not used here: {path} has more than {most:,} folders.",
        "They cannot all be checked for links that lead elsewhere.",
        "The user can run git by hand; git gc removes folders.",
    ),
    "git_too_large": ErrorText(
        "E8064",
        "git is not used here: {path} has more than {most:,} bytes.",
        "That is too much to check where it leads.",
        "The user can run git by hand.",
    ),
    "git_too_many_settings": ErrorText(
        "E8087",
        "git is not used here: the settings of the repository of {path} are too long.",
        "They cannot all be checked for settings that run something.",
        "The user can check .git/config and what it includes, or run git by hand.",
    ),
    "git_kept_aside": ErrorText(
        "E8088",
        "Nothing was committed: a merge in progress has stashed changes (MERGE_AUTOSTASH).",
        "The commit would restore them outside the sandbox, whatever they contain.",
        "Ask the user to commit: git commit -m {message}",
    ),
    "git_behind_link": ErrorText(
        "E8093",
        "Nothing was committed: {path} is a link in place of a folder with files that git tracks.",
        "Outside the sandbox, git would commit what it finds behind the link as these files.",
        "List the other files in files, or ask the user to commit the link.",
    ),
    "git_closed": ErrorText(
        "E8089",
        "Nothing was committed: a rule forbids reading {paths}.",
        "Committed files are in the repository, where commands can read them.",
        "List the other files in files. The user can commit it: git commit -m {message}",
    ),
    "git_setting": ErrorText(
        "E8063",
        "git is not used here: the repository sets {setting}.",
        "Outside the sandbox, and where a rule closes files, it is honoured only in the user's own settings.",
        "The user can run git by hand, or check the value and set it for all repositories: git config --global.",
    ),
    "git_signs": ErrorText(
        "E8054",
        "Nothing was committed: commits here are signed (commit.gpgSign), and the key is out of reach.",
        "The user has not allowed unsigned commits.",
        "Ask the user to commit: git commit -m {message}",
    ),
    "git_hooks_left": ErrorText(
        "E8055",
        "Nothing was committed: the hooks {names} in {folder} would have to run outside the sandbox.",
        "",
        "Ask the user to commit: git commit -m {message}",
    ),
    "git_hook_failed": ErrorText(
        "E8056",
        "Nothing was committed: {reason}",
        "The hooks {names} ran in the sandbox, with no network and an empty home.",
        "Fix what they report; if they lack something there, ask the user to commit: git commit -m {message}",
    ),
    "git_background": ErrorText(
        "E8057",
        "git was not run: it would have to run outside the sandbox, and a command runs in the background.",
        "That command could exchange files while git uses them.",
        "Stop it first (command_output), or ask the user to run git.",
    ),
    "git_other_program": ErrorText(
        "E8092",
        "git was not run: it would have to run outside the sandbox, and another localllm runs a command in its folder.",
        "That command could exchange files while git uses them.",
        "Try again when that command has ended, or ask the user to run git.",
    ),
    "git_commit_background": ErrorText(
        "E8097",
        "Nothing was committed: a command runs in the background.",
        "What is committed is shown before, and that command could exchange it.",
        "Stop it first (command_output), or ask the user to commit.",
    ),
    "git_commit_beside": ErrorText(
        "E8098",
        "Nothing was committed: another localllm runs a command in the project.",
        "What is committed is shown before, and that command could exchange it.",
        "Try again when that command has ended, or ask the user to commit.",
    ),
    "code_unsupported": ErrorText(
        "E8050", "There is no grammar for {path}.", "", "Supported: {known}. Use read_file instead."
    ),
    "code_not_parsed": ErrorText(
        "E8051", "{path} could not be analysed: {reason}.", "", "Use search_files or read_file instead."
    ),
    "command_failed_to_start": ErrorText("E8060", "The command was not run: {reason}."),
    "command_closed_out": ErrorText(
        "E8066",
        "The command was not run: {reason}.",
        "These deny rules lead out of the project, and close something that commands may need: {rules}.",
        "The user can remove these rules from the settings (safety.deny, safety.rules), or the links in their paths.",
    ),
    "command_needs_terminal": ErrorText(
        "E8065", "The command was not run: {program} would wait for a terminal, and there is none.", "", "{instead}"
    ),
    "command_no_sandbox": ErrorText(
        "E8061",
        "The command was not run: there is no sandbox on this machine ({reason}).",
        "",
        "Start localllm with --i-accept-no-sandbox to have commands run without one.",
    ),
    "command_lost": ErrorText(
        "E8062",
        "The command was lost: its supervisor ended unexpectedly (status {status}).",
        "",
        "Check what it has done before running it again.",
    ),
    "background_too_many": ErrorText(
        "E8080",
        "{most} commands already run in the background.",
        "",
        "Stop one first: command_output with its id and stop.",
    ),
    "background_unknown": ErrorText("E8081", "There is no background command {number}.", "", "{hint}"),
    "undo_nothing": ErrorText("E8070", "There is nothing to undo."),
    "rewind_unknown": ErrorText("E8074", "There is no checkpoint “{name}”.", "", "{points}"),
    "undo_changed_since": ErrorText(
        "E8071",
        "{path} was changed by something else since the change to undo; it was left as it is.",
        "",
        "The version from before is kept in {backup}.",
    ),
    "undo_changed_since_made": ErrorText(
        "E8082",
        "{path} was made by the change to undo and changed by something else since; it was left as it is.",
        "",
        "To undo it anyway, delete the file.",
    ),
    "undo_in_the_way": ErrorText(
        "E8084",
        "{path} cannot be restored: {other} is in its place now, and was left as it is.",
        "",
        "What was lost is the ref {aside}; rename one of them.",
    ),
    "undo_cannot_keep": ErrorText(
        "E8072",
        "The current version of {path} cannot be kept in {folder}: {reason}.",
        "Nothing was changed.",
        "Make room there, or set safety.auto_backup = false.",
    ),
    "undo_no_folder": ErrorText(
        "E8076",
        "Earlier versions of files cannot be kept in {folder}: {reason}.",
        "Nothing was changed.",
        "Make it writable (LOCALLLM_STATE_DIR names another folder), or set safety.auto_backup = false.",
    ),
    "undo_not_kept": ErrorText(
        "E8073",
        "The earlier version of {path} is not kept.",
        "",
        "It was too large to be kept, too old, or there was too much of it.",
    ),
    "undo_busy": ErrorText(
        "E8075", "A file is being changed now; nothing was undone.", "", "Try again when the change is done."
    ),
}
