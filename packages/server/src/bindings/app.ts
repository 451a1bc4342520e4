import {
  A2AError,
  type AgentCardFacts,
  type Caller,
  type Metrics,
  type SpecPatch,
} from "@convoke/protocol";
import type { Cors } from "../http/cors.ts";
import type { HttpRequest, HttpResponse, RequestHandler } from "../http/exchange.ts";
import {
  type Audit,
  type Call,
  type Engine,
  type Erasures,
  type FileLinks,
  type FileView,
  type Logger,
  type MetricsHistory,
  type PushService,
  type ServedAgent,
  isStorageFailure,
  newErrorId,
  unavailable,
} from "@convoke/engine";
import type { AgentSwitches } from "./agent-switches.ts";
import type { CardBinding } from "../cards/card-binding.ts";
import type { ConsoleFiles } from "./console/handle.ts";
import type { KeepAlive } from "./keep-alive.ts";
import type { Operations } from "./interceptors.ts";
import type { Authorization } from "../guard/authorize.ts";
import type { RoleOptions } from "../guard/roles.ts";
import type { Guard } from "../guard/guard.ts";
import type { InboundRate } from "../guard/inbound-rate.ts";
import type { RateLimiter } from "../guard/rate-limit.ts";

/** The parts of a running server that handle the requests to one agent. Most are shared by all of its agents. */
export class App {
  readonly engine: Engine;
  readonly agent: ServedAgent;
  /** Finds another agent of the server by its id. */
  readonly find: (id: string) => App | undefined;
  readonly guard: Guard;
  readonly authorization: Authorization;
  /** What approvers and operators may do for other owners. */
  readonly roles: RoleOptions;
  readonly rates: RateLimiter;
  /** Limits the tasks of the polling protocol. */
  readonly inboundRate: InboundRate;
  readonly metrics: Metrics;
  readonly audit: Audit;
  /** A caller has reached a limit. */
  readonly onLimit: RequestHandler["onLimit"];
  /** Whether logs and the feed are served. */
  readonly readApi: boolean;
  /** The files of the web console; `undefined` if it is not served. */
  readonly console: ConsoleFiles | undefined;
  /** Disables and enables agents for operators; `undefined` if that is switched off. */
  readonly switches: AgentSwitches | undefined;
  /** The metrics as text; `undefined` if they are not served. */
  readonly metricsText: (() => string) | undefined;
  /** The metrics of the last hour; `undefined` if nothing is measured, or if the read API is off. */
  readonly metricsHistory: MetricsHistory | undefined;
  /** Whether a caller may see what concerns all callers, such as metrics. */
  readonly isOperator: (caller: Caller) => boolean;
  readonly cors: Cors;
  readonly card: CardBinding;
  readonly keepAlive: KeepAlive;
  /** Creates and checks links to files. */
  readonly fileLinks: FileLinks | undefined;
  /** How the client of a request gets large files: its links have the address that it uses. */
  readonly fileView: (request: HttpRequest) => FileView;
  readonly logger: Logger;
  /** Absent if push notifications are disabled. */
  readonly push: PushService | undefined;
  readonly erasures: Erasures;
  /** The tenants of this server. */
  readonly tenants: ReadonlySet<string>;
  /** Whether only the forms of the specification are accepted. */
  readonly isStrict: boolean;
  /** Whether 0.3 REST streams also have the fields of JSON-RPC responses. */
  readonly restFrames: "bare" | "both";
  /** Whether 0.3 JSON-RPC adds `success` to a push config that was set. */
  readonly confirmsPush: boolean;
  /** The edition of 1.0 whose status codes are used for errors. */
  readonly specPatch: SpecPatch;
  /** The operations with interceptors; `undefined` if there are none. */
  readonly operations: Operations | undefined;
  readonly extendedCard:
    | ((request: HttpRequest, caller: Caller) => Promise<AgentCardFacts | undefined>)
    | undefined;
  /** Describes the server to OAuth clients (RFC 9728). Absent if it accepts no tokens of an issuer. */
  readonly protectedResource: ((request: HttpRequest) => HttpResponse) | undefined;
  #hasNoticedAgentRole = false;

  constructor(parts: Omit<App, "toA2AError" | "extendedCardFor" | "noticeAgentRole">) {
    this.engine = parts.engine;
    this.agent = parts.agent;
    this.find = parts.find;
    this.guard = parts.guard;
    this.authorization = parts.authorization;
    this.roles = parts.roles;
    this.rates = parts.rates;
    this.inboundRate = parts.inboundRate;
    this.metrics = parts.metrics;
    this.audit = parts.audit;
    this.onLimit = parts.onLimit;
    this.readApi = parts.readApi;
    this.console = parts.console;
    this.switches = parts.switches;
    this.metricsText = parts.metricsText;
    this.metricsHistory = parts.metricsHistory;
    this.isOperator = parts.isOperator;
    this.cors = parts.cors;
    this.card = parts.card;
    this.keepAlive = parts.keepAlive;
    this.fileLinks = parts.fileLinks;
    this.fileView = parts.fileView;
    this.logger = parts.logger;
    this.push = parts.push;
    this.erasures = parts.erasures;
    this.tenants = parts.tenants;
    this.isStrict = parts.isStrict;
    this.restFrames = parts.restFrames;
    this.confirmsPush = parts.confirmsPush;
    this.specPatch = parts.specPatch;
    this.operations = parts.operations;
    this.extendedCard = parts.extendedCard;
    this.protectedResource = parts.protectedResource;
  }

  /** The extended card, with the address that the request was sent to. `undefined` if there is none. */
  extendedCardFor(request: HttpRequest): Call["extendedCard"] {
    const { extendedCard } = this;
    return extendedCard && ((caller) => extendedCard(request, caller));
  }

  /** Logs, once, that a client sends its messages as those of the agent. */
  noticeAgentRole(): void {
    if (this.#hasNoticedAgentRole) return;
    this.#hasNoticedAgentRole = true;
    this.logger.warn(
      'a client of A2A 0.3 sends messages with role "agent": they are stored as "user"',
      {
        agentId: this.agent.id,
      },
    );
  }

  /** Converts an error to one that is safe to send. An unknown error is logged, with an id that the client receives. */
  readonly toA2AError = (thrown: unknown, requestId?: string): A2AError => {
    if (A2AError.is(thrown)) return thrown;
    if (isStorageFailure(thrown) && !thrown.isPermanent) {
      this.engine.storage.failed(thrown);
      return unavailable("try again later", thrown);
    }
    if (this.engine.closing.aborted) {
      this.logger.warn("a request failed while the server stops", { requestId, error: thrown });
      return new A2AError("Unavailable", "the server is stopping: send the request again");
    }
    const errorId = newErrorId();
    this.logger.error("a request failed", { errorId, requestId, error: thrown });
    return A2AError.from(thrown, errorId);
  };
}

/** A request, the agent that it addresses, and the tenant that it names. */
export interface AddressedRequest {
  readonly app: App;
  readonly request: HttpRequest;
  readonly tenant: string | undefined;
}

/** The path of an agent, which may be followed by the name of a tenant. */
const AGENT_TENANT = /^agents\/(?<id>[^/]+)(?:\/(?<tenant>.+))?$/;

/**
 * A request at the root whose tenant begins with the path of an agent, such as "agents/greeter", is
 * for that agent: gRPC addresses have no paths. In HTTP+JSON it is the same path in any case.
 */
export function addressAgent({ app, request, tenant }: AddressedRequest): AddressedRequest {
  const named =
    request.agentPath === undefined ? AGENT_TENANT.exec(tenant ?? "")?.groups : undefined;
  const other = app.find(named?.["id"] ?? "");
  if (named === undefined || other === undefined) return { app, request, tenant };
  const agentPath = `/agents/${named["id"]}`;
  return { app: other, request: { ...request, agentPath }, tenant: named["tenant"] };
}
