import { EXTENSIONS, type Turn, declaredTools } from "@convoke/protocol";
import { LoopEndError } from "../loop/loop-failure.ts";
import type { ToolBox } from "../tools/tool-box.ts";
import type { Tool } from "../tools/tool.ts";
import { clientTool } from "./client-tool.ts";
import type { ClientToolSettings } from "./client-tool-settings.ts";

/** What a turn's own tools are made with. */
interface ClientToolFacts {
  /** Nothing where the agent takes none. */
  readonly settings: ClientToolSettings | undefined;
  /** How many characters of a result the model is told. */
  readonly outputLimit: number;
}

/** The tools that the caller of a turn declared, where both sides speak of them. */
export function clientTools(turn: Turn, facts: ClientToolFacts): readonly Tool[] {
  const { uri } = EXTENSIONS.clientTools;
  if (facts.settings === undefined || !turn.extensions.has(uri)) return [];
  return declaredTools(turn.message.metadata).map((declared) =>
    clientTool(declared, facts.outputLimit),
  );
}

/**
 * Rejects the task of a caller whose tool has the name of one that the agent has itself: calls of
 * the one must never be taken for calls of the other.
 */
export function refuseTaken(own: ToolBox, declared: readonly Tool[]): void {
  const taken = declared.filter(({ name }) => own.find(name) !== undefined);
  if (taken.length === 0) return;
  const names = taken.map(({ name }) => name).join(", ");
  const text = `This agent has a tool called ${names} itself: declare yours under another name.`;
  const metadata = { error: text, reason: "client-tools", tools: taken.map(({ name }) => name) };
  throw new LoopEndError({ state: "rejected", text, metadata });
}
