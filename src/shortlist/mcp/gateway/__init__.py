"""How does an agent reach the tools of many servers through one? Follow a tool: `config.py`, `upstream.py`,
`catalog.py` (with `approvals.py` and `doubts.py`), `index.py`; and a call of it: `gateway.py`, `names.py`,
`arguments.py`.
"""
