import { oneLine } from "@convoke/protocol/internal";
import { type Line, span } from "../screen/cells.ts";
import type { LineEditor } from "../screen/line-editor.ts";
import type { LiveArea } from "../screen/painter.ts";
import { clip, wrap } from "../screen/wrap.ts";
import type { AgentCommand } from "./chat-commands.ts";
import { elapsed, renderBlock, spinner } from "./render-block.ts";
import type { Block, Facts } from "./transcript.ts";

/** A text is asked for. */
export interface LinePrompt {
  readonly kind: "line";
  readonly prompt: Line;
  /** How to answer. */
  readonly hint: string;
  /** Shows dots instead of what is typed. */
  readonly isSecret: boolean;
}

/** What the user is asked for at the bottom of the screen. */
export type Prompt = LinePrompt | { readonly kind: "key"; readonly prompt: Line };

export interface WorkStatus {
  readonly startedAt: number;
  /** What happens, such as "Working". */
  readonly label: string;
}

/** Everything below the finished lines. */
export interface LiveState {
  readonly blocks: readonly Block[];
  /** The last finished block, which the first live one follows. */
  readonly previous: Block | undefined;
  /** The turn of the agent, if there is one. */
  readonly work: WorkStatus | undefined;
  /** Messages that wait for the end of the turn. */
  readonly queue: readonly string[];
  readonly prompt: Prompt;
  readonly editor: LineEditor;
  readonly commands: readonly AgentCommand[];
  readonly agentName: string;
  readonly facts: Facts;
  readonly usage: string | undefined;
}

export interface LiveSize {
  readonly width: number;
  readonly rows: number;
  readonly now: number;
}

/** Lays out the bottom of the screen: the unfinished text, the spinner, the input and the status. */
export function layOutLive(state: LiveState, size: LiveSize): LiveArea {
  const { width, rows } = size;
  const input = inputArea(state, size);
  const below = [...hintLines(state, width), statusLine(state, width)];
  const above = [...workLines(state, size), ...queueLines(state, width)];
  const room = Math.max(0, rows - above.length - input.lines.length - below.length - 1);
  const text = blockLines(state, size);
  const shown = text.slice(Math.max(0, text.length - room));
  const top = [...shown, ...above, []];
  const lines = [...top, ...input.lines, ...below];
  // On a tiny screen the input is all that fits.
  const cut = Math.max(0, lines.length - rows);
  return {
    lines: lines.slice(cut),
    row: Math.max(0, top.length + input.row - cut),
    column: Math.min(input.column, Math.max(0, width - 1)),
  };
}

function blockLines({ blocks, previous }: LiveState, { width, now }: LiveSize): readonly Line[] {
  return blocks.flatMap((block, place) =>
    renderBlock(block, place === 0 ? previous : blocks[place - 1], { width, now }),
  );
}

function workLines({ work, blocks, previous }: LiveState, { now }: LiveSize): readonly Line[] {
  if (work === undefined) return [];
  const time = elapsed(now - work.startedAt);
  const gap: readonly Line[] = blocks.length === 0 && previous === undefined ? [] : [[]];
  return [...gap, [span(`${spinner(now)} `, "cyan"), span(work.label), span(` ${time}`, "dim")]];
}

function queueLines({ queue }: LiveState, width: number): readonly Line[] {
  return queue.map((text) => clip([span(`  next: ${oneLine(text)}`, "dim")], width));
}

function inputArea({ prompt, editor }: LiveState, { width, rows }: LiveSize): LiveArea {
  if (prompt.kind === "key") {
    const lines = wrap(prompt.prompt, width);
    const last = lines.at(-1) ?? [];
    const column = last.reduce((sum, { text }) => sum + text.length, 0) + 1;
    return { lines, row: lines.length - 1, column };
  }
  const most = Math.max(1, Math.floor(rows / 3));
  return editor.view({ width, rows: most, prompt: prompt.prompt, isSecret: prompt.isSecret });
}

const MOST_HINTS = 8;

/** The commands that start with what is typed, or how to answer. */
function hintLines({ prompt, editor, commands }: LiveState, width: number): readonly Line[] {
  if (prompt.kind === "key") return [];
  const matching = matches(editor.text, commands).slice(0, MOST_HINTS);
  const longest = Math.max(0, ...matching.map(({ name }) => name.length));
  const hints = matching.map(({ name, help }) =>
    clip([span(`  ${oneLine(name).padEnd(longest)}  ${oneLine(help)}`, "dim")], width),
  );
  if (hints.length > 0 || prompt.hint === "") return hints;
  return [clip([span(`  ${prompt.hint}`, "dim")], width)];
}

/** The commands that a text could become. */
export function matches(text: string, commands: readonly AgentCommand[]): readonly AgentCommand[] {
  if (!/^\/\S*$/.test(text) || text.startsWith("//")) return [];
  return commands.filter(({ name }) => name.startsWith(text));
}

/** Task ids start with the time, so this much tells tasks apart. */
const SHORT_ID = 13;

/** Who is talked to, in which mode, with which model, and what it has cost. */
function statusLine({ agentName, facts, usage }: LiveState, width: number): Line {
  const { taskId, model, mode } = facts;
  const words = [
    oneLine(agentName, 40),
    ...(mode === undefined ? [] : [oneLine(mode, 20)]),
    ...(model === undefined ? [] : [oneLine(model, 40)]),
    ...(taskId === undefined ? [] : [`task ${oneLine(taskId).slice(0, SHORT_ID)}`]),
    ...(usage === undefined ? [] : [usage]),
  ];
  return clip([span(`  ${words.join(" · ")}`, "dim")], width);
}
