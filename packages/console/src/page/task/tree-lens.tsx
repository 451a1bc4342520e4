import { useEffect, useRef, useState } from "preact/hooks";
import { Loading, Problem } from "../kit/notices.tsx";
import { StateBadge } from "../kit/state-badge.tsx";
import { formatCost, formatCount, formatDuration } from "../kit/time.tsx";
import { visibleText } from "../kit/visible-text.tsx";
import { Link, navigate } from "../navigation/navigate.tsx";
import { type CallTree, type TreeNode, hasPage, readTree } from "../server/call-tree.ts";
import { onTaskChange } from "../server/feed.ts";
import { useResource } from "../server/resource.ts";
import type { LensProps } from "./lens.ts";

/** The tasks of all agents that work for the same request, from the first one down. */
export function TreeLens({ log }: LensProps) {
  const tree = useResource((signal) => readTree(log.taskId, signal), [log.taskId]);
  const { value, reload } = tree;
  const ids = new Set(value?.nodes.map(({ taskId }) => taskId));
  const known = useRef(ids);
  known.current = ids;
  useEffect(
    () =>
      onTaskChange((change) => {
        if (change === "reload" || known.current.has(change.id)) reload();
      }),
    [reload],
  );
  if (tree.problem && value === undefined) return <Problem problem={tree.problem} retry={reload} />;
  if (value === undefined) return <Loading />;
  return (
    <>
      <p class="small muted">The tree as it is now, whatever the playhead shows.</p>
      <Nodes tree={value} taskId={log.taskId} />
      {value.truncated && <p class="notice">The tree is larger than what is shown.</p>}
    </>
  );
}

interface NodesProps {
  readonly tree: CallTree;
  /** The task of the page. */
  readonly taskId: string;
}

/** A tree by the ARIA practices: one of its items has the focus, arrow keys move it. */
function Nodes({ tree, taskId }: NodesProps) {
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [focused, setFocused] = useState(taskId);
  const list = useRef<HTMLDivElement>(null);
  const children = childrenOf(tree);
  const visible = visibleNodes(tree, children, closed);
  const toggle = (id: string, isClosed: boolean): void => {
    const changed = new Set(closed);
    if (isClosed) changed.add(id);
    else changed.delete(id);
    setClosed(changed);
  };
  const focus = (node: TreeNode | undefined): void => {
    if (node === undefined) return;
    setFocused(node.taskId);
    list.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(node.taskId)}"]`)?.focus();
  };
  const press = (event: KeyboardEvent): void => {
    const place = visible.findIndex((node) => node.taskId === focused);
    const node = visible[place];
    if (node === undefined) return;
    const isOpen = children.has(node.taskId) && !closed.has(node.taskId);
    const actions: Readonly<Record<string, () => void>> = {
      ArrowDown: () => focus(visible[place + 1]),
      ArrowUp: () => focus(visible[place - 1]),
      Home: () => focus(visible[0]),
      End: () => focus(visible.at(-1)),
      ArrowRight: () => (isOpen ? focus(visible[place + 1]) : toggle(node.taskId, false)),
      ArrowLeft: () =>
        isOpen
          ? toggle(node.taskId, true)
          : focus(visible.find(({ taskId: id }) => id === node.parentId)),
      Enter: () => hasPage(node) && navigate(taskRoute(node)),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  return (
    <div
      ref={list}
      class="tree card"
      role="tree"
      aria-label="Call tree"
      tabIndex={-1}
      onKeyDown={press}
    >
      {visible.map((node) => (
        <Node
          key={node.taskId}
          node={node}
          isThis={node.taskId === taskId}
          isFocused={node.taskId === focused}
          isOpen={children.has(node.taskId) ? !closed.has(node.taskId) : undefined}
          onFocus={() => setFocused(node.taskId)}
        />
      ))}
    </div>
  );
}

function taskRoute({ taskId }: TreeNode) {
  return { page: "task", taskId, lens: "tree" } as const;
}

type Children = ReadonlyMap<string, readonly TreeNode[]>;

function childrenOf({ nodes }: CallTree): Children {
  const children = new Map<string, TreeNode[]>();
  for (const node of nodes) {
    if (node.parentId === undefined) continue;
    children.set(node.parentId, [...(children.get(node.parentId) ?? []), node]);
  }
  return children;
}

function visibleNodes(
  { nodes, rootId }: CallTree,
  children: Children,
  closed: ReadonlySet<string>,
): readonly TreeNode[] {
  const visible: TreeNode[] = [];
  const add = (node: TreeNode): void => {
    visible.push(node);
    if (!closed.has(node.taskId)) (children.get(node.taskId) ?? []).forEach(add);
  };
  nodes.filter(({ taskId }) => taskId === rootId).forEach(add);
  return visible;
}

interface NodeProps {
  readonly node: TreeNode;
  readonly isThis: boolean;
  readonly isFocused: boolean;
  /** Absent if it has no children. */
  readonly isOpen: boolean | undefined;
  readonly onFocus: () => void;
}

function Node({ node, isThis, isFocused, isOpen, onFocus }: NodeProps) {
  const name = node.calledAs ?? node.agent ?? "agent";
  const hasName = node.agent !== undefined && node.agent !== name;
  return (
    <div
      class="tree-node"
      role="treeitem"
      data-node={node.taskId}
      aria-level={node.depth + 1}
      aria-expanded={isOpen}
      aria-selected={isThis}
      tabIndex={isFocused ? 0 : -1}
      onFocus={onFocus}
      style={{ paddingInlineStart: `${12 + node.depth * 22}px` }}
    >
      <span class="tree-mark" aria-hidden="true">
        {isOpen === undefined ? "·" : isOpen ? "▾" : "▸"}
      </span>
      <span class="tree-name">
        {isThis || !hasPage(node) ? (
          <strong>{visibleText(name)}</strong>
        ) : (
          <Link to={taskRoute(node)} tabIndex={-1}>
            {visibleText(name)}
          </Link>
        )}
        {hasName && <span class="muted small"> {visibleText(node.agent!)}</span>}
        {node.where !== "here" && <Where node={node} />}
        {node.question !== undefined && (
          <span class="tree-question small">asks: {visibleText(node.question.slice(0, 200))}</span>
        )}
        {node.problem !== undefined && (
          <span class="small bad-text">{visibleText(node.problem)}</span>
        )}
      </span>
      {node.state && <StateBadge state={node.state} />}
      <Figures node={node} />
    </div>
  );
}

function Where({ node: { where, address } }: { readonly node: TreeNode }) {
  const text = where === "remote" ? "elsewhere" : "no longer known";
  return (
    <span class="badge" title={address}>
      {text}
      {address !== undefined && `: ${visibleText(hostOf(address))}`}
    </span>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

function Figures({ node: { createdAt, endedAt, usage } }: { readonly node: TreeNode }) {
  const end = endedAt === undefined ? undefined : Date.parse(endedAt);
  const ms = createdAt === undefined || end === undefined ? undefined : end - Date.parse(createdAt);
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
  return (
    <span class="tree-figures small muted">
      {ms !== undefined && <span>{formatDuration(ms)}</span>}
      {tokens > 0 && <span>{formatCount(tokens)} tokens</span>}
      {usage?.costUsd !== undefined && <span>{formatCost(usage.costUsd)}</span>}
    </span>
  );
}
