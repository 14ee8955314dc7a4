# SPDX-License-Identifier: Apache-2.0
"""The version of this package, and that of the service whose contract it keeps."""

from __future__ import annotations

from importlib import metadata

#: The release of Heat whose contract is kept; plug-ins and the list of functions know versions by it.
CONTRACT = "27.0.1"


def version_string() -> str:
    try:
        return metadata.version("openkeel-heat")
    except metadata.PackageNotFoundError:
        return "0.0.0"
