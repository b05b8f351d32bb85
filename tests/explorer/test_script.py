"""The page's script: modules that are joined in a fixed order, without a bundler."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from whatfor.explorer import page

FOLDER = Path(page.__file__).parent / "assets" / "script"


def read(module: str) -> str:
    return (FOLDER / f"{module}.js").read_text()


def test_all_modules_are_in_the_script() -> None:
    assert {path.stem for path in FOLDER.glob("*.js")} == set(page.MODULES)


@pytest.mark.parametrize("module", page.MODULES)
def test_a_module_imports_only_from_those_before_it(module: str) -> None:
    imported = re.findall(r'^import [^;]* from "\./(\w+)\.js";$', read(module), re.MULTILINE)
    assert len(imported) == len(re.findall(r"^import ", read(module), re.MULTILINE))
    assert set(imported) <= set(page.MODULES[: page.MODULES.index(module)])


def test_no_name_is_used_by_two_modules() -> None:
    pattern = r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)"
    names = Counter(name for module in page.MODULES for name in re.findall(pattern, read(module), re.MULTILINE))
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("module", page.MODULES)
def test_modules_are_checked_and_short(module: str) -> None:
    text = read(module)
    assert text.startswith("// @ts-check\n")
    assert len(text.splitlines()) <= 350


def test_the_page_has_one_script_and_its_policy_names_it() -> None:
    text = page.build_page(None)
    found = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(found) == 1
    assert found[0] == page.script()
    assert page._checksum(found[0]) in text
    assert not re.search(r"^(?:import|export) ", found[0], re.MULTILINE)


def test_comments_for_the_type_checker_are_left_out_and_no_code() -> None:
    assert "@param" not in page.script()
    for module in page.MODULES:
        pattern = r"^(?:export )?((?:async )?(?:function|const|let|class) \w+.*)$"
        for definition in re.findall(pattern, read(module), re.MULTILINE):
            assert definition in page.script()


def test_numbers_agree_with_their_nouns() -> None:
    plurals = re.compile(r"\$\{thousands\([^}]*\)\} (?:\w+ )?(?:episodes|updates|states|steps)\b")
    assert [found for module in page.MODULES for found in plurals.findall(read(module))] == []
