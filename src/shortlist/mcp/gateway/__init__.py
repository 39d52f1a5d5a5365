"""The gateway to an agent's MCP servers: `gateway_config`, `upstream`, `tool_catalog`, `tool_search`, `dispatch`."""
