import { Lexer, type Token } from "marked";

/** A block of a document. Its token stays the same object once the block is settled. */
export interface MarkdownBlock {
  readonly token: Token;
  /** It is too large, too deep or could not be read, and is shown as it was written. */
  readonly isPlain: boolean;
}

/** Larger blocks are shown as plain text: hostile ones take seconds. */
const MAX_BLOCK = 50_000;

const MAX_DEPTH = 50;

/**
 * A later character can change the blocks before it, such as the underline of a heading or the next item
 * of a list. With so many tokens after it, a block has never been seen to change.
 */
const UNSETTLED = 3;

/**
 * The blocks of a document that grows. Only its unfinished end is read again, so that a long answer costs
 * little per word.
 */
export class MarkdownBlocks {
  #text = "";
  #settled: MarkdownBlock[] = [];
  #settledLength = 0;

  /** The blocks of the text, of which earlier calls may have had a beginning. */
  update(given: string): readonly MarkdownBlock[] {
    const text = normalize(given);
    if (!text.startsWith(this.#text)) this.#startOver();
    this.#text = text;
    const tail = text.slice(this.#settledLength);
    if (tail.length > MAX_BLOCK) return [...this.#settled, plainBlock(tail)];
    const blocks = toBlocks(tail);
    const settled = this.#settle(blocks.slice(0, -UNSETTLED), tail);
    return [...this.#settled, ...blocks.slice(settled)];
  }

  /**
   * The blocks of the whole text. A link may name an address that is defined below it, so a document
   * with definitions is read once more.
   */
  finish(given: string): readonly MarkdownBlock[] {
    const blocks = this.update(given);
    // They may be inside of other blocks.
    const mayHaveDefinitions = this.#text.includes("]:");
    if (!mayHaveDefinitions || this.#text.length > MAX_BLOCK * 4) return blocks;
    return toBlocks(this.#text);
  }

  /** Keeps blocks that cannot change any more, and returns how many. */
  #settle(blocks: readonly MarkdownBlock[], tail: string): number {
    const raw = blocks.map(({ token }) => token.raw).join("");
    // The lexer may have changed white space; then nothing can be cut off by length.
    if (!tail.startsWith(raw)) return 0;
    this.#settled.push(...blocks);
    this.#settledLength += raw.length;
    return blocks.length;
  }

  #startOver(): void {
    this.#settled = [];
    this.#settledLength = 0;
  }
}

/** Line ends as the lexer wants them. A return at the end waits for the line feed that may follow. */
function normalize(text: string): string {
  return text.includes("\r") ? text.replace(/\r$/, "").replaceAll(/\r\n?/g, "\n") : text;
}

function toBlocks(text: string): MarkdownBlock[] {
  if (text === "") return [];
  try {
    return [...new Lexer({ gfm: true }).lex(text)].map((token) => ({
      token,
      isPlain: token.raw.length > MAX_BLOCK || isDeep(token, MAX_DEPTH),
    }));
  } catch {
    // Thousands of nested quotes overflow the stack of the lexer.
    return [plainBlock(text)];
  }
}

function plainBlock(text: string): MarkdownBlock {
  return { token: { type: "text", raw: text, text }, isPlain: true };
}

function isDeep(token: Token, levels: number): boolean {
  if (levels === 0) return true;
  return childrenOf(token).some((child) => isDeep(child, levels - 1));
}

function childrenOf(token: Token): readonly Token[] {
  const { tokens = [], items = [] } = token as {
    readonly tokens?: readonly Token[];
    readonly items?: readonly Token[];
  };
  return [...tokens, ...items];
}
