"""The entry in an agent's configuration that starts `shortlist mcp`; everything else there stays as it is.

Other servers of an agent can be moved behind the gateway, and back.
"""
