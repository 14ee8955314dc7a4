# SPDX-License-Identifier: Apache-2.0
"""Sphinx configuration."""

import pathlib
import tomllib

_about = tomllib.loads((pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

project = "openkeel-heat"
copyright = "the openkeel-heat authors"
author = "the openkeel-heat authors"
release = _about["version"]
extensions: list[str] = []
source_suffix = {".rst": "restructuredtext"}
master_doc = "index"
html_theme = "alabaster"
html_theme_options = {"description": "Orchestration for OpenStack clouds", "page_width": "70em"}
nitpicky = True
# Pages of other packages are found by a pattern, which matches nothing while each is listed by its name.
suppress_warnings = ["toc.empty_glob"]
