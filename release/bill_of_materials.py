"""The software bill of materials of an environment (CycloneDX), and whether the licenses in it are allowed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache Software License", "BSD-2-Clause", "BSD-3-Clause", "BSD License", "CC0-1.0", "ISC",
    "MIT", "MIT-0", "MIT License", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
# Changed files of such a package must be published under the same license; what uses it need not be.
WEAK_COPYLEFT = {"MPL-2.0", "Mozilla Public License 2.0 (MPL 2.0)"}
# Packages that declare their license only as a text; read in their files.
READ = {"protobuf": "BSD-3-Clause", "pypdfium2": "BSD-3-Clause AND Apache-2.0"}


def write_bill(tool: Path, python: Path, file: Path) -> None:
    """Write what is installed for a Python, and fail if a license is not allowed."""
    command = [str(tool), "-m", "cyclonedx_py", "environment", "--output-reproducible", "-o", str(file), str(python)]
    subprocess.run(command, check=True)
    bill = json.loads(file.read_text("utf-8"))
    (own,) = (component for component in bill["components"] if component["name"] == "shortlist")
    bill["components"].remove(own)
    bill["metadata"]["component"] = own
    file.write_text(json.dumps(bill, indent=2) + "\n", "utf-8")
    licenses = {component["name"]: find_licenses(component) for component in bill["components"]}
    if refused := {name: found for name, found in licenses.items() if not are_allowed(found)}:
        raise SystemExit(f"These licenses are not in the list of release/bill_of_materials.py: {refused}")
    copyleft = sorted(name for name, found in licenses.items() if found & WEAK_COPYLEFT)
    print(f"{len(licenses)} packages, all with allowed licenses; weak copyleft (MPL-2.0): {', '.join(copyleft)}.")


def are_allowed(licenses: set[str]) -> bool:
    return bool(licenses) and licenses <= PERMISSIVE | WEAK_COPYLEFT


def find_licenses(component: Mapping[str, Any]) -> set[str]:
    """The licenses that a component declares: SPDX identifiers, or the names of classifiers."""
    texts = []
    for entry in component.get("licenses", ()):
        license = entry.get("license", {})
        texts.append(entry.get("expression") or license.get("id") or license.get("name", "").rpartition(" :: ")[2])
    texts = texts or [READ.get(component["name"], "")]
    return {name for text in texts for name in re.split(r" AND | OR ", text) if name}
