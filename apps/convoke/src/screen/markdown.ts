import { printable } from "@convoke/protocol/internal";
import { type Line, type Style, span } from "./cells.ts";
import { inlineSpans } from "./markdown-inline.ts";
import { wrap } from "./wrap.ts";

const FENCE = /^\s{0,8}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}((?:>\s?)+)(.*)$/;
const TABLE = /^\s*\|/;

export interface MarkdownBlocks {
  /** Blocks that text appended later cannot change. */
  readonly done: readonly string[];
  /** The start of the next block. */
  readonly rest: string;
}

/**
 * Splits Markdown at blank lines, headings and fences. Only lines that have ended count, so the
 * result does not depend on the pieces in which the text arrived.
 */
export function splitMarkdown(text: string): MarkdownBlocks {
  const done: string[] = [];
  let lines: string[] = [];
  let fence = "";
  const end = (): void => {
    if (lines.length > 0) done.push(lines.join("\n"));
    lines = [];
  };
  const all = text.split("\n");
  const last = all.pop() ?? "";
  for (const line of all) {
    if (fence !== "") {
      lines.push(line);
      if (!closes(line, fence)) continue;
      fence = "";
      end();
      continue;
    }
    const opened = FENCE.exec(line)?.[1];
    if (opened !== undefined) {
      end();
      fence = opened;
      lines.push(line);
    } else if (line.trim() === "") end();
    else if (HEADING.test(line)) {
      end();
      lines.push(line);
      end();
    } else lines.push(line);
  }
  return { done, rest: [...lines, last].join("\n") };
}

function closes(line: string, fence: string): boolean {
  const trimmed = line.trim();
  const [character = ""] = fence;
  return trimmed.length >= fence.length && trimmed.replaceAll(character, "") === "";
}

/**
 * Renders Markdown from an agent as lines of at most `width` columns. The lines of a paragraph stay
 * apart, because agents also send text that is not Markdown.
 */
export function renderMarkdown(text: string, width: number): readonly Line[] {
  const clean = printable(text);
  const { done, rest } = splitMarkdown(clean);
  const last = rest.trimEnd();
  return [...done, ...(last === "" ? [] : [last])].flatMap((block, place) => {
    const lines = renderBlock(block.split("\n"), width);
    return place === 0 ? lines : [[], ...lines];
  });
}

function renderBlock(lines: readonly string[], width: number): readonly Line[] {
  const [first = ""] = lines;
  if (FENCE.test(first)) return renderFence(lines, width);
  const rendered: Line[] = [];
  let item: { readonly head: Line; readonly text: string } | undefined;
  const endItem = (): void => {
    if (item !== undefined)
      rendered.push(...wrap(inlineSpans(item.text), width, { first: item.head }));
    item = undefined;
  };
  for (const line of lines) {
    const started = RULE.test(line) ? null : ITEM.exec(line);
    if (started !== null) {
      endItem();
      const [, indent = "", mark = "", text = ""] = started;
      item = { head: itemHead(indent, mark), text };
    } else if (item !== undefined && /^\s/.test(line)) {
      // A line that is indented below an item continues it.
      item = { ...item, text: `${item.text} ${line.trim()}` };
    } else {
      endItem();
      rendered.push(...renderLine(line, width));
    }
  }
  endItem();
  return rendered;
}

const DEEPEST = 12;

function itemHead(indent: string, mark: string): Line {
  const deep = " ".repeat(Math.min(DEEPEST, indent.replaceAll("\t", "    ").length));
  return [span(deep), span(/\d/.test(mark) ? mark : "•", "cyan"), span(" ")];
}

function renderLine(line: string, width: number): readonly Line[] {
  const heading = HEADING.exec(line);
  if (heading !== null) {
    const [, marks = "", text = ""] = heading;
    const styles: readonly Style[] = marks.length === 1 ? ["bold", "underline"] : ["bold"];
    return wrap(inlineSpans(text, styles), width);
  }
  if (RULE.test(line)) return [[span("─".repeat(Math.min(width, 40)), "dim")]];
  const quote = QUOTE.exec(line);
  if (quote !== null) {
    const [, marks = "", text = ""] = quote;
    const bar = [span("│ ".repeat(marks.replaceAll(/\s/g, "").length), "dim")];
    return wrap(inlineSpans(text, ["italic"]), width, { first: bar, rest: bar });
  }
  if (TABLE.test(line)) return wrap([span(line)], width, { isCode: true });
  return wrap(inlineSpans(line), width);
}

const CODE_INDENT: Line = [span("  ")];

/** A code block without its fences, indented and in colour. It may still be open at its end. */
function renderFence(lines: readonly string[], width: number): readonly Line[] {
  const [, fence = ""] = FENCE.exec(lines[0] ?? "") ?? [];
  const isClosed = lines.length > 1 && closes(lines.at(-1) ?? "", fence);
  const inside = lines.slice(1, isClosed ? -1 : undefined);
  // Something must show that there is a block, even if it is empty.
  const code = inside.length === 0 ? [""] : inside;
  // A fence inside a list is indented with its code.
  const indent = /^\s*/.exec(lines[0] ?? "")?.[0].length ?? 0;
  const outdent = new RegExp(`^\\s{0,${indent}}`);
  return code.flatMap((line) =>
    wrap([span(line.replace(outdent, ""), "cyan")], width, { first: CODE_INDENT, isCode: true }),
  );
}
