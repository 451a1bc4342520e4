import type { A2APart } from "@convoke/protocol";
import { Icon } from "../kit/icon.tsx";
import { JsonTree } from "../kit/json-tree.tsx";
import { LongText } from "../kit/long-text.tsx";
import { Markdown } from "../kit/markdown/markdown.tsx";
import { SomeOf } from "../kit/some-of.tsx";
import { download } from "../kit/download.ts";
import { visibleText } from "../kit/visible-text.tsx";

const SHOWN = 50;

/** The parts of a message or an artifact, as text. */
export function Parts({ parts }: { readonly parts: readonly A2APart[] }) {
  return <SomeOf items={parts} limit={SHOWN} render={(part) => <Part part={part} />} />;
}

function Part({ part }: { readonly part: A2APart }) {
  switch (part.kind) {
    case "text":
      return <Prose text={part.text} />;
    case "data":
      return <JsonTree value={part.data} openLevels={2} />;
    case "file":
      return <FilePart part={part} />;
    default:
      return part satisfies never;
  }
}

/** Longer texts are shown in part, as they were written. */
const MAX_MARKDOWN = 20_000;

/** What an agent or a person wrote. */
export function Prose({ text }: { readonly text: string }) {
  if (text.length <= MAX_MARKDOWN) return <Markdown text={text} />;
  return (
    <p class="prose">
      <LongText text={text} hasEnd />
    </p>
  );
}

function FilePart({ part: { file } }: { readonly part: Extract<A2APart, { kind: "file" }> }) {
  const name = visibleText(file.name ?? "file");
  const type = file.mimeType === undefined ? "" : ` (${visibleText(file.mimeType)})`;
  const { bytes } = file;
  if (bytes === undefined) {
    return (
      <p class="file-part">
        <Icon name="link" size={14} /> {name}
        {type} at <code>{visibleText(file.uri ?? "")}</code>
      </p>
    );
  }
  const save = (): void => {
    const content = Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0));
    download(file.name ?? "file", new Blob([content]));
  };
  return (
    <button type="button" class="button file-part" onClick={save}>
      <Icon name="download" size={14} /> {name}
      {type}
    </button>
  );
}
