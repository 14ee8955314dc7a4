# SPDX-License-Identifier: Apache-2.0
"""The linter on the public heat-templates collection: only what is truly there.

Every finding has been looked at.  They are of these kinds:

* ``get_file`` of scripts, and types of environments and plug-ins, that the collection as it is here has not;
* old names of properties, attributes and types; parameters that nothing uses;
* files that are no templates: environments, and configuration of other programs;
* true mistakes: a Ref to nothing, a key twice, a list for a map, a property that the type has not, and in the
  folder ``invalid`` circles of resources, for each of which the service refuses the template, too.

The collection is not part of the project; :mod:`tests.fixtures.corpus` says where it is looked for.
"""

from __future__ import annotations

import collections

from openkeel_heat.lint import runner
from tests.fixtures.corpus import CORPUS, EXPECTED, needs_corpus

COUNTS = {
    "circular-dependency": 5,
    "deprecated-function": 1,
    "deprecated-type": 12,
    "duplicate-key": 1,
    "hidden-attribute": 28,
    "hidden-property": 111,
    "hidden-type": 22,
    "missing-file": 67,
    "property-type": 1,
    "renamed-type": 12,
    "template-version": 15,
    "unknown-property": 1,
    "unknown-reference": 1,
    "unknown-type": 14,
    "unused-parameter": 56,
}


pytestmark = needs_corpus


def test_only_true_findings() -> None:
    assert CORPUS is not None
    found: collections.Counter[str] = collections.Counter()
    for name in EXPECTED:
        found.update(finding.rule for finding in runner.lint(str(CORPUS / name)))
    print("%d templates, %d findings" % (len(EXPECTED), sum(found.values())))
    assert dict(found) == COUNTS


def test_templates_are_right_with_their_environments() -> None:
    assert CORPUS is not None
    folder = CORPUS / "heat-templates" / "hot" / "software-config"
    template = folder / "example-templates" / "example-config-pristine-image.yaml"
    environments = sorted((folder / "boot-config").glob("*_env.yaml"))
    assert len(environments) > 5
    for env in environments:
        assert runner.lint(str(template), [str(env)]) == []
