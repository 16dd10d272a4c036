// A stock MCP client of the TypeScript SDK, driven by lines of JSON on standard input: {"tool": NAME, "arguments": {...}} calls a tool,
// {"list": true} lists them. Each line is answered by one on standard output: {"ok": RESULT} or {"error": WORDS}. It ends with its input.
//
//   node client.mjs URL [TOKEN]
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const client = new Client({ name: "typescript-client", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");

async function answer(line) {
  const ask = JSON.parse(line);
  if (ask.list) {
    return client.listTools();
  }
  return client.callTool({ name: ask.tool, arguments: ask.arguments ?? {} });
}

try {
  await client.connect(transport);
  say({ ok: { session: transport.sessionId } });
} catch (error) {
  say({ error: String(error) });
  process.exit(1);
}
for await (const line of createInterface({ input: process.stdin })) {
  try {
    say({ ok: await answer(line) });
  } catch (error) {
    say({ error: String(error) });
  }
}
await client.close();
