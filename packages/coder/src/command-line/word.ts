import { type SyntaxNode, childNodes } from "./syntax.ts";

/**
 * A word of a command: its value, or undefined for any number of words that the shell only knows
 * when it runs the line (variables, substitutions, patterns, home folders).
 */
export type Word = string | undefined;

/** The value of a word, after the quotes are removed. */
export function wordValue(node: SyntaxNode): Word {
  switch (node.type) {
    case "word":
    case "number":
      return bareValue(node.text);
    case "raw_string":
      return node.text.slice(1, -1);
    case "string":
      return quotedValue(node.text.slice(1, -1));
    case "concatenation":
      return joined(childNodes(node));
    default:
      return undefined;
  }
}

function joined(parts: readonly SyntaxNode[]): Word {
  // `{a,b}` is split into several nodes, each of which looks harmless.
  const source = parts.map((part) => (isQuoted(part) ? "" : part.text)).join("");
  if (bareValue(source) === undefined) return undefined;
  if (source === "{}" && parts.length === 2) return source;
  const values = parts.map(wordValue);
  return values.includes(undefined) ? undefined : values.join("");
}

function isQuoted({ type }: SyntaxNode): boolean {
  return type === "string" || type === "raw_string";
}

/** What Bash leaves as it is outside quotes. */
const PLAIN = /^[\p{L}\p{N}_@%+=:,./^!#-]*$/u;

function bareValue(text: string): Word {
  // The placeholder of find and xargs; Bash expands braces only around a comma or "..".
  if (text === "{}") return text;
  // A tilde in the middle of a word, as in HEAD~1, is not a home folder.
  const unescaped = text.replaceAll(/\\[\s\S]|(?<=[\w^~])~/gu, "");
  if (!PLAIN.test(unescaped) || text.startsWith("#")) return undefined;
  // A backslash at the end of a line joins two lines.
  return text.replaceAll(/\\([\s\S])/gu, (_, next: string) => (next === "\n" ? "" : next));
}

/** The value of a string in double quotes, in which a backslash only quotes a few characters. */
function quotedValue(text: string): Word {
  const unescaped = text.replaceAll(/\\[\s\S]/gu, "");
  if (/[$`"]/.test(unescaped)) return undefined;
  return text.replaceAll(/\\([$`"\\\n])/gu, (_, next: string) => (next === "\n" ? "" : next));
}
