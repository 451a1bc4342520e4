import { packageVersion } from "@convoke/engine/version";
import type { Caller } from "@convoke/protocol";
import type { App } from "../app.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import { ROLE_SCOPES } from "../../guard/roles.ts";
import { type HttpRequest, type HttpResponse, jsonResponse } from "../../http/exchange.ts";
import { admit } from "./admit.ts";

/** Describes the server, its agents, and what the caller may do here. */
export async function handleAbout(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const { caller } = await admit(app, "describeServer", { request, caller: identified });
  const body = {
    version: packageVersion(),
    agents: app.isOperator(caller) ? withOperatorFields(app, request) : listAgents(app, request),
    caller: describeCaller(app, caller),
    features: {
      agents: app.switches !== undefined,
      metrics: app.metricsHistory !== undefined,
      push: app.push !== undefined,
      streaming: app.engine.streams,
    },
  };
  return jsonResponse(200, JSON.stringify(body), { "cache-control": "no-store" });
}

interface AgentJson {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Where its card, its A2A bindings and its `/convoke/` begin. */
  readonly path: string;
  readonly isEnabled: boolean;
  readonly isDefault: boolean;
  /** Whether its tasks stay on the machine where they began. */
  readonly isLocal?: boolean;
}

function listAgents({ engine, agent: root }: App, { basePath }: HttpRequest): readonly AgentJson[] {
  return Array.from(engine.agents, (agent) => {
    const { id, info, isEnabled } = agent;
    const { name, description, version, local } = info;
    return {
      id,
      name,
      description,
      version,
      path: `${basePath}/agents/${id}`,
      isEnabled,
      isDefault: agent === root,
      ...(local === true && { isLocal: true }),
    };
  });
}

/** Adds how busy the agents are, and where remote ones are. */
function withOperatorFields(app: App, request: HttpRequest): readonly object[] {
  return listAgents(app, request).map((agent) => {
    const { running, definition } = app.engine.agents.get(agent.id) ?? {};
    return { ...agent, running, remote: definition?.remote };
  });
}

function describeCaller({ isOperator, roles }: App, caller: Caller): object {
  const { scopes = [] } = caller;
  return {
    ...unscopedOwner(caller.owner),
    isOperator: isOperator(caller),
    readsAllOwners: scopes.includes(ROLE_SCOPES.operator),
    isApprover: roles.approversActForOthers === true && scopes.includes(ROLE_SCOPES.approver),
  };
}
