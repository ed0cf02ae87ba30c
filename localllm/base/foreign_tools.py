"""Map other assistants' names of tools and arguments, which models have learned, to ours.

One closed table for every form of call. Case, `_`, `-`, `.` and blanks are ignored: `oldString` is `old_string`.
"""

from collections.abc import Collection
from functools import cache, lru_cache

UNNAMED = "unnamed"
"""Name of a call whose tool name is unreadable."""

NOTE = "noted"
"""A tool that only records a thought and does nothing."""

FINISH = "finish"
"""A tool that ends the work: its text is the answer."""

PATCH = "apply_patch"
"""A patch of several files, translated to calls of other tools."""

EDITOR = "str_replace_editor"
"""A tool that views, creates, replaces or inserts, depending on its argument `command`."""

PLAN = "update_plan"
"""A whole plan with the status of each step."""

PYTHON = "python"
"""A tool that runs code in Python, translated to a command."""

MOVE, COPY, REMOVE, MAKE_FOLDER = "move_file", "copy_file", "delete_file", "create_directory"
"""What commands do here."""

APPEND, LINES = "append_to_file", "replace_lines"
"""Edits of the end of a file, and of lines by their numbers."""

KINDS = frozenset({NOTE, FINISH, PATCH, EDITOR, PLAN, MOVE, COPY, REMOVE, MAKE_FOLDER, APPEND, LINES, PYTHON})
"""Tools that we do not have but can translate."""

_TOOLS = {
    "run_command": "bash shell sh zsh terminal execute execute_command execute_bash execute_shell_command run_shell"
    " run_shell_command run_bash run_bash_command run_terminal_cmd run_terminal_command run_in_terminal exec"
    " exec_command container.exec local_shell shell_command bash_command terminal_command",
    "read_file": "read open open_file view view_file cat read_files read_many_files get_file_contents get_file_content"
    " read_text_file file_read load_file show_file read_file_content view_code",
    "search_files": "grep grep_search search search_file_content search_code code_search ripgrep rg codebase_search"
    " search_in_files find_in_files search_text text_search search_for_pattern search_file_contents",
    "list_files": "ls list_dir list_directory list_folder glob find find_files find_file file_search find_path tree"
    " find_by_name directory_tree file_glob_search glob_file_search search_file_names get_directory_structure",
    "edit_file": "edit replace str_replace replace_in_file search_replace search_and_replace find_and_replace"
    " edit_block update_file modify_file multi_edit apply_diff file_edit replace_string_in_file"
    " replace_file_content multi_replace_file_content",
    "write_file": "write write_to_file create new_file create_new_file save_file file_write write_new_file"
    " overwrite_file",
    "git_commit": "commit commit_changes create_commit",
    "analyze_code": "list_code_definition_names get_symbols_overview outline document_symbols view_file_outline",
    "command_output": "bash_output get_terminal_output get_command_output command_status",
    "web_search": "search_web google_search google_web_search websearch internet_search brave_search",
    "fetch_page": "web_fetch fetch fetch_url read_url read_url_content open_url visit_webpage fetch_webpage",
    "search_rag_knowledge_base": "rag_search search_rag search_knowledge_base knowledge_search knowledge_base_search"
    " query_knowledge_base search_documents search_docs search_collections search_collection",
    "explore": "task agent dispatch_agent",
    NOTE: "think thinking sequential_thinking",
    PLAN: "update_plan todo_write write_todos update_todo_list manage_todo_list plan",
    FINISH: "finish attempt_completion task_complete complete_task task_done finish_task complete final_answer submit"
    " done ask_followup_question ask_user ask_user_question ask_human",
    PATCH: "apply_patch patch apply_patch_tool",
    PYTHON: "python python3 ipython python_interpreter code_interpreter execute_python run_python python_exec"
    " python_repl execute_python_code run_python_code",
    EDITOR: "str_replace_editor str_replace_based_edit_tool text_editor fs_write",
    MOVE: "move_file rename_file file_move move_path rename_path",
    COPY: "copy_file file_copy copy_path",
    REMOVE: "delete_file remove_file file_delete delete_path",
    MAKE_FOLDER: "create_directory make_directory create_folder make_dir mkdir",
    APPEND: "append_to_file append_file file_append append_text",
    LINES: "replace_lines edit_lines replace_line_range",
}

_PATHS = (
    "path file filename filepath target_file absolute_path relative_path target_path abs_path relative_workspace_path"
)

_ARGUMENTS = {
    "file_path": _PATHS,
    "path": "directory dir folder dir_path directory_path folder_path target_directory search_path search_directory"
    " root file_path"
    f" {_PATHS}",
    "paths": "file_paths files filenames target_files",
    "old_string": "old_str old_text old old_content old_code search search_text find original original_text"
    " original_content target_content old_value",
    "new_string": "new_str new_text new new_content new_code replace replacement replacement_text replace_with"
    " replacement_content updated updated_text updated_content new_value",
    "replace_all": "global all_occurrences allow_multiple",
    "edits": "replacements replacement_chunks changes operations",
    "diff": "patch blocks",
    "content": "text contents file_text file_content code data body code_content",
    "command": "cmd command_line commandline bash_command shell_command script",
    "working_dir": "cwd workdir working_directory work_dir directory dir dir_path",
    "timeout": "timeout_seconds timeout_secs timeout_s timeout_sec",
    "timeout_ms": "timeout_milliseconds",
    "background": "is_background run_in_background",
    "pattern": "query regex regexp search search_term search_query search_pattern search_string text keyword q",
    "list_files.pattern": "glob glob_pattern file_pattern include include_pattern name file_name filename",
    "include": "glob glob_pattern include_pattern file_pattern file_glob include_files includes",
    "ignore_case": "case_insensitive insensitive i",
    "max_results": "limit head_limit max_count max_matches",
    "before": "b before_context context_before lines_before",
    "after": "a after_context context_after lines_after",
    "around": "c context context_lines lines_around",
    "start_line": "offset from_line line_number line_start start from begin_line first_line start_line_one_indexed",
    "end_line": "line_end end to_line to last_line end_line_one_indexed end_line_one_indexed_inclusive",
    "max_lines": "limit num_lines line_count count lines_to_read",
    "view_range": "line_range lines range",
    "message": "msg commit_message",
    "files": "paths file_paths",
    "text": "content task todo item title id todo_id",
    "id": "bash_id shell_id command_id",
    "query": "search_term search_query q",
    "search_rag_knowledge_base.query": "question text keywords keyword words",
    "search_rag_knowledge_base.limit": "top_k k n_results num_results max_results n count max_passages size",
    "collection": "collection_name collections",
    "url": "uri address link",
    "question": "prompt task",
}

_HARMLESS = (
    "description explanation reason reasoning thought thoughts rationale justification purpose requires_approval"
    " security_risk instruction instructions should_read_entire_file read_entire_file one_sentence_instruction"
    " task_progress tool_summary tool_action login shell tty subagent_type output_mode n line_numbers match_per_line"
    " complexity safe_to_auto_run blocking wait_ms_before_async is_new_file empty_file goal prompt"
    " code_markdown_language yield_time_ms block_until_ms max_output_tokens with_escalated_permissions"
    " top_k num_results sandbox_permissions dangerously_disable_sandbox respect_git_ignore file_filtering_options"
)
"""Arguments that can be dropped without changing the effect of a call."""

_OTHER_KEYS = {
    "edit_file": "diff edits start_line end_line",
    "read_file": "paths end_line view_range",
    "search_files": "type file_type case_sensitive fixed_strings multiline -A -B -C before after context",
    "run_command": "timeout_ms",
    NOTE: "thought thoughts",
    PLAN: "todos plan merge",
    FINISH: "result answer summary message question command follow_up options",
    PATCH: "patch input",
    EDITOR: "command path file_text old_str new_str view_range insert_line insert_text",
    MOVE: "source destination old_path new_path",
    COPY: "source destination",
    REMOVE: "path file_path",
    MAKE_FOLDER: "path",
    APPEND: "path file_path content",
    LINES: "path file_path start_line end_line start end content new_content",
}
"""Foreign arguments that a call of our tool may contain."""


def folded(name: str) -> str:
    """Normalise a name: ignore case, `_`, `-`, `.`, blanks, and trailing markup of the model
    (`run_command<|channel|>json`)."""
    name = name.partition("<|")[0] or name
    return "".join(character for character in name if character.isalnum()).casefold()


_HARMLESS_FOLDED = frozenset(map(folded, _HARMLESS.split()))


@cache
def _by_name() -> dict[str, str]:
    return {folded(name): tool for tool, names in _TOOLS.items() for name in names.split()}


@cache
def _by_spelling() -> dict[str, frozenset[str]]:
    return {field: frozenset(map(folded, names.split())) for field, names in _ARGUMENTS.items()}


def own_name(name: str, tools: Collection[str]) -> str:
    """Return the one of `tools` with this name, ignoring case and underscores; "" if none."""
    return name if name in tools else next((own for own in tools if folded(own) == folded(name)), "")


def tool_meant(name: str) -> str:
    """Return our tool, or one of the kinds above, for another assistant's tool `name`; "" if unknown."""
    return _by_name().get(folded(name), "")


@lru_cache(maxsize=8)
def names_of(tools: tuple[str, ...]) -> tuple[str, ...]:
    """Return the foreign names of our `tools` and of the kinds above, as written in the table."""
    return tuple(name for tool, names in _TOOLS.items() if tool in KINDS.union(tools) for name in names.split())


def argument_meant(key: str, tool: str, fields: Collection[str]) -> str:
    """Return the one of `fields` that `key` means in a call of `tool`; "" if none."""
    wanted, spellings = folded(key), _by_spelling()
    if key in fields:
        return key
    for field in fields:
        if folded(field) == wanted:
            return field
    for known in (f"{tool}.", ""):
        for field in fields:
            if wanted in spellings.get(known + field, ()):
                return field
    return ""


def keys_of(tool: str, fields: Collection[str]) -> dict[str, str]:
    """Return every spelling of the arguments `fields` of `tool`, with its field. "" for other tools' arguments."""
    keys = dict.fromkeys([*_HARMLESS.split(), *_OTHER_KEYS.get(tool, "").split()], "")
    for field in fields:
        names = f"{_ARGUMENTS.get(f'{tool}.{field}', '')} {_ARGUMENTS.get(field, '')}".split()
        keys |= {name: field for name in (field, *names) if not keys.get(name)}
    return keys


def is_harmless(key: str) -> bool:
    """Return whether an argument no tool has can be dropped without changing the effect of the call."""
    return folded(key) in _HARMLESS_FOLDED
