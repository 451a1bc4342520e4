import type { ComponentChild } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "../copy-button.tsx";
import { VisibleText } from "../visible-text.tsx";
import type { CodePiece } from "./highlight.ts";

interface CodeBlockProps {
  readonly code: string;
  readonly language?: string | undefined;
}

/** Longer code stays in one colour: colouring it would block the page. */
const MAX_HIGHLIGHTED = 50_000;

/** Code with its language and a button to copy it. The colours are loaded when the first one is shown. */
export function CodeBlock({ code, language = "" }: CodeBlockProps) {
  const pieces = useHighlighted(code, language);
  return (
    <figure class="code-block">
      <figcaption class="code-block-head">
        <span>{language || "text"}</span>
        <CopyButton text={code} label="Copy the code" />
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={`Code, ${language || "text"}`}>
        <code>{pieces === undefined ? <VisibleText text={code} /> : pieces.map(toElement)}</code>
      </pre>
    </figure>
  );
}

function useHighlighted(code: string, language: string): readonly CodePiece[] | undefined {
  const [shown, setShown] = useState<{ code: string; pieces: readonly CodePiece[] | undefined }>();
  useEffect(() => {
    if (language === "" || code.length > MAX_HIGHLIGHTED) return undefined;
    // Wait for a pause: code that is being written would be coloured again with every word.
    const timer = setTimeout(() => {
      void import("./highlight.ts").then(({ highlight }) =>
        setShown({ code, pieces: highlight(code, language.toLowerCase()) }),
      );
    }, 100);
    return () => clearTimeout(timer);
  }, [code, language]);
  return shown?.code === code ? shown.pieces : undefined;
}

function toElement(piece: CodePiece, place: number): ComponentChild {
  if (piece.type === "text") return <VisibleText key={place} text={piece.value} />;
  return (
    <span key={place} class={piece.classes.join(" ")}>
      {piece.children.map(toElement)}
    </span>
  );
}
