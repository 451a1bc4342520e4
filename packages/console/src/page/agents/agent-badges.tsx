import { type AgentSummary, about } from "../server/about.ts";

/** What distinguishes an agent from others: where it is, and whether it works. */
export function AgentBadges({
  isDefault,
  isEnabled,
  running = 0,
}: Pick<AgentSummary, "isDefault" | "isEnabled" | "running">) {
  const isOneOfSeveral = (about.value?.agents.length ?? 0) > 1;
  return (
    <p class="agent-badges">
      {isDefault && isOneOfSeveral && <span class="badge">At the root</span>}
      {!isEnabled && <span class="badge agent-off">Disabled</span>}
      {running > 0 && <span class="badge agent-busy">{running} running</span>}
    </p>
  );
}
