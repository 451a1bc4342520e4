import { type ClientTool, type Metadata, argumentSchema } from "@convoke/protocol";
import { jsonSchemaCheck } from "../tools/json-schema-check.ts";
import { toolInput } from "../tools/tool-input.ts";
import { boundedOutput } from "../tools/tool-output.ts";
import type { Tool, ToolContext, ToolEvent, ToolUseRequired } from "../tools/tool.ts";

/** The only request of a call; the answer comes under it. */
const RESULT = "result";
/** Nothing of it runs here but the asking. */
const TIMEOUT_MS = 60_000;

/**
 * A tool that the caller declared, for the model. A call asks the caller to run it; what comes back
 * is its result, whatever it looks like.
 */
export function clientTool(declared: ClientTool, outputLimit: number): Tool {
  const { name, description = `The caller's own tool ${name}.`, inputSchema } = declared;
  const { schema } = toolInput(name, inputSchema);
  return {
    name,
    description,
    input: schema,
    // Who would be asked is who runs it.
    confirm: "never",
    // What a crash cut has asked nobody, or is asked for already.
    idempotent: true,
    timeoutMs: TIMEOUT_MS,
    check: jsonSchemaCheck(argumentSchema(schema, `tool ${name}`)),
    run: (input, { answers }) =>
      ask(name, input as Metadata, answers) ?? given(answers, outputLimit),
  };
}

type Answers = ToolContext["answers"];

function ask(name: string, input: Metadata, answers: Answers): ToolUseRequired | undefined {
  if (answers.get(RESULT)?.result !== undefined) return undefined;
  return { kind: "interrupt:tool-use", requestId: RESULT, name, input };
}

/** In words of our own: a value that looks like one of our events is a value all the same. */
function given(answers: Answers, outputLimit: number): ToolEvent {
  const { result: value, error } = answers.get(RESULT)!.result!;
  if (error === undefined) return { kind: "tool:result", value };
  return { kind: "tool:error", text: String(boundedOutput(error, outputLimit)) };
}
