"""The tools every session has."""

from localllm.tools.code import analyze_code
from localllm.tools.commands import run_command
from localllm.tools.editing import edit_file
from localllm.tools.files import create_file, list_files, read_file, write_file
from localllm.tools.git import git_commit, git_diff, git_log, git_status
from localllm.tools.registry import Tool
from localllm.tools.search import search_files

BUILTIN_TOOLS: tuple[Tool, ...] = (
    analyze_code,
    create_file,
    edit_file,
    git_commit,
    git_diff,
    git_log,
    git_status,
    list_files,
    read_file,
    run_command,
    search_files,
    write_file,
)
