import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Icon, type IconName } from "../kit/icon.tsx";
import { JsonTree } from "../kit/json-tree.tsx";
import { LongText } from "../kit/long-text.tsx";
import { Empty } from "../kit/notices.tsx";
import { SomeOf } from "../kit/some-of.tsx";
import { STATE_NAMES, StateBadge } from "../kit/state-badge.tsx";
import { formatCount, formatDuration } from "../kit/time.tsx";
import { RiskBadge } from "../kit/risk-badge.tsx";
import { shortId, visibleLine } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import { type TreeNode, hasPage, readTree } from "../server/call-tree.ts";
import { FILE_ID } from "../server/log-file.ts";
import { useResource } from "../server/resource.ts";
import type { LensProps } from "./lens.ts";
import { type Fields, fieldsOf, textField } from "./notes.ts";
import { Parts, Prose } from "./parts.tsx";
import {
  type QuestionItem,
  type SaidItem,
  type StepItem,
  type StoryItem,
  type ToolItem,
  tellStory,
} from "./story.ts";

/** How many items are shown at first, and how many more each time. */
const SHOWN = 200;

/** The task as a person would tell it. */
export function StoryLens({ entries, log, go, task, isNow }: LensProps) {
  const items = useMemo(() => tellStory(entries), [entries]);
  const called = useCalledTasks(log.taskId, items);
  const [count, setCount] = useState(SHOWN);
  const isAtWork = task.status.state === "working" || task.status.state === "submitted";
  const hidden = Math.max(0, items.length - count);
  if (items.length === 0) return <Empty title="Nothing has happened yet" />;
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="button" onClick={() => setCount(count + SHOWN)}>
          Show earlier ({formatCount(hidden)} left)
        </button>
      )}
      <ol class="story">
        {items.slice(hidden).map((item) => (
          <li key={`${item.kind}-${item.seq}`} class={`story-item story-${item.kind}`}>
            <button
              type="button"
              class="story-seq mono"
              aria-label={`Stand at event ${item.seq}`}
              onClick={() => go(item.seq)}
            >
              {item.seq}
            </button>
            <div class="story-body">
              {item.kind === "gap" ? (
                <Gap item={item} load={() => void log.fill(item.seq, item.to)} />
              ) : (
                <Item item={item} called={called} />
              )}
            </div>
          </li>
        ))}
      </ol>
      {isNow && isAtWork && (
        <p class="story-now" role="status">
          <StateBadge state={task.status.state} />
        </p>
      )}
    </>
  );
}

type CalledTasks = ReadonlyMap<string, TreeNode>;

/** What is known about the tasks of sub-agents now. */
function useCalledTasks(taskId: string, items: readonly StoryItem[]): CalledTasks {
  const count = items.filter((item) => item.kind === "tool" && item.child).length;
  const isAsked = count > 0 && taskId !== FILE_ID;
  const tree = useResource(
    async (signal) => (isAsked ? (await readTree(taskId, signal)).nodes : []),
    [taskId, count],
  );
  return new Map((tree.value ?? []).map((node) => [node.taskId, node]));
}

interface ItemProps {
  readonly item: Exclude<StoryItem, { kind: "gap" }>;
  readonly called: CalledTasks;
}

function Item({ item, called }: ItemProps) {
  switch (item.kind) {
    case "message":
      return (
        <Block icon="chat" title={item.message.role === "user" ? "Message" : "Answer"}>
          <Parts parts={item.message.parts} />
        </Block>
      );
    case "said":
      return <Said item={item} />;
    case "thought":
      return (
        <details class="story-thoughts">
          <summary>Thought for a moment</summary>
          <p class="prose">
            <LongText text={item.text} />
          </p>
        </details>
      );
    case "tool":
      return <ToolCall item={item} called={called} />;
    case "question":
      return <Question item={item} />;
    case "step":
      return <Step item={item} />;
    case "progress":
      return (
        <p class="story-line">
          {item.state !== "working" && <strong>{STATE_NAMES[item.state]}: </strong>}
          <LongText text={item.text} />
        </p>
      );
    case "attempt":
      return (
        <p class="story-crash">
          <Icon name="warning" size={16} />
          <span>
            <strong>The process ended here.</strong> Attempt {item.attempt} began.
          </span>
        </p>
      );
    case "line":
      return (
        <p class={item.isBad ? "story-line bad" : "story-line"}>{visibleLine(item.text, 600)}</p>
      );
    case "end":
      return (
        <Block title={<StateBadge state={item.state} />}>
          {item.message && <Parts parts={item.message.parts} />}
        </Block>
      );
    default:
      return item satisfies never;
  }
}

interface BlockProps {
  readonly icon?: IconName;
  readonly title: ComponentChildren;
  readonly aside?: ComponentChildren;
  readonly children?: ComponentChildren;
}

function Block({ icon, title, aside, children }: BlockProps) {
  return (
    <>
      <p class="story-title">
        {icon && <Icon name={icon} size={15} />}
        <span>{title}</span>
        {aside !== undefined && <span class="muted small">{aside}</span>}
      </p>
      {children}
    </>
  );
}

function Said({ item }: { readonly item: SaidItem }) {
  const text = item.texts.join("").trim();
  return (
    <>
      {item.name !== undefined && <p class="story-title">{visibleLine(item.name, 200)}</p>}
      {text !== "" && <Prose text={text} />}
      <Parts parts={item.parts} />
    </>
  );
}

const OUTCOMES: Readonly<Record<ToolItem["outcome"], string>> = {
  running: "has not ended",
  done: "done",
  failed: "failed",
  declined: "declined",
};

function ToolCall({ item, called }: { readonly item: ToolItem; readonly called: CalledTasks }) {
  return (
    <Block
      icon={item.child ? "agents" : "key"}
      title={<code>{visibleLine(item.name, 200)}</code>}
      aside={
        <>
          <span class={`outcome ${item.outcome}`}>{OUTCOMES[item.outcome]}</span>
          <Took from={item.at} to={item.endedAt} />
        </>
      }
    >
      {item.progress !== undefined && item.outcome === "running" && (
        <p class="story-line">{visibleLine(item.progress, 400)}</p>
      )}
      {item.approval && <ApprovalFacts approval={item.approval} decision={item.decision} />}
      {item.child && <Child child={item.child} node={called.get(item.child.taskId)} />}
      {item.input !== undefined && <JsonTree name="input" value={item.input} openLevels={1} />}
      {item.output !== undefined && <JsonTree name="output" value={item.output} openLevels={1} />}
    </Block>
  );
}

interface ChildProps {
  readonly child: NonNullable<ToolItem["child"]>;
  readonly node: TreeNode | undefined;
}

function Child({ child: { agent, taskId }, node }: ChildProps) {
  const name = `Task ${shortId(taskId)} of ${visibleLine(agent, 100)}`;
  return (
    <p class="child">
      {node && hasPage(node) ? (
        <Link to={{ page: "task", taskId, lens: "story" }}>{name}</Link>
      ) : (
        name
      )}
      {node?.state && <StateBadge state={node.state} />}
    </p>
  );
}

function Took({
  from,
  to,
}: {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}) {
  return from === undefined || to === undefined ? null : <> in {formatDuration(to - from)}</>;
}

interface ApprovalFactsProps {
  readonly approval: Fields;
  readonly decision: Fields | undefined;
}

function ApprovalFacts({ approval, decision }: ApprovalFactsProps) {
  const risk = textField(approval, "risk");
  const decidedBy = decision && textField(decision, "decidedBy");
  const outcome = decision && textField(decision, "outcome");
  const feedback = decision && textField(decision, "feedback");
  return (
    <p class="approval-line">
      <Icon name="approvals" size={15} />
      <span>
        {visibleLine(textField(approval, "title") ?? "Approval", 300)}{" "}
        {risk !== undefined && <RiskBadge risk={risk} />}{" "}
        {outcome === undefined ? (
          "Not decided yet."
        ) : (
          <strong>
            {capital(outcome)}
            {decidedBy !== undefined && ` by ${visibleLine(decidedBy, 100)}`}.
          </strong>
        )}
        {feedback !== undefined && <> “{visibleLine(feedback, 600)}”</>}
      </span>
    </p>
  );
}

function capital(text: string): string {
  return visibleLine(text.charAt(0).toUpperCase() + text.slice(1), 40);
}

function Question({ item }: { readonly item: QuestionItem }) {
  const known = item.requests.map(promptOf).filter((prompt) => prompt !== "");
  const prompts = known.length > 0 ? known : [item.text ?? ""];
  return (
    <Block
      icon="chat"
      title="Asked"
      aside={
        item.answer === undefined ? (
          "waits for an answer"
        ) : (
          <>
            {item.answer}
            <Took from={item.at} to={item.answeredAt} />
          </>
        )
      }
    >
      <SomeOf
        items={prompts}
        limit={20}
        render={(prompt) => (
          <p class="prose">
            <LongText text={prompt} />
          </p>
        )}
      />
    </Block>
  );
}

function promptOf(request: Fields): string {
  return textField(request, "prompt") ?? textField(fieldsOf(request["approval"]), "title") ?? "";
}

function Step({ item }: { readonly item: StepItem }) {
  const outcome = item.problem !== undefined ? "failed" : item.isDone ? "done" : "running";
  return (
    <Block
      icon="check"
      title={<code>{visibleLine(item.name, 200)}</code>}
      aside={
        <>
          <span class={`outcome ${outcome}`}>{OUTCOMES[outcome]}</span>
          <Took from={item.at} to={item.endedAt} />
        </>
      }
    >
      {item.problem !== undefined && <p class="story-line bad">{visibleLine(item.problem, 600)}</p>}
      {item.result !== undefined && <JsonTree name="result" value={item.result} />}
    </Block>
  );
}

interface GapProps {
  readonly item: { readonly seq: number; readonly to: number };
  readonly load: () => void;
}

function Gap({ item, load }: GapProps) {
  return (
    <p class="story-line">
      Events {formatCount(item.seq)} to {formatCount(item.to)} are not loaded.{" "}
      <button type="button" class="show-more" onClick={load}>
        Load them
      </button>
    </p>
  );
}
