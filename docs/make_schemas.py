"""Write the JSON Schemas of the public documents into docs/schemas.

python docs/make_schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from ddinspect.report import PackageReport, Report, Reports

FOLDER = Path(__file__).parent / "schemas"
DOCUMENTS = {"report": Report, "package": PackageReport, "reports": Reports}


def schema_text(document: type[msgspec.Struct]) -> str:
    """The JSON Schema of one kind of document."""
    return json.dumps(msgspec.json.schema(document), indent=2) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, document in DOCUMENTS.items():
        (FOLDER / f"{name}.json").write_text(schema_text(document), encoding="utf-8")
