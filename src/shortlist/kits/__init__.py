"""The former path of `shortlist.compat`. Importing it, or one of its modules, warns."""

import importlib
import sys
import warnings

warnings.warn("shortlist.kits is now shortlist.compat. Change the import.", DeprecationWarning, stacklevel=2)
for _name in ("retriever", "tool_index", "in_memory_docs"):
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = importlib.import_module(f"shortlist.compat.{_name}")
