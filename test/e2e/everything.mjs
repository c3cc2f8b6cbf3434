// Drives server-everything with the official TypeScript client, through whatever command is given, and prints what the
// client saw as one JSON document: node everything.mjs COMMAND [ARG…], or node everything.mjs URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client(
  { name: "e2e", version: "1.0.0" },
  { capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } } },
);
const seen = { sampling: 0, elicitation: 0, roots: 0, listChanged: 0, progress: [], logs: 0, updates: 0 };
client.setRequestHandler(CreateMessageRequestSchema, async () => {
  seen.sampling++;
  return { role: "assistant", content: { type: "text", text: "hi" }, model: "m", stopReason: "endTurn" };
});
client.setRequestHandler(ElicitRequestSchema, async () => {
  seen.elicitation++;
  return { action: "accept", content: { name: "Ann", check: true, email: "a@example.com" } };
});
client.setRequestHandler(ListRootsRequestSchema, async () => {
  seen.roots++;
  return { roots: [{ uri: "file:///tmp/project", name: "project" }] };
});
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  seen.listChanged++;
});
client.setNotificationHandler(LoggingMessageNotificationSchema, () => {
  seen.logs++;
});
client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => {
  seen.updates++;
});

const out = {};
const step = async (name, f) => {
  try {
    out[name] = await f();
  } catch (e) {
    out[name] = { thrown: e.code ?? e.name, message: String(e.message) };
  }
};

const http = command.startsWith("http://") && new StreamableHTTPClientTransport(new URL(command));
await client.connect(http || new StdioClientTransport({ command, args, stderr: "ignore" }));
await new Promise((r) => setTimeout(r, 500)); // the server adds tools once it has the roots
await step("server", async () => [client.getServerVersion()?.name, client.getServerCapabilities()]);
await step("tools", async () => (await client.listTools()).tools);
await step("echo", () => client.callTool({ name: "echo", arguments: { message: "hello" } }));
await step("structured", () => client.callTool({ name: "get-structured-content", arguments: { location: "Chicago" } }));
await step("image", () => client.callTool({ name: "get-tiny-image", arguments: {} }));
await step("sampling", () => client.callTool({ name: "trigger-sampling-request", arguments: { prompt: "say hi", maxTokens: 10 } }));
await step("elicitation", () => client.callTool({ name: "trigger-elicitation-request", arguments: {} }));
await step("roots", () => client.callTool({ name: "get-roots-list", arguments: {} }));
await step("progress", () =>
  client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 0.4, steps: 4 } }, undefined, {
    onprogress: (p) => seen.progress.push(p.progress),
  }),
);
await step("cancelled", async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort("enough"), 200);
  return await client.callTool({ name: "trigger-long-running-operation", arguments: { duration: 30, steps: 3 } }, undefined, { signal: abort.signal });
});
await step("resources", async () => (await client.listResources()).resources);
await step("templates", async () => (await client.listResourceTemplates()).resourceTemplates);
await step("read", () => client.readResource({ uri: "demo://resource/static/document/architecture.md" }));
await step("prompts", async () => (await client.listPrompts()).prompts);
await step("prompt", () => client.getPrompt({ name: "simple-prompt" }));
await step("completion", () =>
  client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } }),
);
await step("ping", () => client.ping());
await step("task", async () => {
  const kinds = [];
  const params = { name: "simulate-research-query", arguments: { topic: "gates", ambiguous: false } };
  for await (const m of client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } })) {
    if (m.type !== "taskStatus") kinds.push(m.type === "result" || m.type === "error" ? m : m.type);
  }
  return kinds;
});
await step("level", () => client.setLoggingLevel("debug"));
await step("logging", () => client.callTool({ name: "toggle-simulated-logging", arguments: {} }));
await step("subscribe", () => client.subscribeResource({ uri: "demo://resource/static/document/architecture.md" }));
await step("updates", () => client.callTool({ name: "toggle-subscriber-updates", arguments: {} }));
for (let i = 0; i < 100 && (seen.logs === 0 || seen.updates === 0); i++) await new Promise((r) => setTimeout(r, 100));
await step("unknown tool", () => client.callTool({ name: "no-such-tool", arguments: {} }));
await step("wrong type", () => client.callTool({ name: "echo", arguments: { message: 7 } }));
await step("wrong type, with an output schema", () => client.callTool({ name: "get-structured-content", arguments: { location: "Paris" } }));
await http?.terminateSession?.();
await client.close();
for (const many of ["logs", "updates"]) seen[many] = seen[many] > 0; // how many is a matter of time
seen.progress = seen.progress.length > 0; // how many arrive before the answer is a race, with and without a gate
process.stdout.write(JSON.stringify({ out, seen }) + "\n");
