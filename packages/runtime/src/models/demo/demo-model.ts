import type { Model, ModelRequest, ToolResultEntry, TranscriptEntry } from "../../model/model.ts";
import { playScript } from "../script/play-script.ts";
import { ModelError } from "../../model/model-error.ts";
import { finishOf, words } from "../script/script-pieces.ts";
import type { ScriptStep } from "../script/script-step.ts";
import { namedCalls } from "./named-calls.ts";

const DEMO_LABEL = "Demo model, no AI.";

/** What a result is cut to in a summary. */
const MAX_RESULT = 400;

interface DemoOptions {
  /** Between the words, so that a person can watch them come. */
  readonly wordDelayMs?: number;
}

/**
 * A model without a key and without any AI, to see how everything works. It
 * knows a few commands, and answers the same request in the same way.
 */
export function demoModel({ wordDelayMs = 10 }: DemoOptions = {}): Model {
  return {
    id: "demo",
    stream: (request, signal) =>
      playScript({ steps: () => demoAnswer(request), wordDelayMs }, signal),
  };
}

/** What the demo model says to a request. */
function demoAnswer(request: ModelRequest): readonly ScriptStep[] {
  const steps = answer(request);
  const { usage } = finishOf(steps);
  const inputTokens = words(transcriptText(request)).length;
  return [...steps, { kind: "finish", usage: { ...usage, inputTokens } }];
}

function answer(request: ModelRequest): readonly ScriptStep[] {
  const last = request.transcript.at(-1);
  if (last?.role === "tool") return [say(summaryOf(last.results))];
  const text = lastText(request);
  const calls = namedCalls(text, request);
  const thoughts = /\bthink\b/i.test(text) ? [thought(request)] : [];
  if (calls.length > 0) {
    const names = calls.map(({ toolName }) => `\`${toolName}\``).join(" and ");
    return [...thoughts, say(`I call ${names}.`), ...calls];
  }
  return [...thoughts, ...command(text, request)];
}

function command(text: string, request: ModelRequest): readonly ScriptStep[] {
  const [, upTo] = /\bcount(?: to)? (\d{1,5})\b/i.exec(text) ?? [];
  if (upTo !== undefined) return [say(counted(Number(upTo)))];
  if (/^\s*fail\b/i.test(text)) {
    throw new ModelError("refused", "demo: the demo model was asked to fail, and does");
  }
  if (/^\s*cite\b/i.test(text)) {
    const url = "https://a2a-protocol.org/";
    return [say("This says where it comes from."), { kind: "source", url, title: "A2A Protocol" }];
  }
  return [say(help(text, request))];
}

function say(text: string): ScriptStep {
  return { kind: "text", text: `${DEMO_LABEL} ${text}` };
}

function thought({ tools, transcript }: ModelRequest): ScriptStep {
  const text = `I look at ${transcript.length} entries and ${tools.length} tools, and choose by the words.`;
  return { kind: "reasoning", text };
}

function counted(upTo: number): string {
  return Array.from({ length: upTo }, (_, index) => index + 1).join(" ");
}

function summaryOf(results: readonly ToolResultEntry[]): string {
  return results
    .map(({ toolName, output, isError }) => {
      const text = typeof output === "string" ? output : JSON.stringify(output ?? null);
      const short = text.length > MAX_RESULT ? `${text.slice(0, MAX_RESULT)}…` : text;
      return isError ? `\`${toolName}\` failed: ${short}` : `\`${toolName}\` gave: ${short}`;
    })
    .join("\n");
}

function help(text: string, { tools }: ModelRequest): string {
  const heard = text === "" ? "I heard no text." : `I heard “${text.slice(0, 200)}”.`;
  const offers = tools.map(
    ({ name }) => `- \`${name}\`: I call this tool; also \`${name}(argument=value)\``,
  );
  return [
    `${heard} Try one of these:`,
    ...offers,
    "- `count to 50`: a long answer, to watch it or to cancel it",
    "- `think`: I show a thought first",
    "- `cite`: I name a source",
    "- `fail`: I fail, to see what that looks like",
  ].join("\n");
}

/** What the user said last. */
function lastText({ transcript }: ModelRequest): string {
  const entry = transcript.findLast(({ role }) => role === "user");
  return entry === undefined ? "" : textOf(entry).trim();
}

/** All that was said, for counting. */
function transcriptText({ instructions = "", transcript }: ModelRequest): string {
  return [instructions, ...transcript.map(textOf)].join(" ");
}

function textOf(entry: TranscriptEntry): string {
  switch (entry.role) {
    case "user":
      return entry.parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ");
    case "assistant":
      return entry.content
        .map((content) => (content.kind === "tool-call" ? content.input : content.text))
        .join(" ");
    case "tool":
      return entry.results.map(({ output }) => JSON.stringify(output ?? null)).join(" ");
  }
}
