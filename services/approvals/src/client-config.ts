/** What a person pastes under "mcpServers" of their MCP client. */
export const clientConfig = (url: string, token: string) => ({
  guildhall: { type: 'http', url, headers: { Authorization: `Bearer ${token}` } },
})
