import { textOf } from "@convoke/protocol";
import { type ServedProvider, startScriptedModelServer } from "@convoke/runtime/testing";
import { describe, expect, onTestFinished } from "vitest";
import { verifies } from "../verifies.ts";
import { LoopWorld } from "./a-loop-world.ts";
import { calls, echoTool } from "./scripts.ts";

const providers: readonly ServedProvider[] = [
  "anthropic",
  "google",
  "openai",
  "ollama",
  "openai-compatible",
];

describe.each(providers)("the loop through the real provider %s", (provider) => {
  verifies(
    "R51",
    "calls it once for each turn, runs the tools that the model calls, and streams its answer",
    async () => {
      const server = await startScriptedModelServer([
        [
          { kind: "text", text: "Let me see." },
          calls("echo", { text: "a" }),
          calls("echo", { text: "b" }),
        ],
        { kind: "error", status: 503 },
        "It said a and b.",
      ]);
      onTestFinished(() => server.close());
      const model = await server.model(provider);
      const world = new LoopWorld({ model, tools: [echoTool()], retry: { firstWaitMs: 1 } });

      const task = await world.ask("go");

      expect(textOf(task)).toBe("Let me see.\n\nIt said a and b.");
      const asked = await world.notes(task.id, "internal:llm-call");
      expect(asked).toHaveLength(3);
      expect(server.requests).toHaveLength(3);
      const completed = await world.notes(task.id, "internal:tool-complete");
      expect(completed.map(({ output }) => output)).toEqual(["echo a", "echo b"]);
      expect(JSON.stringify(server.requests[2]!.body)).toContain("echo b");
    },
  );
});
