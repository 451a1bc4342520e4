import { type ArtifactUpdateEvent, type Metadata, textPart } from "@convoke/protocol";
import { canonicalJson } from "@convoke/protocol/internal";
import type { LoopEnd } from "../run/loop-failure.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { ToolInput } from "../tools/tool-input.ts";
import { type AnswerTarget, answerIdFor } from "./answer-artifact.ts";

/** The value of an answer, or what is wrong with it, for the model. */
export type ReadOutput =
  | { readonly ok: true; readonly value: Metadata }
  | { readonly ok: false; readonly problem: string };

/** Parses an answer and checks it against the agent's output schema. Throws if the schema makes something else than JSON of it. */
export async function readOutput(text: string, { check }: ToolInput): Promise<ReadOutput> {
  const parsed = parseAnswer(text);
  if (parsed === undefined) return { ok: false, problem: "it is not JSON" };
  const checked = await check(parsed.value);
  if (!checked.ok) return { ok: false, problem: checked.problems.join("; ") };
  return { ok: true, value: asJson(checked.input) };
}

/** The value that the schema made of the answer, which may be anything if the schema has a transform. */
function asJson(value: unknown): Metadata {
  try {
    canonicalJson(value);
  } catch (cause) {
    throw new TypeError("the output schema of the agent makes a value that is not JSON", { cause });
  }
  return value as Metadata;
}

const FENCED = /```(?:json)?\s*\n([^]*?)\n?\s*```/;

/** Models without a JSON mode put the JSON into a code block, or talk around it. */
function parseAnswer(text: string): { readonly value: unknown } | undefined {
  const inner = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
  for (const candidate of [text, FENCED.exec(text)?.[1] ?? "", inner]) {
    try {
      return { value: JSON.parse(candidate) };
    } catch {
      // The next candidate may be JSON.
    }
  }
  return undefined;
}

/** The addition to the instructions that asks for the output, for providers without a JSON mode. */
export function outputInstructions({ schema }: ToolInput): string {
  return (
    "Your final answer is read by a program. It must be one JSON object, without any text or code " +
    `fence around it, that fits this JSON Schema:\n${JSON.stringify(schema)}`
  );
}

/** The message that asks the model for another answer. */
export function repairRequest(problem: string): string {
  return `Your answer does not fit the JSON Schema: ${problem}. Answer again, with the JSON object only.`;
}

/** The end of a task whose second answer does not fit either. */
export function outputFailure(problem: string): LoopEnd {
  const text = `The model's answer does not fit the output schema of the agent: ${problem}.`;
  return { state: "failed", text, metadata: { error: text, reason: "output" } };
}

/**
 * The structured answer of a task: one artifact with the JSON as text and as data. It is sent whole
 * when it is valid; what the model says before is not shown.
 */
export class OutputArtifact implements AnswerTarget {
  readonly artifactId: string;
  readonly #scope: LoopScope;
  #value: Metadata | undefined;

  constructor(scope: LoopScope) {
    this.#scope = scope;
    this.artifactId = answerIdFor(scope);
  }

  set(value: Metadata): void {
    this.#value = value;
  }

  /** The answer as text; empty before there is one. */
  get text(): string {
    return this.#value === undefined ? "" : JSON.stringify(this.#value);
  }

  add(): void {}

  breakOff(): void {}

  mayBeStale(): void {}

  keep(): void {}

  close(): void {
    const data = this.#value;
    if (data === undefined) return;
    const { id: taskId, contextId } = this.#scope.turn.task;
    const parts = [textPart(this.text), { kind: "data", data }] as const;
    const event: ArtifactUpdateEvent = {
      kind: "artifact-update",
      taskId,
      contextId,
      artifact: { artifactId: this.artifactId, parts },
      append: false,
      lastChunk: true,
    };
    this.#scope.say(event);
  }
}
