import { BEGINS_AGAIN } from "@convoke/client";
import {
  type A2AArtifact,
  EXTENSIONS,
  type Message,
  type Task,
  approvalsIn,
  dataOfType,
  isTerminal,
  textOfParts,
} from "@convoke/protocol";
import { isObject, printableJson } from "@convoke/protocol/internal";
import { DecisionLine } from "../kit/approval/approval-card.tsx";
import { Icon } from "../kit/icon.tsx";
import { JsonText } from "../kit/json-text.tsx";
import { Markdown, PlainText } from "../kit/markdown/markdown.tsx";
import { StateBadge } from "../kit/state-badge.tsx";
import { formatCost, formatCount, formatDuration } from "../kit/time.tsx";
import { VisibleText } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import { imageAddress } from "./artifact-view.ts";
import type { DecisionItem, ToolItem, Turn, TurnItem } from "./turn.ts";

interface TurnViewProps {
  readonly turn: Turn;
  /** Whether the answer is still being written. */
  readonly isRunning: boolean;
  readonly onOpenArtifact: (artifact: A2AArtifact) => void;
}

/** A task of the conversation: what was asked, what the agent did, and its answer. */
export function TurnView({ turn, isRunning, onOpenArtifact }: TurnViewProps) {
  const { task, items, usage } = turn;
  const last = items.length - 1;
  return (
    <section class="turn" data-task={task?.id} data-task-state={task?.status.state}>
      {items.map((item, place) => (
        <Item
          key={keyOf(item, place)}
          item={item}
          turn={turn}
          isGrowing={isRunning && place === last}
          onOpenArtifact={onOpenArtifact}
        />
      ))}
      {isRunning && <Progress task={task} />}
      {task && (
        <footer class="turn-foot small muted">
          <StateBadge state={task.status.state} />
          <Link to={{ page: "task", taskId: task.id, lens: "story" }}>Task</Link>
          {usage && <Usage usage={usage} />}
        </footer>
      )}
    </section>
  );
}

/** Texts and tools keep their place when the log adds a thought before them. */
function keyOf(item: TurnItem, place: number): string {
  switch (item.kind) {
    case "message":
      return `message ${item.message.role} ${item.message.messageId}`;
    case "tool":
      return `tool ${item.id}`;
    default:
      return `${item.kind} ${place}`;
  }
}

interface ItemProps extends Omit<TurnViewProps, "isRunning"> {
  readonly item: TurnItem;
  readonly isGrowing: boolean;
}

function Item({ item, turn, isGrowing, onOpenArtifact }: ItemProps) {
  switch (item.kind) {
    case "message":
      return <MessageView message={item.message} turn={turn} />;
    case "text":
      return (
        <>
          {item.isAgain && <p class="small muted">{BEGINS_AGAIN}</p>}
          <div class="answer" data-answer={item.artifactId}>
            <Markdown
              text={item.text}
              isGrowing={isGrowing}
              findImage={(name) => imageAddress(turn.task, name)}
            />
          </div>
        </>
      );
    case "artifact":
      return <ArtifactButton task={turn.task} id={item.artifactId} onOpen={onOpenArtifact} />;
    case "tool":
      return <ToolCard tool={item} isOver={isOver(turn)} />;
    case "thought":
      return (
        <details class="thought">
          <summary>Thought</summary>
          <Markdown text={item.text} />
        </details>
      );
    default:
      return <DecisionView item={item} />;
  }
}

function isOver({ task }: Turn): boolean {
  return task !== undefined && isTerminal(task.status.state);
}

function MessageView({ message, turn }: { readonly message: Message; readonly turn: Turn }) {
  const text = shownText(message, turn);
  const files = message.parts.filter((part) => part.kind === "file");
  if (text === "" && files.length === 0) return null;
  const { state } = turn.task?.status ?? {};
  const isProblem =
    message === turn.task?.status.message && (state === "failed" || state === "rejected");
  return (
    <div class="message" data-role={message.role} data-problem={isProblem}>
      <span class="visually-hidden">{message.role === "user" ? "You: " : "Agent: "}</span>
      {message.role === "user" ? <PlainText text={text} /> : <Markdown text={text} />}
      {files.map(({ file }, place) => (
        <span key={place} class="attachment">
          <Icon name="attach" size={13} /> <VisibleText text={file.name ?? "A file"} />
        </span>
      ))}
    </div>
  );
}

/** The words of a message: approvals, tool results and the data of questions are shown in other forms. */
function shownText(message: Message, { items }: Turn): string {
  const { inParts, inMetadata } = approvalsIn(message);
  if (inParts.length + inMetadata.length > 0) return "";
  const answers = dataOfType(message, EXTENSIONS.approvals.uri, "approval-answer");
  const isDecided = items.some(({ kind }) => kind === "decision");
  if (answers.length > 0) {
    return isDecided ? "" : answers.map(({ data }) => optionOf(data)).join(", ");
  }
  const data = message.parts.flatMap((part) => {
    if (part.kind !== "data" || part.metadata?.[EXTENSIONS.clientTools.uri] !== undefined)
      return [];
    return [dataText(part.data)];
  });
  return [textOfParts(message.parts), ...data].filter((text) => text !== "").join("\n");
}

function optionOf(data: unknown): string {
  const option = isObject(data) ? data["option"] : undefined;
  return option === "reject" ? "Rejected" : "Approved";
}

/** The answer to a question is shown as its value, and a secret one only as that it was given. */
function dataText(data: unknown): string {
  if (!isObject(data) || data["requestId"] === undefined) return printableJson(data, 2);
  if (data["redacted"] === true) return "••••••••";
  const { value } = data;
  return typeof value === "string" ? value : printableJson(value ?? null, 2);
}

function ToolCard({ tool, isOver }: { readonly tool: ToolItem; readonly isOver: boolean }) {
  const { name, input, outcome } = tool;
  const state = outcome ? (outcome.isError ? "failed" : "done") : isOver ? "ended" : "running";
  const names = { failed: "Failed", done: "Done", ended: "No result", running: "Running" };
  return (
    <details class="tool-card" data-tool-state={state}>
      <summary>
        <Icon name="tool" size={14} />
        <code>
          <VisibleText text={name} />
        </code>
        <span class="badge">{names[state]}</span>
      </summary>
      <div class="tool-body">
        <p class="small muted">Arguments</p>
        <JsonText value={input} label={`Arguments of ${name}`} />
        {outcome && (
          <>
            <p class="small muted">{outcome.isError ? "Error" : "Result"}</p>
            <JsonText value={outcome.value} label={`Result of ${name}`} />
          </>
        )}
      </div>
    </details>
  );
}

function DecisionView({ item }: { readonly item: DecisionItem }) {
  return (
    <p class="decision-line">
      <Icon name="approvals" size={14} />
      <code>
        <VisibleText text={item.toolName} />
      </code>
      <DecisionLine decision={item} isMine={false} />
    </p>
  );
}

function ArtifactButton(props: {
  readonly task: Task | undefined;
  readonly id: string;
  readonly onOpen: (artifact: A2AArtifact) => void;
}) {
  const artifact = props.task?.artifacts?.find(({ artifactId }) => artifactId === props.id);
  if (artifact === undefined) return null;
  return (
    <button type="button" class="artifact-button" onClick={() => props.onOpen(artifact)}>
      <Icon name="file" size={16} />
      <span class="artifact-name">
        <VisibleText text={artifact.name ?? artifact.artifactId} />
      </span>
      <span class="small muted">Open</span>
    </button>
  );
}

function Progress({ task }: { readonly task: Task | undefined }) {
  const message = task?.status.state === "working" ? task.status.message : undefined;
  const text = message === undefined ? "" : textOfParts(message.parts);
  return (
    <p class="progress small muted" role="status">
      <span class="progress-dot" aria-hidden="true" />
      {text === "" ? "Working…" : <VisibleText text={text.slice(0, 500)} />}
    </p>
  );
}

function Usage({ usage }: { readonly usage: Readonly<Record<string, unknown>> }) {
  const { inputTokens, outputTokens, costUsd, durationMs } = usage;
  return (
    <>
      {typeof inputTokens === "number" && typeof outputTokens === "number" && (
        <span title="Tokens in and out">
          {formatCount(inputTokens)} in, {formatCount(outputTokens)} out
        </span>
      )}
      {typeof costUsd === "number" && <span>{formatCost(costUsd)}</span>}
      {typeof durationMs === "number" && <span>{formatDuration(durationMs)}</span>}
    </>
  );
}
