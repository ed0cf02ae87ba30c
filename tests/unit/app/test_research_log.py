"""What the log says of a research run: sentences, with what they are about filled in."""

import pytest

from localllm.app.research_log import log_event
from localllm.research.records import Remark
from localllm.research.run_events import PageRead, RemarkMade, SearchDone

FORBIDDEN = Remark("{url} is not read: its site's robots.txt forbids it.", {"url": "https://a.example/"})


@pytest.mark.parametrize(
    "event",
    [
        PageRead(run="2026-0001", source="S1", url="https://a.example/", title="", problem=FORBIDDEN),
        SearchDone(run="2026-0001", queries=1, found=0, new=0, failures=(FORBIDDEN,)),
        RemarkMade(run="2026-0001", remark=FORBIDDEN),
    ],
)
def test_a_warning_is_a_sentence(event: PageRead | SearchDone | RemarkMade, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", logger="localllm"):
        log_event(event)
    (record,) = (one for one in caplog.records if one.levelname == "WARNING")
    assert record.getMessage().endswith("https://a.example/ is not read: its site's robots.txt forbids it.")
