"""What a program wrote for a terminal, as plain text."""

import pytest

from localllm.text.terminal_output import fold_repeats, plain_output


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("日本語\n\ttext\n", "日本語\n\ttext\n"),
        ("\x1b[1;31mFAILED\x1b[0m x\n", "FAILED x\n"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\a link\x1b]8;;\x1b\\", "a link"),
        ("\x1b]never closed\nnext line", "\nnext line"),
        ("\x9b31mred\x9b0m \x9d0;title\x9crest", "red rest"),
        ("\x1b[?1049h\x1b[22;0;0t\x1b(B\x1b[m\x1b[H\x1b[2Jscreen\x1b=\x1b>", "screen"),
        ("\x1bP1$r0m\x1b\\text", "text"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10 %\r50 %\r100 %\ndone\n", "100 %\ndone\n"),
        ("10 %\r\x1b[K100 %\r\x1b[K\nnext", "100 %\nnext"),
        ("|\b/\b-\bok", "ok"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("\b\bx\x00\x07", "x"),
        ("cut \x1b[38;5", "cut "),
        ("\x1b", ""),
    ],
)
def test_what_is_left(written: str, plain: str) -> None:
    assert plain_output(written) == plain


WARNING = "bash: warning: setlocale: LC_ALL: cannot change locale (ja_JP.UTF-8)"


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("", ""),
        ("a\na\na\na\nb", "a\na\na\na\nb"),  # too little to be worth a remark
        (f"{'x' * 300}\n{'x' * 300}\nb", f"{'x' * 300}\n{'x' * 300}\nb"),  # twice is no row
        (f"first\n{(WARNING + chr(10)) * 15}last", f"first\n{WARNING}\n[the line above 15 times in a row]\nlast"),
        ("\n" * 1000, "\n[the line above 1,001 times in a row]"),
        (
            f"a\n{('one: DeprecationWarning' + chr(10) + '  import one' + chr(10)) * 20}b\n  import one",
            "a\none: DeprecationWarning\n  import one\n[these 2 lines above 20 times in a row]\nb\n  import one",
        ),
        (f"{WARNING}\n" * 4, f"{WARNING}\n[the line above 4 times in a row]\n"),
    ],
)
def test_what_comes_again_and_again_is_written_once(written: str, folded: str) -> None:
    assert fold_repeats(written) == folded
