import { A2AError, type Caller } from "@convoke/protocol";
import type { ServedAgent } from "@convoke/engine";
import { type AgentOperation, denied } from "../../guard/authorize.ts";
import { ROLE_SCOPES } from "../../guard/roles.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import type { App } from "../app.ts";
import { pathId } from "./admit.ts";
import type { AgentSwitches } from "../agent-switches.ts";

/** Lists the agents as their operator sees them. */
export async function handleListAgents(
  app: App,
  _: HttpRequest,
  caller: Caller,
): Promise<HttpResponse> {
  await operatorSwitches(app, caller, "listAgents", {});
  const agents = Array.from(app.engine.agents, (agent) => toJson(app, agent));
  return jsonResponse(200, JSON.stringify({ agents }));
}

const SWITCH_PATH = /^\/convoke\/agents\/(?<id>[^/:]+):(?<action>enable|disable)$/;

/** What a path switches; `undefined` for other paths. */
export function parseSwitchPath(
  request: HttpRequest,
): { readonly id: string; readonly isEnabled: boolean } | undefined {
  const id = pathId(SWITCH_PATH, request);
  return id === undefined ? undefined : { id, isEnabled: request.path.endsWith(":enable") };
}

/** Decides whether an agent accepts new tasks, at all servers that share it. */
export async function handleSwitch(
  app: App,
  { id, isEnabled }: { readonly id: string; readonly isEnabled: boolean },
  { request, caller }: { readonly request: HttpRequest; readonly caller: Caller },
): Promise<HttpResponse> {
  const operation = isEnabled ? "enableAgent" : "disableAgent";
  const switches = await operatorSwitches(app, caller, operation, { id });
  const agent = app.engine.agents.get(id);
  if (agent === undefined) {
    const ids = Array.from(app.engine.agents, (one) => one.id).join(", ");
    const message = `there is no agent ${JSON.stringify(id)} here; there are ${ids}`;
    return jsonResponse(
      404,
      JSON.stringify({ error: { code: 404, reason: "unknown-agent", message } }),
    );
  }
  await switches.enable(id, isEnabled);
  const { owner } = caller;
  app.audit.record(isEnabled ? "agent.enabled" : "agent.disabled", {
    requestId: request.id,
    owner,
    agentId: id,
  });
  return jsonResponse(200, JSON.stringify(toJson(app, agent)));
}

/** Agents concern all callers of all tenants, so an operator of one tenant may not switch them. */
async function operatorSwitches(
  { switches, isOperator, authorization }: App,
  caller: Caller,
  operation: AgentOperation,
  params: object,
): Promise<AgentSwitches> {
  if (switches === undefined) throw new A2AError("MethodNotFound", "there is no such path");
  if (isOperator(caller) && caller.tenant === undefined) {
    await authorization.check(caller, operation, params);
    return switches;
  }
  const missing = isOperator(caller) ? [] : [ROLE_SCOPES.operator];
  throw denied("the agents of a server are for its operators", { missing, required: missing });
}

function toJson({ agent: root }: App, agent: ServedAgent): object {
  const { id, info, isEnabled, running } = agent;
  const { name, description } = info;
  return { id, name, description, isEnabled, isDefault: agent === root, running };
}
