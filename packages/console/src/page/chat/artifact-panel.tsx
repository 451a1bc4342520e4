import type { A2AArtifact, A2APart } from "@convoke/protocol";
import { useEffect, useMemo, useState } from "preact/hooks";
import { DiffView } from "../kit/diff/diff-view.tsx";
import { download } from "../kit/download.ts";
import { Icon } from "../kit/icon.tsx";
import { JsonText } from "../kit/json-text.tsx";
import { CodeBlock } from "../kit/markdown/code-block.tsx";
import { Markdown, PlainText } from "../kit/markdown/markdown.tsx";
import { SafeLink } from "../kit/safe-link.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import { type PartView, toFile, viewPart } from "./artifact-view.ts";
import { formatBytes } from "./composer.tsx";

interface ArtifactPanelProps {
  readonly artifact: A2AArtifact;
  readonly isGrowing: boolean;
  readonly onClose: () => void;
}

/** Something that an agent has made, beside the conversation. It grows while the agent writes it. */
export function ArtifactPanel({ artifact, isGrowing, onClose }: ArtifactPanelProps) {
  const { name, artifactId, description, parts } = artifact;
  const save = (): void => {
    const file = toFile(artifact);
    download(file.name, file.content);
  };
  return (
    <aside class="artifact-panel card" aria-label="Artifact" data-artifact={artifactId}>
      <header class="artifact-head">
        <h2>
          <VisibleText text={name ?? artifactId} />
        </h2>
        <button
          type="button"
          class="button quiet icon-only"
          title="Download"
          aria-label="Download"
          onClick={save}
        >
          <Icon name="download" />
        </button>
        <button
          type="button"
          class="button quiet icon-only"
          title="Close"
          aria-label="Close"
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      {description !== undefined && (
        <p class="small muted">
          <VisibleText text={description} />
        </p>
      )}
      {parts.map((part, place) => (
        <Part key={place} part={part} name={name} isGrowing={isGrowing} />
      ))}
    </aside>
  );
}

function Part(props: {
  readonly part: A2APart;
  readonly name: string | undefined;
  readonly isGrowing: boolean;
}) {
  const { part, name, isGrowing } = props;
  const view = useMemo(() => viewPart(part, name), [part, name]);
  return <PartContent view={view} isGrowing={isGrowing} />;
}

/** Longer texts are cut: the whole is in the download. */
const MAX_TEXT = 200_000;

function PartContent({
  view,
  isGrowing,
}: {
  readonly view: PartView;
  readonly isGrowing: boolean;
}) {
  switch (view.kind) {
    case "markdown":
      return <Markdown text={view.text} isGrowing={isGrowing} />;
    case "text":
      return (
        <>
          <PlainText text={view.text.slice(0, MAX_TEXT)} />
          {view.text.length > MAX_TEXT && (
            <p class="small muted">
              {formatBytes(view.text.length)} in all. Download it to read the rest.
            </p>
          )}
        </>
      );
    case "code":
      return <CodeBlock code={view.text.slice(0, MAX_TEXT)} language={view.language} />;
    case "json":
      return <JsonText value={view.value} label="Data" />;
    case "table":
      return <Table header={view.header} rows={view.rows} />;
    case "diff":
      return <DiffView name={view.path} before={view.before} after={view.after} />;
    case "image":
    case "audio":
    case "video":
      return <Media view={view} />;
    case "link":
      return (
        <p>
          <SafeLink href={view.uri}>A file at another address</SafeLink>
        </p>
      );
    default:
      return (
        <p class="muted">
          {view.mediaType}, {formatBytes(view.size)}. Download it to open it.
        </p>
      );
  }
}

type MediaView = Extract<PartView, { readonly bytes: unknown }>;

function Media({ view }: { readonly view: MediaView }) {
  const url = useObjectUrl(view);
  if (url === undefined) return null;
  if (view.kind === "image") return <img class="artifact-image" src={url} alt="" />;
  if (view.kind === "audio") return <audio class="artifact-media" src={url} controls />;
  return <video class="artifact-media" src={url} controls />;
}

function useObjectUrl({ bytes, mediaType }: MediaView): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const created = URL.createObjectURL(new Blob([bytes], { type: mediaType }));
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [bytes, mediaType]);
  return url;
}

const MAX_ROWS = 500;

function Table(props: {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}) {
  return (
    <>
      <div class="table-box" tabIndex={0} role="region" aria-label="Table">
        <table>
          <thead>
            <tr>
              {props.header.map((name, place) => (
                <th key={place} scope="col">
                  <VisibleText text={name} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {props.rows.slice(0, MAX_ROWS).map((cells, row) => (
              <tr key={row}>
                {cells.map((text, place) => (
                  <td key={place}>
                    <VisibleText text={text} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {props.rows.length > MAX_ROWS && (
        <p class="small muted">{props.rows.length - MAX_ROWS} more rows are in the download.</p>
      )}
    </>
  );
}
