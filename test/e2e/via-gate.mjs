// A client for the conformance suite that is a client and the gate before it: node via-gate.mjs URL. The environment names
// the gate's command up to its upstream (GATE, a JSON array) and the client (CLIENT).
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";

const upstream = process.argv.at(-1);
const port = await new Promise((resolve) => {
  const s = createServer().listen(0, "127.0.0.1", () => {
    const { port } = s.address();
    s.close(() => resolve(port));
  });
});
const url = `http://127.0.0.1:${port}/mcp`;
const words = JSON.parse(process.env.GATE).map((w) => w.replace("ADDRESS", `127.0.0.1:${port}`).replace("PUBLIC", url));
const gate = spawn(words[0], [...words.slice(1), "--upstream", upstream], { stdio: ["ignore", "ignore", "inherit"] });
for (let up = false; !up; ) {
  if (gate.exitCode !== null) process.exit(2);
  up = await new Promise((resolve) => {
    const c = connect(port, "127.0.0.1", () => {
      c.destroy();
      resolve(true);
    }).on("error", () => setTimeout(() => resolve(false), 20));
  });
}
const client = spawn(process.env.CLIENT, [url], { stdio: "inherit" });
client.on("exit", (status) => {
  gate.on("exit", () => process.exit(status ?? 1));
  gate.kill("SIGTERM");
});
