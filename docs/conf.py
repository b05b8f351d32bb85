"""Settings of the documentation site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import whatfor  # noqa: E402

project = "whatfor"
author = "The whatfor developers"
copyright = author
version = release = whatfor.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "public_names"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"whatfor {version}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the tutorials hold what they printed: `make readme`, and a test
copybutton_exclude = ".linenos, .gp, .go"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 100
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Enter": "Enter"}  # by name, not spelled out
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_inherit_docstrings = False

nitpicky = True
# Types of other packages are not linked: building needs no network. Internal ones are not documented one by one.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!whatfor).*"),
    (r"py:.*", r"whatfor\.(?!deep\.[A-Z])[a-z_]+\..*"),
    (r"py:.*", r"whatfor\.deep\.[a-z_]+\..*"),
]
