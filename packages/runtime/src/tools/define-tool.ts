import type { JsonSchema } from "../model/model.ts";
import { type InputSchema, type OutputOf, toolInput } from "./tool-input.ts";
import type { ConfirmRule, Tool, ToolContext, ToolReturn } from "./tool.ts";

/** A tool as its author writes it. */
export interface ToolDefinition<Schema extends InputSchema = InputSchema> {
  /** 1 to 64 letters, digits, `_` and `-`: the format that all providers accept. */
  readonly name: string;
  /** What it does and when to use it: the model chooses by this text. */
  readonly description: string;
  /** Any Standard Schema (zod, valibot, arktype, …) or JSON Schema of an object; without it, no arguments. */
  readonly input?: Schema;
  /** For the model, where the schema library has no conversion of its own. */
  readonly inputJsonSchema?: JsonSchema;
  /** Whether a call needs approval: never, always (`ask`), or by a rule. Default never. */
  readonly confirm?: ConfirmRule;
  /** Whether a call that a crash interrupted may run again, with the same key. Default false. */
  readonly idempotent?: boolean;
  /** How long one call may take. Default 60 s. */
  readonly timeoutMs?: number;
  /** Returns a value, a promise, a stream of tool events, or an interrupt. */
  run(input: OutputOf<Schema>, context: ToolContext): ToolReturn;
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const DEFAULT_TIMEOUT_MS = 60_000;

/** Creates a tool. */
export function tool<Schema extends InputSchema>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, input, inputJsonSchema, timeoutMs = DEFAULT_TIMEOUT_MS } = definition;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw new TypeError(
      `a tool's name has 1 to 64 letters, digits, "_" and "-": ${JSON.stringify(name)} does not fit`,
    );
  }
  if (typeof description !== "string" || description.trim() === "") {
    throw new TypeError(`tool "${name}" needs a description: the model chooses by it`);
  }
  if (typeof definition.run !== "function") {
    throw new TypeError(`tool "${name}" needs a run function: tool({ name, description, run })`);
  }
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) {
    throw new TypeError(`timeoutMs of tool "${name}" must be above 0, not ${timeoutMs}`);
  }
  const { schema, check } = toolInput(name, input, inputJsonSchema);
  return {
    name,
    description,
    input: schema,
    confirm: confirmRule(name, definition.confirm),
    idempotent: definition.idempotent ?? false,
    timeoutMs,
    check,
    run: (checked, context) => definition.run(checked as OutputOf<Schema>, context),
  };
}

/** A mistyped rule must not leave a tool unguarded. */
function confirmRule(name: string, rule: ConfirmRule = "never"): ConfirmRule {
  if (rule === "never" || rule === "ask" || typeof rule === "function") return rule;
  throw new TypeError(
    `confirm of tool "${name}" must be "never", "ask" or a function, not ${JSON.stringify(rule)}`,
  );
}
