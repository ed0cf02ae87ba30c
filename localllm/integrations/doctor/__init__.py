"""The checks of `localllm doctor`: one file for each group; findings are data."""
