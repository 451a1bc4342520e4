import type { AgentCardFacts, AgentInfo, Caller } from "@convoke/protocol";
import type { FileView, RunningEngine, ServedAgent } from "@convoke/engine";
import type { AgentOptions } from "./agent-options.ts";
import { App } from "./bindings/app.ts";
import type { RemoteAgentEntry } from "./cards/agent-list.ts";
import {
  CardBinding,
  addressFor,
  cardFacts,
  rootAddressFor,
  extendedFacts,
  protectedResource,
} from "./cards/card-binding.ts";
import { withSkillSecurity, withUsableSkills } from "./cards/skill-security.ts";
import type { Authentication } from "./guard/authenticate.ts";
import { Authorization, missingScopes } from "./guard/authorize.ts";
import type { ServerAddress } from "./http/address.ts";
import type { HttpRequest } from "./http/exchange.ts";

/** What the agents of a server share. */
export interface Origin {
  readonly options: AgentOptions & {
    /** Where the server listens. Absent inside an app that owns the port. */
    readonly address?: ServerAddress;
  };
  readonly authentication: Authentication;
  readonly running: RunningEngine;
  /** Agents at other addresses that the server lists. */
  readonly remoteAgents: readonly RemoteAgentEntry[];
  readonly parts: Pick<
    App,
    | "keepAlive"
    | "fileLinks"
    | "cors"
    | "operations"
    | "guard"
    | "rates"
    | "inboundRate"
    | "readApi"
    | "console"
    | "metricsText"
    | "metricsHistory"
    | "isOperator"
    | "switches"
    | "onLimit"
  >;
}

/** Creates what handles the requests to an agent: its card, its skills and what callers may do with it. */
export function createApp(agent: ServedAgent, origin: Origin, find: App["find"]): App {
  const { options, parts, running } = origin;
  const { engine, push, erasures } = running;
  const { card, logger, tenants, strict, specPatch, restFrames, compat } = options;
  const { security } = origin.authentication;
  const authorization = new Authorization(() => agent.info, options);
  const facts = cardFacts(agent, {
    ...options,
    streams: engine.streams,
    pushes: push !== undefined,
    security,
    hasExtendedCard: options.extendedCard !== undefined && security !== undefined,
  });
  const secured = (given: AgentCardFacts): AgentCardFacts =>
    withSkillSecurity(given, (id) => authorization.scopesForSkill(id));
  const extended = (request: HttpRequest, caller: Caller, more: Partial<AgentInfo>) =>
    withUsableSkills(
      secured(extendedFacts(facts(request), more)),
      (id) => missingScopes(caller, authorization.scopesForSkill(id)).length === 0,
    );
  // Nearly all requests use the same address, and a stream keeps its view for as long as it is open.
  let view: FileView = {};
  return new App({
    ...parts,
    engine,
    agent,
    find,
    fileView: (request) => {
      const baseUrl = rootAddressFor(request, options);
      if (baseUrl !== view.baseUrl) view = { baseUrl };
      return view;
    },
    logger,
    push,
    erasures,
    tenants: new Set(tenants),
    isStrict: strict === true,
    restFrames: restFrames ?? "bare",
    confirmsPush: compat?.pushSuccess === true,
    specPatch: specPatch ?? "1.0.1",
    authorization,
    roles: options.roles ?? {},
    metrics: engine.metrics,
    audit: engine.audit,
    card: new CardBinding(
      (request) => secured(facts(request)),
      card,
      engine.backend.sharing !== undefined,
    ),
    extendedCard: createExtendedCard(agent, origin, extended),
    protectedResource: createProtectedResource(agent, origin),
  });
}

/** Without authentication no caller gets the extended card (1.0 §13.3), and the card does not declare it. */
function createExtendedCard(
  { id }: ServedAgent,
  { options: { extendedCard }, authentication }: Origin,
  build: (request: HttpRequest, caller: Caller, more: Partial<AgentInfo>) => AgentCardFacts,
): App["extendedCard"] {
  if (extendedCard === undefined || authentication.security === undefined) return undefined;
  return async (request, caller) => {
    const more = await extendedCard(caller, id);
    return more && build(request, caller, more);
  };
}

function createProtectedResource(
  agent: ServedAgent,
  { options, authentication: { authorizationServers } }: Origin,
): App["protectedResource"] {
  if (authorizationServers.length === 0) return undefined;
  return (request) => {
    const address = addressFor(request, options);
    return protectedResource({ address, name: agent.info.name, authorizationServers });
  };
}
