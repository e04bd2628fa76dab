"""The vault as tools for agents over MCP; the tools are commands as well (`tools.*`)."""
