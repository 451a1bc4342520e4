import { useState } from "preact/hooks";
import { ApprovalCard, DecisionLine } from "../kit/approval/approval-card.tsx";
import { Empty, Loading, Problem } from "../kit/notices.tsx";
import { singleKeys, switchSingleKeys } from "../kit/single-keys.ts";
import { Ago } from "../kit/time.tsx";
import { useKeys } from "../kit/use-keys.ts";
import { VisibleText } from "../kit/visible-text.tsx";
import { Link } from "../navigation/navigate.tsx";
import { about } from "../server/about.ts";
import {
  type ApprovalRequest,
  type Grant,
  decide,
  decidedApprovals,
  listGrants,
  loadApprovals,
  openApprovals,
  takeBack,
} from "../server/approvals.ts";
import { useResource } from "../server/resource.ts";

/** Everything that waits for a decision, what was decided, and what is approved for always. */
export function ApprovalsPage() {
  const loaded = useResource(loadApprovals, []);
  const open = openApprovals.value;
  const [selectedId, setSelected] = useState<string>();
  const selected = open?.find(({ id }) => id === selectedId) ?? open?.[0];
  useApprovalKeys(open ?? [], selected, setSelected);
  const status = loaded.problem ? "error" : open === undefined ? "loading" : "ready";
  return (
    <div class="page approvals-page" data-status={status}>
      <div class="page-head">
        <h1>Approvals</h1>
        <KeySwitch />
      </div>
      {loaded.problem && <Problem problem={loaded.problem} retry={loaded.reload} />}
      {open === undefined && !loaded.problem && <Loading />}
      <p class="visually-hidden" role="status">
        {open === undefined ? "" : `${open.length} approvals are waiting.`}
      </p>
      {open?.length === 0 && (
        <Empty title="Nothing waits for a decision">
          <p>Tool calls that need approval appear here as soon as an agent asks.</p>
        </Empty>
      )}
      <ul class="approval-list">
        {open?.map((approval) => (
          <li key={approval.id} onFocusCapture={() => setSelected(approval.id)}>
            <ApprovalCard
              approval={approval}
              decide={(decision) => decide(approval, decision)}
              isSelected={singleKeys.value && approval === selected}
            >
              <Source approval={approval} />
            </ApprovalCard>
          </li>
        ))}
      </ul>
      <Decided />
      <Grants />
    </div>
  );
}

function Source({ approval }: { readonly approval: ApprovalRequest }) {
  const agent = about.value?.agents.find(({ id }) => id === approval.agentId);
  return (
    <>
      {agent !== undefined && (
        <span>
          <VisibleText text={agent.name} />
        </span>
      )}
      <Link to={{ page: "task", taskId: approval.taskId, lens: "story" }}>Task</Link>
      <Link to={{ page: "chat", agent: approval.agentId, contextId: approval.contextId }}>
        Chat
      </Link>
      <Ago at={approval.createdAt} />
    </>
  );
}

function Decided() {
  const decided = decidedApprovals.value;
  if (decided.length === 0) return null;
  return (
    <section class="card approval-section" aria-labelledby="decided-title">
      <h2 id="decided-title">Decided</h2>
      <ul class="decided-list">
        {decided.map(({ approval, decision, isMine }) => (
          <li key={approval.id} data-decided={approval.id}>
            <Link to={{ page: "task", taskId: approval.taskId, lens: "story" }}>
              <VisibleText text={approval.title} />
            </Link>
            <DecisionLine decision={decision} isMine={isMine} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Grants() {
  const grants = useResource(listGrants, [decidedApprovals.value]);
  if (grants.value === undefined || grants.value.length === 0) return null;
  return (
    <section class="card approval-section" aria-labelledby="grants-title">
      <h2 id="grants-title">Always approved</h2>
      <ul class="decided-list">
        {grants.value.map((grant) => (
          <GrantRow key={grant.id} grant={grant} onChange={grants.reload} />
        ))}
      </ul>
    </section>
  );
}

function GrantRow({ grant, onChange }: { readonly grant: Grant; readonly onChange: () => void }) {
  const agent = about.value?.agents.find(({ id }) => id === grant.agentId);
  return (
    <li>
      <span>
        <code>
          <VisibleText text={grant.tool} />
        </code>{" "}
        of <VisibleText text={agent?.name ?? grant.agentId ?? "an agent"} />
      </span>
      {grant.grantedAt !== undefined && (
        <span class="small muted">
          <Ago at={grant.grantedAt} />
        </span>
      )}
      <button
        type="button"
        class="button"
        aria-label={`Take back ${grant.tool}`}
        onClick={() => void takeBack(grant).then(onChange)}
      >
        Take back
      </button>
    </li>
  );
}

/** The switch of all pages, here as well because these keys decide something. */
function KeySwitch() {
  const change = (event: Event): void =>
    switchSingleKeys((event.currentTarget as HTMLInputElement).checked);
  return (
    <label class="choice small key-switch">
      <input type="checkbox" checked={singleKeys.value} onChange={change} />
      <span>
        Keys: <kbd>j</kbd> <kbd>k</kbd> move, <kbd>a</kbd> approve, <kbd>r</kbd> reject
      </span>
    </label>
  );
}

function useApprovalKeys(
  open: readonly ApprovalRequest[],
  selected: ApprovalRequest | undefined,
  select: (id: string) => void,
): void {
  const move = (by: number): void => {
    const place = open.findIndex(({ id }) => id === selected?.id);
    const next = open[Math.min(Math.max(place + by, 0), open.length - 1)];
    if (next === undefined) return;
    select(next.id);
    cardOf(next.id)?.scrollIntoView({ block: "nearest" });
  };
  const press = (option: "once" | "reject"): void => {
    if (selected === undefined) return;
    cardOf(selected.id)?.querySelector<HTMLButtonElement>(`[data-option="${option}"]`)?.click();
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    a: () => press("once"),
    r: () => press("reject"),
  });
}

function cardOf(id: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-approval="${CSS.escape(id)}"]`);
}
