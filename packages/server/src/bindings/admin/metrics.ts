import { packageVersion } from "@convoke/engine/version";
import { A2AError, type Caller, type TaskState } from "@convoke/protocol";
import type { Engine, MetricsSample } from "@convoke/engine";
import type { App } from "../app.ts";
import { denied } from "../../guard/authorize.ts";
import { ROLE_SCOPES } from "../../guard/roles.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import { admit } from "./admit.ts";

/** Returns what the server does now, and what happened in the last hour. */
export async function handleMetrics(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const { caller } = await admit(app, "readMetrics", { request, caller: identified });
  if (!app.isOperator(caller)) {
    const scopes = [ROLE_SCOPES.operator];
    throw denied("metrics are for operators", { missing: scopes, required: scopes });
  }
  const { metricsHistory } = app;
  if (metricsHistory === undefined) {
    throw new A2AError("MethodNotFound", "this server measures nothing: set metrics to true");
  }
  const history = metricsHistory.read(Date.now());
  const body = {
    version: packageVersion(),
    uptimeSeconds: Math.round(process.uptime()),
    stepSeconds: metricsHistory.stepMs / 1000,
    now: await describeNow(app, history),
    history: history.map(({ at, ...sample }) => ({ at: new Date(at).toISOString(), ...sample })),
  };
  return jsonResponse(200, JSON.stringify(body), { "cache-control": "no-store" });
}

async function describeNow(
  { engine, push }: App,
  history: readonly MetricsSample[],
): Promise<object> {
  const { byState, isComplete } = await countStates(engine);
  const { running, unfinished, streams, memoryBytes: rssBytes } = history.at(-1)!;
  const lastCommits = history.findLast(({ commits }) => commits.count > 0)?.commits;
  return {
    running,
    waiting: (byState["input-required"] ?? 0) + (byState["auth-required"] ?? 0),
    unfinished,
    byState,
    ...(!isComplete && { countedTasks: MAX_COUNTED }),
    streams,
    push: push === undefined ? { pending: 0, oldestSeconds: 0 } : push.backlog(),
    commits: lastCommits ?? { count: 0 },
    memory: { rssBytes, heapUsedBytes: process.memoryUsage().heapUsed },
    ...(engine.unreadyReason !== undefined && { problem: engine.unreadyReason }),
  };
}

/** How many unfinished tasks are counted by their state; there may be many more. */
const MAX_COUNTED = 2000;

const PAGE = 500;

async function countStates({ backend }: Engine) {
  const byState: Partial<Record<TaskState, number>> = {};
  let after = "";
  for (let counted = 0; counted < MAX_COUNTED; counted += PAGE) {
    const page = await backend.tasks.unfinished(after, PAGE);
    for (const { state } of page) byState[state] = (byState[state] ?? 0) + 1;
    if (page.length < PAGE) return { byState, isComplete: true };
    after = page.at(-1)!.taskId;
  }
  return { byState, isComplete: false };
}
