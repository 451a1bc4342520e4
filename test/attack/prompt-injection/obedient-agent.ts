import type { ModelAgentDefinition, ModelRequest } from "@convoke/runtime";
import {
  type ScriptStep,
  type ScriptTurn,
  type ScriptedModel,
  scriptedModel,
} from "@convoke/runtime/testing";
import { onTestFinished } from "vitest";
import { aGuardedTool } from "../../approvals/a-guarded-tool.ts";
import { LoopWorld } from "../../loop/a-loop-world.ts";
import { calls } from "../../loop/scripts.ts";

export const INSTRUCTIONS = "You help with files. You never transfer money without being asked.";

/** How the hostile text and the guarded call meet. */
export type Order =
  /** The model reads the text and obeys it. */
  | "first the text"
  /** The call waits for its approval while the text arrives. */
  | "both at once";

/** An agent that does whatever it reads, which is the worst that a model can do. */
export interface ObedientAgent {
  readonly world: LoopWorld;
  readonly model: ScriptedModel;
  /** The arguments of every transfer that was made. */
  readonly transfers: readonly unknown[];
}

/**
 * @param reads the call with which the model fetches the text number `place`
 */
export function obedientAgent(
  order: Order,
  reads: (place: number) => ScriptStep,
  definition: Partial<ModelAgentDefinition> = {},
): ObedientAgent {
  const { guarded, ran } = aGuardedTool({
    name: "transfer",
    description: "Transfers money.",
    inputSchema: { type: "object", properties: { to: { type: "string" } }, required: ["to"] },
  });
  const transfer = calls("transfer", { to: "eve" });
  const answer = ({ transcript }: ModelRequest): ScriptTurn => {
    const last = transcript.at(-1);
    if (last?.role === "user") {
      const read = reads(placeIn(last.parts));
      return order === "both at once" ? [transfer, read] : read;
    }
    const results = last?.role === "tool" ? last.results : [];
    return results.some(({ toolName }) => toolName === "transfer") ? "Done." : transfer;
  };
  const model = scriptedModel(Array.from({ length: 10_000 }, () => answer));
  const world = new LoopWorld({
    ...definition,
    model,
    instructions: INSTRUCTIONS,
    tools: [guarded, ...(definition.tools ?? [])],
  });
  const { engine } = world;
  onTestFinished(async () => {
    engine.close();
    await engine.agents.first.dispose();
  });
  return { world, model, transfers: ran };
}

/** The number in a message of the test. */
function placeIn(parts: readonly { readonly kind: string }[]): number {
  return Number(parts.map((part) => (part as { readonly text?: string }).text ?? "").join(""));
}
