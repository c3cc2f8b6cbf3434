// Drives a server with version 2 of the official TypeScript client, which speaks the stateless era where the server does,
// and prints what the client saw as one JSON document: node modern.mjs COMMAND [ARG…], or node modern.mjs URL
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = process.argv.slice(2);
const client = new Client(
  { name: "e2e", version: "1.0.0" },
  {
    capabilities: { sampling: {}, elicitation: { form: {} }, roots: { listChanged: true } },
    versionNegotiation: { mode: "auto" },
  },
);
const seen = { sampling: 0, elicitation: 0, roots: 0, progress: false };
client.setRequestHandler("sampling/createMessage", async () => {
  seen.sampling++;
  return { role: "assistant", content: { type: "text", text: "hi" }, model: "m", stopReason: "endTurn" };
});
client.setRequestHandler("elicitation/create", async () => {
  seen.elicitation++;
  return { action: "accept", content: { name: "Ann", check: true, username: "ann", email: "a@example.com" } };
});
client.setRequestHandler("roots/list", async () => {
  seen.roots++;
  return { roots: [{ uri: "file:///tmp/project", name: "project" }] };
});

const out = {};
const step = async (name, f) => {
  try {
    out[name] = await f();
  } catch (e) {
    out[name] = { thrown: e.code ?? e.name, message: String(e.message) };
  }
};

await client.connect(
  command.startsWith("http:")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, stderr: "ignore" }),
);
await new Promise((r) => setTimeout(r, 500)); // a server of the session era adds tools once it has the roots
out.server = [client.getServerVersion()?.name, client.getServerCapabilities()];
let tools = [];
await step("tools", async () => (tools = (await client.listTools()).tools));
// Every tool that needs no argument, one after the other, and those of either server that do.
for (const tool of [...tools].sort((a, b) => a.name.localeCompare(b.name))) {
  if ((tool.inputSchema.required ?? []).length > 0 || /gzip|toggle|get-env|reconnection|long-running/.test(tool.name)) continue;
  await step(`call ${tool.name}`, () =>
    client.callTool({ name: tool.name, arguments: {} }, { onprogress: () => (seen.progress = true), timeout: 20_000 }),
  );
}
for (const [name, params] of Object.entries({
  echo: { message: "hello" },
  "get-structured-content": { location: "Chicago" },
  test_elicitation: { message: "who?" },
  test_sampling: { prompt: "say hi" },
  "no-such-tool": {},
})) {
  await step(`call ${name} with arguments`, () => client.callTool({ name, arguments: params }));
}
await step("wrong type", () => client.callTool({ name: tools.some((t) => t.name === "echo") ? "echo" : "test_sampling", arguments: { message: 7, prompt: 7 } }));
await step("cancelled", async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort("enough"), 200);
  const name = tools.some((t) => t.name === "echo") ? "trigger-long-running-operation" : "test_tool_with_progress";
  return await client.callTool({ name, arguments: name === "test_tool_with_progress" ? {} : { duration: 30, steps: 3 } }, { signal: abort.signal });
});
await step("resources", async () => (await client.listResources()).resources);
await step("templates", async () => (await client.listResourceTemplates()).resourceTemplates);
await step("read", async () => client.readResource({ uri: (await client.listResources()).resources[0].uri }));
await step("prompts", async () => (await client.listPrompts()).prompts);
await step("prompt", async () =>
  client.getPrompt({ name: (await client.listPrompts()).prompts.find((p) => /simple/.test(p.name)).name }),
);
await step("completion", () =>
  client.complete({ ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "E" } }),
);
await client.close();
process.stdout.write(JSON.stringify({ out, seen }) + "\n");
process.exit(0);
