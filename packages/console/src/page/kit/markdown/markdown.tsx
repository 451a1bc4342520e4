import type { MarkedToken, Token, Tokens } from "marked";
import { type ComponentChild, createElement } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { SafeLink, safeAddress } from "../safe-link.tsx";
import { VisibleText } from "../visible-text.tsx";
import { CodeBlock } from "./code-block.tsx";
import { type MarkdownBlock, MarkdownBlocks } from "./markdown-blocks.ts";

interface MarkdownProps {
  readonly text: string;
  /** Whether more text may follow. Default: no. */
  readonly isGrowing?: boolean;
  /** The address of an image that came with the task, by the name that the text uses for it. */
  readonly findImage?: ((name: string) => string | undefined) | undefined;
}

/** Longer texts are shown up to here: a page has to stay usable whatever an agent writes. */
const MAX_SHOWN = 400_000;

/**
 * Markdown of an agent. No HTML is made of it: each token becomes an element here, HTML in it is text, and
 * images are shown only if their bytes came with the task.
 */
export function Markdown({ text, isGrowing = false, findImage }: MarkdownProps) {
  const blocks = useRef<MarkdownBlocks>(undefined);
  blocks.current ??= new MarkdownBlocks();
  const shown = text.length > MAX_SHOWN ? text.slice(0, MAX_SHOWN) : text;
  const current = useMemo(
    () => (isGrowing ? blocks.current!.update(shown) : blocks.current!.finish(shown)),
    [shown, isGrowing],
  );
  return (
    <div class="markdown">
      {current.map((block, place) => (
        <Block key={place} block={block} findImage={findImage} />
      ))}
      {shown.length < text.length && (
        <p class="muted small">
          The text goes on for {(text.length - shown.length).toLocaleString("en-US")} characters.
        </p>
      )}
    </div>
  );
}

type FindImage = MarkdownProps["findImage"];

function Block(props: { readonly block: MarkdownBlock; readonly findImage: FindImage }) {
  const { block, findImage } = props;
  return useMemo(() => {
    if (block.isPlain) return <PlainText text={block.token.raw} />;
    return <>{new TokenRenderer(findImage).block(block.token as MarkedToken, 0)}</>;
  }, [block.token]);
}

/** Text as it was written, with its line breaks. */
export function PlainText({ text }: { readonly text: string }) {
  return (
    <p class="plain-text">
      <VisibleText text={text} />
    </p>
  );
}

class TokenRenderer {
  readonly #findImage: FindImage;

  constructor(findImage: FindImage) {
    this.#findImage = findImage;
  }

  block(token: MarkedToken, key: number): ComponentChild {
    switch (token.type) {
      case "space":
      case "def":
        return null;
      case "hr":
        return <hr key={key} />;
      case "heading":
        // The page has headings of its own above.
        return createElement(`h${Math.min(token.depth + 2, 6)}`, { key }, this.#all(token.tokens));
      case "paragraph":
        return <p key={key}>{this.#all(token.tokens)}</p>;
      case "code":
        return <CodeBlock key={key} code={token.text} language={token.lang?.split(/\s/)[0]} />;
      case "blockquote":
        return <blockquote key={key}>{this.#all(token.tokens)}</blockquote>;
      case "list":
        return this.#list(token, key);
      case "table":
        return this.#table(token, key);
      default:
        return this.#inline(token, key);
    }
  }

  #all(tokens: readonly Token[]): ComponentChild[] {
    return tokens.map((token, place) => this.block(token as MarkedToken, place));
  }

  #list({ ordered, start, items }: Tokens.List, key: number): ComponentChild {
    const children = items.map((item, place) => <li key={place}>{this.#all(item.tokens)}</li>);
    if (!ordered) return <ul key={key}>{children}</ul>;
    return (
      <ol key={key} start={start === "" ? 1 : start}>
        {children}
      </ol>
    );
  }

  #table({ header, rows }: Tokens.Table, key: number): ComponentChild {
    return (
      <div key={key} class="table-box" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead>
            <tr>
              {header.map((cell, place) => (
                <th key={place} scope="col" data-align={cell.align}>
                  {this.#all(cell.tokens)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((cells, row) => (
              <tr key={row}>
                {cells.map((cell, place) => (
                  <td key={place} data-align={cell.align}>
                    {this.#all(cell.tokens)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  }

  #inline(token: MarkedToken, key: number): ComponentChild {
    switch (token.type) {
      case "strong":
        return <strong key={key}>{this.#all(token.tokens)}</strong>;
      case "em":
        return <em key={key}>{this.#all(token.tokens)}</em>;
      case "del":
        return <del key={key}>{this.#all(token.tokens)}</del>;
      case "codespan":
        return (
          <code key={key}>
            <VisibleText text={token.text} />
          </code>
        );
      case "br":
        return <br key={key} />;
      case "checkbox":
        return <span key={key}>{token.checked ? "☑ " : "☐ "}</span>;
      case "link":
        return (
          <SafeLink key={key} href={token.href}>
            {this.#all(token.tokens)}
          </SafeLink>
        );
      case "image":
        return this.#image(token, key);
      case "text":
        if (token.tokens !== undefined) return <span key={key}>{this.#all(token.tokens)}</span>;
        return <VisibleText key={key} text={decodeEntities(token.text)} />;
      case "escape":
        return token.text;
      default:
        return <VisibleText key={key} text={token.raw} />;
    }
  }

  #image({ href, text }: Tokens.Image, key: number): ComponentChild {
    const source = this.#findImage?.(href);
    if (source !== undefined)
      return <img key={key} class="markdown-image" src={source} alt={text} />;
    if (safeAddress(href) === undefined) return <VisibleText key={key} text={`[image: ${text}]`} />;
    // Loading it would tell its host who reads this, and what the address says.
    return (
      <SafeLink key={key} href={href}>
        image: <VisibleText text={text} />
      </SafeLink>
    );
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00A0",
};

/** The lexer leaves character references to the browser, which sees no HTML here. */
function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replaceAll(
    /&(?:#(\d{1,6})|([a-z]{2,4}));/g,
    (whole, code?: string, name?: string) => {
      if (code !== undefined) return String.fromCodePoint(Math.min(Number(code), 0x10_ff_ff));
      return ENTITIES[name!] ?? whole;
    },
  );
}
