import { type JsonObject, isObject, oneLine, printableJson } from "@convoke/protocol/internal";
import { useResource } from "../server/resource.ts";
import { ask } from "../server/session.ts";
import type { TaskPage } from "../server/task-list.ts";
import { agentPath } from "./card-file.ts";

/** What an agent has reported about itself at the end of a task. */
interface RunReport {
  readonly model: string;
  readonly tools: readonly JsonObject[];
  readonly servers: readonly JsonObject[];
  readonly subAgents: readonly JsonObject[];
}

/** The model, the tools, the MCP servers and the sub-agents of an agent, as of its last task. */
export function ToolsPanel({ agentId }: { readonly agentId: string }) {
  const report = useResource(() => readReport(agentId), [agentId]).value;
  if (report === undefined) return null;
  const { model, tools, servers, subAgents } = report;
  if (model === "" && tools.length + servers.length + subAgents.length === 0) return null;
  return (
    <section class="card agent-section" aria-label="Model and tools">
      <h2>Model and tools</h2>
      <p class="muted small">
        As its last completed task has reported{model !== "" && ` (model ${model})`}.
      </p>
      <Parts title="Sub-agents" parts={subAgents} />
      <Parts title="MCP servers" parts={servers} />
      <Parts title="Tools" parts={tools} />
    </section>
  );
}

async function readReport(agentId: string): Promise<RunReport> {
  const base = `${agentPath(agentId)}/convoke/tasks`;
  const { tasks } = await ask<TaskPage>(`${base}?pageSize=1&status=completed`);
  const [task] = tasks;
  const log = task && `${base}/${encodeURIComponent(task.id)}/log?after=${task.head - 1}`;
  const { events = [] } = log
    ? await ask<{ readonly events?: readonly { readonly event: JsonObject }[] }>(log)
    : {};
  const metadata = events.at(-1)?.event["metadata"];
  const { model, ...lists } = isObject(metadata) ? metadata : {};
  return {
    model: typeof model === "string" ? oneLine(model, 80) : "",
    tools: list(lists["availableTools"]),
    servers: list(lists["mcpServers"]),
    subAgents: list(lists["subAgents"]),
  };
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function Parts({
  title,
  parts,
}: {
  readonly title: string;
  readonly parts: readonly JsonObject[];
}) {
  if (parts.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      {parts.map((part) => {
        const { name, description, status } = part;
        return (
          <details key={String(name)} class="agent-part">
            <summary>
              <span class="mono">{oneLine(String(name), 80)}</span>{" "}
              {typeof status === "string" && <span class="badge">{oneLine(status, 40)}</span>}{" "}
              <span class="muted small">
                {typeof description === "string" && oneLine(description)}
              </span>
            </summary>
            <pre class="agent-json">{printableJson(part, 2)}</pre>
          </details>
        );
      })}
    </>
  );
}
