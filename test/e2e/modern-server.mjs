// A server on version 2 of the official TypeScript SDK, of both eras: node modern-server.mjs RUNS [PORT], on standard streams
// without a port. It has a tool "safe" and a tool "secret", and writes each call that it runs to RUNS, a line of JSON.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { Server, createMcpHandler } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [runs, port] = process.argv.slice(2);
const inputSchema = { type: "object", properties: { path: { type: "string", "x-mcp-header": "Path" } } };

const make = () => {
  const server = new Server({ name: "modern", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({
    tools: ["safe", "secret"].map((name) => ({ name, inputSchema })),
  }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    appendFileSync(runs, JSON.stringify({ Tool: params.name, Args: JSON.stringify(params.arguments ?? null) }) + "\n");
    return { content: [{ type: "text", text: "ran " + params.name }] };
  });
  return server;
};

if (port === undefined) {
  serveStdio(make);
} else {
  const handler = createMcpHandler(make);
  createServer(async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    const headers = new Headers();
    for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
    const body = req.method === "GET" || req.method === "HEAD" ? undefined : Buffer.concat(chunks);
    const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers, body }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const part of answer.body) res.write(part);
    res.end();
  }).listen(Number(port), "127.0.0.1");
}
