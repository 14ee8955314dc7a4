# SPDX-License-Identifier: Apache-2.0
"""Which class reads which version of the language."""

from __future__ import annotations

_HOT = "openkeel_heat.template.hot.template:HOTemplate%s"
_CFN = "openkeel_heat.template.cfn.template:%s"

HOT_VERSIONS = (
    "2013-05-23",
    "2014-10-16",
    "2015-04-30",
    "2015-10-15",
    "2016-04-08",
    "2016-10-14",
    "2017-02-24",
    "2017-09-01",
    "2018-03-02",
    "2018-08-31",
    "2021-04-16",
)

HOT_RELEASES = {
    "newton": "2016-10-14",
    "ocata": "2017-02-24",
    "pike": "2017-09-01",
    "queens": "2018-03-02",
    "rocky": "2018-08-31",
    "wallaby": "2021-04-16",
}

BUILTIN_CLASSES: dict[tuple[str, str], str] = {
    **{("heat_template_version", version): _HOT % version.replace("-", "") for version in HOT_VERSIONS},
    **{("heat_template_version", name): _HOT % version.replace("-", "") for name, version in HOT_RELEASES.items()},
    ("HeatTemplateFormatVersion", "2012-12-12"): _CFN % "HeatTemplate",
    ("AWSTemplateFormatVersion", "2010-09-09"): _CFN % "CfnTemplate",
}
