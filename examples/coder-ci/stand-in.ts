import type { Model } from "convoke";
import { startScriptedModelServer } from "convoke/testing";

const runTests = {
  kind: "tool-call",
  toolName: "run_shell",
  input: { command: "node --test" },
} as const;

/**
 * Plays Anthropic on loopback without a key: the real client of the provider speaks to it. It knows
 * the mistake of the sample. At first it tries what the policy does not allow.
 */
export async function standInProvider(): Promise<{ model: Model; close: () => Promise<void> }> {
  const server = await startScriptedModelServer([
    { kind: "tool-call", toolName: "delete_file", input: { path: "cart.test.js" } },
    { kind: "tool-call", toolName: "read_file", input: { path: "cart.js" } },
    {
      kind: "tool-call",
      toolName: "edit_file",
      input: {
        path: "cart.js",
        edits: [{ oldText: "price + count", newText: "price * count" }],
      },
    },
    runTests,
    "cart.js:3 added the count instead of multiplying by it. The tests pass now.",
  ]);
  return { model: await server.model("anthropic"), close: () => server.close() };
}
