# SPDX-License-Identifier: Apache-2.0
"""The template linter: everything that is wrong with a template, at once, without a cloud.

A run goes through four steps, each in a module of its own:

* :mod:`.document`  reads a text and remembers the place of everything in it;
* :mod:`.subject`   what rules look at: the template as the language sees it, its function calls (:mod:`.calls`),
  and its properties beside their schemata (:mod:`.places`); types come from :mod:`.catalogue`;
* :mod:`.rules`     a table of rules; each is a function from a subject to its hits;
* :mod:`.reporters` text, JSON or SARIF.

:func:`.runner.lint` puts them together.
"""
