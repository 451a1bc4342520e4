import { type ModelAgentDefinition, type ToolContext, tool } from "@convoke/runtime";
import type { ToolName } from "./tale.ts";

/** Causes a side effect; with a key if a repetition can be detected by it. */
type Act = (context: ToolContext, name: ToolName, key?: string) => Promise<void>;

const AMOUNT = {
  type: "object",
  properties: { amount: { type: "integer" } },
  required: ["amount"],
} as const;

/** An agent with a model; `pay` may run again, `ship` may not, and a `refund` needs an approval. */
export function thinker(model: string, act: Act): ModelAgentDefinition {
  return {
    name: "Thinker",
    description: "Does what its model tells it to.",
    model,
    modelOptions: { apiKey: "scripted-key" },
    // A provider that recovers immediately: these tests are about our own crashes.
    retry: { firstWaitMs: 10 },
    tools: [
      tool({
        name: "pay",
        description: "Pays.",
        inputSchema: AMOUNT,
        idempotent: true,
        async *run({ amount }, context) {
          yield `paying ${String(amount)}`;
          await act(context, "pay", context.key);
          return `paid ${String(amount)}`;
        },
      }),
      tool({
        name: "ship",
        description: "Ships.",
        inputSchema: AMOUNT,
        run: async (_, context) => {
          await act(context, "ship");
          return "shipped";
        },
      }),
      tool({
        name: "refund",
        description: "Pays back.",
        inputSchema: AMOUNT,
        idempotent: true,
        confirm: "ask",
        run: async ({ amount }, context) => {
          await act(context, "refund", context.key);
          return `refunded ${String(amount)}`;
        },
      }),
    ],
  };
}
