import type { Approval, ApprovalPreview } from "@convoke/protocol";
import { oneLine, printable, printableJson } from "@convoke/protocol/internal";
import { type Line, type Style, span } from "../screen/cells.ts";
import { renderDiff, renderDiffText } from "../screen/diff.ts";
import { renderMarkdown } from "../screen/markdown.ts";
import { clip, wrap } from "../screen/wrap.ts";
import { listField, textField } from "../terminal/json-fields.ts";
import type { ToolState } from "./activity.ts";
import type { Block, ToolBlock } from "./transcript.ts";

/** What a block looks like depends on the screen and, while a tool runs, on the time. */
export interface RenderOptions {
  readonly width: number;
  readonly now: number;
}

/** Blocks of these kinds form a list without blank lines between them. */
const LISTED: ReadonlySet<Block["kind"]> = new Set(["title", "tool", "note", "reasoning"]);

/** Lines for a block, with a blank line above it unless it belongs to the block before. */
export function renderBlock(
  block: Block,
  previous: Block | undefined,
  options: RenderOptions,
): readonly Line[] {
  const lines = linesFor(block, options);
  const isListed = previous === undefined || (LISTED.has(block.kind) && LISTED.has(previous.kind));
  return lines.length === 0 || isListed ? lines : [[], ...lines];
}

function linesFor(block: Block, options: RenderOptions): readonly Line[] {
  const { width } = options;
  switch (block.kind) {
    case "text":
      return renderMarkdown(block.text, width);
    case "tool":
      return toolLines(block, options);
    case "title":
      return wrap(
        [span(`${oneLine(block.text)} `, "bold"), span(oneLine(block.about), "dim")],
        width,
      );
    case "user":
      return paragraph(block.text, width, {
        first: [span("❯ ", "cyan", "bold")],
        styles: ["bold"],
      });
    case "note":
      return paragraph(block.text, width, { styles: ["dim"] });
    case "reasoning":
      return paragraph(block.text, width, {
        first: [span("✻ ", "dim")],
        styles: ["dim", "italic"],
      });
    case "error":
      return paragraph(block.text, width, { first: [span("✗ ", "red")], styles: ["red"] });
    case "plan":
      return block.entries.flatMap(({ content, status }) =>
        wrap(
          [span(oneLine(content), ...(status === "completed" ? (["dim"] as const) : []))],
          width,
          {
            first: [span(`${STEPS[status] ?? "☐"} `, "cyan")],
          },
        ),
      );
    case "approval":
      return approvalLines(block.approval, block.isWhole, width);
    case "question":
      return questionLines(block, width);
    default:
      return block satisfies never;
  }
}

/** The steps of a plan, by their status. */
const STEPS: Readonly<Record<string, string>> = {
  pending: "☐",
  in_progress: "▸",
  completed: "☑",
};

interface ParagraphOptions {
  readonly first?: Line;
  readonly styles?: readonly Style[];
}

/** Text that is not Markdown; its line breaks are kept. */
function paragraph(
  text: string,
  width: number,
  { first = [], styles = [] }: ParagraphOptions,
): readonly Line[] {
  const indent = " ".repeat(first.reduce((sum, piece) => sum + piece.text.length, 0));
  const rest = indent === "" ? [] : [span(indent)];
  return printable(text)
    .split("\n")
    .flatMap((line, place) =>
      wrap([span(line, ...styles)], width, { first: place === 0 ? first : rest, rest }),
    );
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;

/** How long each picture of the spinner is shown. */
export const FRAME_MS = 100;

/** The spinner at a time. */
export function spinner(now: number): string {
  return FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? "…";
}

/** Whole seconds, or minutes and seconds. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

/** Lines of a result that are shown. */
const MOST_RESULT_LINES = 4;

const MARKS: Readonly<Record<Exclude<ToolState, "running">, readonly [string, Style]>> = {
  pending: ["○", "yellow"],
  done: ["✓", "green"],
  failed: ["✗", "red"],
  canceled: ["■", "yellow"],
};

/** A tool card: the call in one line, and below it its progress or the start of its result. */
function toolLines(block: ToolBlock, { width, now }: RenderOptions): readonly Line[] {
  const { name, input, state, startedAt, endedAt = now, progress } = block;
  const [mark, style] = state === "running" ? ([spinner(now), "cyan"] as const) : MARKS[state];
  const took = endedAt - startedAt;
  const time = took >= 1000 ? ` ${elapsed(took)}` : "";
  const end = state === "canceled" ? `${time} canceled` : time;
  const call = [span(oneLine(name), "bold"), span(callText(input), "dim")];
  const head = [
    span(`${mark} `, style),
    ...clip(call, Math.max(10, width - 2 - end.length)),
    span(end, "dim"),
  ];
  const isOpen = state === "running" || state === "pending";
  const below = isOpen ? (lastLines(block.written) ?? progress ?? "") : resultText(block);
  return [head, ...resultLines(below, state === "failed" ? "red" : "dim", width)];
}

const LONGEST_VALUE = 60;

/** The arguments as they are called: `(path: "a.txt", depth: 2)`. */
function callText(input: unknown): string {
  if (input === undefined) return "";
  if (typeof input !== "object" || input === null) return `(${oneLine(printableJson(input))})`;
  const words = Object.entries(input).map(
    ([key, value]) =>
      `${oneLine(key, LONGEST_VALUE)}: ${oneLine(printableJson(value), LONGEST_VALUE)}`,
  );
  return `(${words.join(", ")})`;
}

function lastLines(written: string | undefined): string | undefined {
  return written?.trimEnd().split("\n").slice(-MOST_RESULT_LINES).join("\n");
}

function resultText({ output }: ToolBlock): string {
  if (output === undefined || output === null) return "";
  return typeof output === "string" ? output : (subAgentText(output) ?? printableJson(output));
}

/** What a sub-agent answered, without the facts about its task that are for the model. */
function subAgentText(output: unknown): string | undefined {
  if (textField(output, "agent") === "") return undefined;
  const texts = [output, ...listField(output, "artifacts")].map((part) => textField(part, "text"));
  return texts.filter((text) => text !== "").join("\n") || undefined;
}

function resultLines(text: string, style: Style, width: number): readonly Line[] {
  const lines = printable(text).trimEnd().split("\n");
  if (lines.length === 1 && lines[0] === "") return [];
  const shown = lines
    .slice(0, MOST_RESULT_LINES)
    .map((line, place) =>
      clip([span(place === 0 ? "  └ " : "    ", "dim"), span(line, style)], width),
    );
  const more = lines.length - shown.length;
  return more > 0 ? [...shown, [span(`    … ${more} more lines`, "dim")]] : shown;
}

const RISKS: Readonly<Record<string, Style>> = { info: "cyan", warning: "yellow", danger: "red" };

/** Lines of a preview that are shown before the user asks for all of them. */
const MOST_PREVIEW_LINES = 60;

/** An approval: what would run, how dangerous it is, and what it would change. */
function approvalLines(approval: Approval, isWhole: boolean, width: number): readonly Line[] {
  const { title, risk, from = [] } = approval;
  const style = RISKS[risk] ?? "yellow";
  const agents = from.map(({ name }) => oneLine(name));
  const origin = agents.length === 0 ? "" : ` (for ${agents.toReversed().join(" → ")})`;
  const danger = risk === "danger" ? "Danger: " : "";
  const bar: Line = [span("┃ ", style)];
  const inner = width - 2;
  const preview = previewLines(approval, inner);
  const shown = isWhole ? preview : preview.slice(0, MOST_PREVIEW_LINES);
  const hidden = preview.length - shown.length;
  const body: readonly Line[] = [
    ...wrap([span(`${danger}${oneLine(title, 256)}`, "bold"), span(origin, "dim")], inner),
    ...promptLines(approval, inner),
    ...(shown.length === 0 ? [] : [[], ...shown]),
    ...(hidden === 0 ? [] : [[span(`… ${hidden} more lines; press v to see them`, "yellow")]]),
  ];
  return body.map((line) => [...bar, ...line]);
}

/** Agents without words of their own send the arguments as the prompt: one line of them is enough. */
function promptLines({ prompt, tool, preview }: Approval, width: number): readonly Line[] {
  if (prompt === undefined) return [];
  // The preview shows the same diff, in colours.
  if (preview?.kind === "diff" && prompt.startsWith("--- ")) return [];
  const isArguments = JSON.stringify(tool.arguments, undefined, 2).startsWith(prompt);
  // The prompt has the diff once more, for clients that show only text.
  const isDiff = preview?.kind === "diff" && /^(?:---|diff --git) /.test(prompt);
  if (isDiff) return [];
  if (!isArguments) return paragraph(prompt, width, {});
  // Without a preview the arguments follow as a whole.
  if (preview === undefined) return [];
  return wrap([span(`${oneLine(tool.name)}${callText(tool.arguments)}`, "dim")], width);
}

function previewLines({ tool, preview }: Approval, width: number): readonly Line[] {
  if (preview !== undefined) return renderPreview(preview, width);
  const { name } = tool;
  const call = `${oneLine(name)} ${printableJson(tool.arguments, 2)}`;
  return call.split("\n").flatMap((line) => wrap([span(line, "dim")], width, { isCode: true }));
}

function renderPreview(preview: ApprovalPreview, width: number): readonly Line[] {
  if (preview.kind === "diff") {
    const { path, before = "", after = "" } = preview;
    const what = preview.before === undefined ? " (new file)" : "";
    const gone = preview.after === undefined ? " (deleted)" : "";
    const head = [span(oneLine(path, 1000), "bold"), span(`${what}${gone}`, "dim")];
    return [...wrap(head, width, { isCode: true }), ...renderDiff(before, after, width)];
  }
  const { text, mediaType = "" } = preview;
  if (/diff|patch/.test(mediaType) || /^(?:---|diff --git) /.test(text)) {
    return renderDiffText(text, width);
  }
  if (mediaType === "text/markdown") return renderMarkdown(text, width);
  return printable(text)
    .split("\n")
    .flatMap((line) => wrap([span(line)], width, { isCode: true }));
}

function questionLines(
  { text, options, isAuthorization }: Extract<Block, { kind: "question" }>,
  width: number,
): readonly Line[] {
  const digits = String(options.length).length;
  const style = isAuthorization ? "yellow" : "cyan";
  return [
    ...paragraph(text, width, { first: [span("? ", style, "bold")], styles: ["bold"] }),
    ...options.flatMap((option, place) =>
      wrap([span(oneLine(option))], width, {
        first: [span(`  ${String(place + 1).padStart(digits)}  `, style)],
      }),
    ),
  ];
}
