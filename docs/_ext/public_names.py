"""`public-names`: document what a package names in ``__all__``, so that no page repeats the list.

    ```{public-names} whatfor whatfor.learners whatfor.ledger
    ```

documents those names of ``whatfor`` that are defined in ``whatfor.learners`` or ``whatfor.ledger``. Without modules it
documents the names that no directive before it has. The build fails if a name is left over.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger

PACKAGES = ("whatfor", "whatfor.deep", "whatfor.explanations", "whatfor.worlds", "whatfor.testing")
LOG = getLogger(__name__)


class PublicNames(SphinxDirective):
    """Documents the public names of a package."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    documented: ClassVar[set[str]] = set()

    def run(self) -> list[nodes.Node]:
        """An autodoc directive for each name."""
        package, *places = " ".join(self.arguments).split()
        lines: list[str] = []
        for name in names_of(package):
            full, thing = f"{package}.{name}", getattr(import_module(package), name)
            home = getattr(thing, "__module__", "")
            fits = any(home == place or home.startswith(f"{place}.") for place in places)
            if inspect.ismodule(thing) or full in self.documented or (places and not fits):
                continue
            self.documented.add(full)
            lines += [directive(full, thing), ""]
        return self.parse_text_to_nodes("```{eval-rst}\n" + "\n".join(lines) + "\n```\n")


def names_of(package: str) -> list[str]:
    """The public names of a package."""
    module = import_module(package)
    own = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == package and name[0] != "_"]
    return sorted(getattr(module, "__all__", own), key=str.lower)


def directive(full: str, thing: Any) -> str:
    """The autodoc directive for a name."""
    if inspect.isclass(thing):
        return f".. autoexception:: {full}" if issubclass(thing, Exception) else f".. autoclass:: {full}"
    return f".. autofunction:: {full}" if callable(thing) else f".. autodata:: {full}"


def escape_bars(app: Sphinx, kind: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """In docstrings, |x| is a size, and not a substitution."""
    lines[:] = [line if line.lstrip().startswith(">>>") else line.replace("|", chr(92) + "|") for line in lines]


def check(app: Sphinx, error: Exception | None) -> None:
    """Warn, which fails the build, where a public name is documented nowhere."""
    every = {f"{package}.{name}" for package in PACKAGES for name in names_of(package)}
    left = sorted(one for one in every - PublicNames.documented if one not in PACKAGES)
    if error is None and PublicNames.documented and left:
        LOG.warning("public names without documentation: %s", ", ".join(left))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("build-finished", check)
    return {"parallel_read_safe": False}
