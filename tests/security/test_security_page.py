"""SECURITY.md lists every limit."""

import re
from pathlib import Path

from whatfor.limits import DEFAULTS

PAGE = Path(__file__).parents[2] / "SECURITY.md"


def test_every_limit_is_stated_with_its_default_and_its_variable():
    rows = re.findall(r"^\|[^|]+\| ([\d,]+)( GiB)? \| `WHATFOR_MAX_(\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.M)
    stated = {name.lower(): int(number.replace(",", "")) << (30 if unit else 0) for number, unit, name in rows}
    assert stated == DEFAULTS
