import { type Agent, type Metrics, NO_METRICS, checkAgentInfo } from "@convoke/protocol";
import type { Origin } from "./agent-app.ts";
import type { AgentOptions, AgentStorage, CloseOptions } from "./agent-options.ts";
import { HostedAgents, type ServerAgent } from "./hosted-agents.ts";
import { type RemoteAgentEntry, resolveRemoteEntries } from "./cards/agent-list.ts";
import { addressFor } from "./cards/card-binding.ts";
import { AgentSwitches, requireTakenOver } from "./bindings/agent-switches.ts";
import { KeepAlive } from "./bindings/keep-alive.ts";
import type { Operations } from "./bindings/interceptors.ts";
import { openLinkKey } from "./bindings/files/link-key.ts";
import { createOperations } from "./bindings/operations.ts";
import { RESERVED_NAMES } from "./bindings/rest/routes.ts";
import { Authentication } from "./guard/authenticate.ts";
import { unknownSkills } from "./guard/authorize.ts";
import { Guard, unscopedOwner } from "./guard/guard.ts";
import { InboundRate, checkInboundRate } from "./guard/inbound-rate.ts";
import { RateLimiter, type RateLimitOptions, checkRateLimits } from "./guard/rate-limit.ts";
import { SharedRateLimits } from "./guard/shared-rate-limits.ts";
import { isOperator } from "./guard/roles.ts";
import { Cors } from "./http/cors.ts";
import { type RequestHandler, requestIds, resolveTimeouts } from "./http/exchange.ts";
import { errorResponse, handleProbe, route } from "./route.ts";
import { type ServerAddress, toUrl } from "./http/address.ts";
import {
  Agents,
  type Backend,
  DEFAULT_LINK_MS,
  FileLinks,
  type Limits,
  MetricsHistory,
  MetricsRegistry,
  type RecoveryReport,
  type RateStore,
  type RunningEngine,
  closeAgentsAndBackend,
  collectProcessMetrics,
  resolveLimits,
  startEngine,
} from "@convoke/engine";

interface Opening {
  readonly openBackend: (metrics: Metrics | undefined) => Promise<Backend | AgentStorage>;
  /** Where the server listens. Absent inside an app that owns the port. */
  readonly address?: ServerAddress;
}

/** What the agents of an open host need. */
interface OpenedFacts {
  readonly address: ServerAddress | undefined;
  readonly rates: RateStore | undefined;
  readonly links: FileLinks;
}

/** Where agents are served. */
interface HostPlace {
  /** The path under which an app has mounted them; empty for the root. */
  readonly basePath: string;
  /** Whether only this machine can reach them. */
  readonly isLocal: boolean;
}

/**
 * One or several agents with everything that serves them, except a port. The constructor validates
 * the options. Requests that arrive before it is open wait.
 */
export class Host {
  readonly keepAlive: KeepAlive;
  readonly handler: RequestHandler;
  readonly #agent: Agent | readonly Agent[];
  readonly #given: readonly Agent[];
  readonly #options: AgentOptions;
  readonly #limits: Limits;
  /** Agents at other addresses that are listed. */
  readonly #remoteAgents: readonly RemoteAgentEntry[];
  readonly #cors: Cors;
  readonly #authentication: Authentication;
  readonly #operations: Operations | undefined;
  readonly #place: HostPlace;
  /** Whether the read API is on. */
  readonly #servesReads: boolean;
  /** Absent if nothing is measured. */
  readonly #metrics: MetricsRegistry | undefined;
  readonly #ready = Promise.withResolvers<HostedAgents>();
  #switches: AgentSwitches | undefined;
  #closeStores: AgentStorage["close"];
  #running: RunningEngine | undefined;

  constructor(agent: Agent | readonly Agent[], options: AgentOptions, place: HostPlace) {
    const { logger } = options;
    checkRemoved({ ...options });
    this.#given = isList(agent) ? agent : [agent];
    for (const one of this.#given) checkAgent(one);
    const served = new Agents(agent, undefined, logger);
    checkDefault(served, options);
    this.#remoteAgents = checkRemoteAgents(served, options);
    const taken = options.tenants?.find((tenant) => RESERVED_NAMES.includes(tenant));
    if (taken !== undefined) {
      throw new RangeError(
        `tenants must not include ${taken}, which is the beginning of other paths; these names are reserved: ${RESERVED_NAMES.join(", ")}`,
      );
    }
    const { publicUrl } = options;
    if (publicUrl !== undefined && !/^https?:\/\/[^/]/i.test(publicUrl)) {
      throw new TypeError(
        `publicUrl must be an http or https address, as in "https://agents.example.com/", not ${JSON.stringify(publicUrl)}`,
      );
    }
    this.#agent = agent;
    this.#options = options;
    this.#limits = resolveLimits(options.limits);
    checkRateLimits(options.rateLimits);
    this.#cors = new Cors(options.cors);
    this.#authentication = new Authentication(options);
    checkInboundRate(options.inbound);
    this.#operations = createOperations(options.interceptors ?? []);
    this.keepAlive = new KeepAlive(options.keepAliveMs);
    this.#ready.promise.catch(() => undefined);
    this.#place = place;
    if (options.agentApi === true && !place.isLocal && !this.#authentication.security) {
      throw new TypeError(
        "agentApi lets callers disable the agents, and every caller is accepted here: set auth, token or authenticate, or leave agentApi out",
      );
    }
    this.#servesReads = options.readApi ?? place.isLocal;
    const isMeasured = options.metrics ?? (place.isLocal || this.#servesReads);
    this.#metrics = isMeasured ? new MetricsRegistry() : undefined;
    this.handler = {
      basePath: place.basePath,
      handle: async (request) =>
        handleProbe(request, () => this.#readiness()) ?? route(await this.#ready.promise, request),
      reject: errorResponse,
      onLimit: limitLogger(logger, this.#metrics ?? NO_METRICS),
      maxBodyBytes: this.#limits.bodyBytes,
      maxUnreadBytes: this.#limits.unreadBytes,
      timeouts: resolveTimeouts(options.timeouts),
      requestId: requestIds(),
      onResponse: (facts) => logger.debug("answered", { ...facts }),
    };
    if (this.#cors.allowsEveryone && this.#authentication.security === undefined) {
      logger.warn(
        "cors.origins contains * and callers need no token: every web page can use this agent",
      );
    }
    this.#warn();
  }

  /** Operators are known if callers authenticate, and on loopback everybody is one otherwise. */
  get #servesSwitches(): boolean {
    const { agentApi = this.#place.isLocal || this.#authentication.security !== undefined } =
      this.#options;
    return agentApi;
  }

  #readiness(): ReturnType<Parameters<typeof handleProbe>[1]> {
    if (this.#running === undefined) return { reason: "starting" };
    const { unreadyReason: reason, sharing } = this.#running.engine;
    const waiting = sharing?.waitingForHosts.map(({ tasks }) => tasks) ?? [];
    return { reason, waitingForHost: waiting.reduce((sum, tasks) => sum + tasks, 0) };
  }

  /** The agents, once it is open. */
  get agents(): Promise<Iterable<ServerAgent>> {
    return this.#ready.promise;
  }

  /** How its callers authenticate. */
  get authentication(): Pick<Authentication, "security" | "needsCertificates"> {
    return this.#authentication;
  }

  /** How many connections a port may have. All connections of a trusted proxy have one address. */
  get connectionLimits(): Pick<Limits, "connections" | "addressConnections"> {
    const { connections, addressConnections } = this.#limits;
    const isTrusting = this.#options.trustProxy === true;
    return { connections, addressConnections: isTrusting ? connections : addressConnections };
  }

  /** Opens the storage and resumes the unfinished tasks of an earlier process. */
  async open({ openBackend, address }: Opening): Promise<RecoveryReport> {
    const { logger, push, streaming, retention, idempotency, strict } = this.#options;
    const { tracing, emptyTaskMs } = this.#options;
    const metrics = this.#metrics;
    const opening = openBackend(metrics).then((opened): AgentStorage =>
      "backend" in opened ? opened : { backend: opened },
    );
    let running: RunningEngine | undefined;
    try {
      const { backend, key, folder, prepare, erase, rates, audit, close } = await opening;
      const { sharing } = backend;
      const values = sharing && ((collection: string) => sharing.values(collection));
      await requireTakenOver({ folder, values }, this.#options.storedAgentsTakenOver === true);
      await this.#authentication.prepare({ logger, folder, values });
      for (const agent of this.#given) await prepare?.(agent);
      const linkKey = await openLinkKey({ folder, values });
      const links = new FileLinks(linkKey, this.#options.files?.linkMs ?? DEFAULT_LINK_MS);
      running = await startEngine({
        agent: this.#agent,
        backend,
        files: this.#options.files,
        fileLinks: { links, baseUrl: this.#options.publicUrl ?? (address && toUrl(address)) },
        key,
        logger,
        audit,
        metrics,
        tracing,
        push,
        retention,
        emptyTaskMs,
        limits: this.#limits,
        streaming: streaming !== false,
        finalMessage: this.#options.finalMessage,
        // A strict server does only what the specification says about a repeated id.
        idempotency: strict === true ? "extension" : (idempotency ?? "extension"),
        erase: async ({ owner, isWholeOwner }) => {
          if (!isWholeOwner) return;
          await erase?.(owner);
          await rates?.forget(RateLimiter.keysOf(unscopedOwner(owner)));
        },
      });
      if (metrics !== undefined) {
        const stop = collectProcessMetrics(metrics);
        running.engine.closing.addEventListener("abort", stop, { once: true });
      }
      const { agents } = running.engine;
      this.#switches = await AgentSwitches.open({ folder, values }, { agents, logger });
      const origin = this.#origin(running, { address, rates, links });
      this.#running = running;
      this.#closeStores = close;
      this.#ready.resolve(new HostedAgents(origin));
      return running.recovered;
    } catch (error) {
      this.#ready.reject(error);
      // An open backend would keep the process alive.
      await opening
        .then(async ({ backend, close }) => {
          if (running !== undefined) await running.close();
          else await closeAgentsAndBackend({ agents: this.#given, backend, logger });
          await close?.();
        })
        .catch(() => undefined);
      throw error;
    }
  }

  /** @param beforeClose closes the connections, after the last write and before the storage is closed */
  async close(
    { drainMs = 0 }: CloseOptions = {},
    beforeClose?: () => Promise<void>,
  ): Promise<void> {
    await this.#running?.close({
      drainMs,
      beforeClose: async () => {
        this.keepAlive.close();
        this.#authentication.close();
        this.#switches?.close();
        await beforeClose?.();
      },
    });
    await this.#closeStores?.();
  }

  /** What the agents share while the engine runs. */
  #origin(running: RunningEngine, { address, rates, links }: OpenedFacts): Origin {
    const { logger } = this.#options;
    const options = { ...this.#options, ...(address && { address }) };
    const authentication = this.#authentication;
    return {
      options,
      authentication,
      running,
      remoteAgents: this.#remoteAgents,
      parts: {
        keepAlive: this.keepAlive,
        fileLinks: links,
        cors: this.#cors,
        operations: this.#operations,
        guard: new Guard({
          ...options,
          authentication,
          addressFor: (request) => addressFor(request, options),
          allowedHosts: hostNames(options, address),
          cors: this.#cors,
        }),
        rates: new RateLimiter(this.#rateLimits(rates), {
          isLocal: this.#place.isLocal,
          hasCallers: authentication.security !== undefined,
          trustProxy: options.trustProxy === true,
        }),
        inboundRate: new InboundRate(options.inbound ?? {}, { logger, store: rates }),
        readApi: this.#servesReads,
        console: options.console,
        ...this.#metricsParts(running),
        isOperator,
        switches: this.#servesSwitches ? this.#switches : undefined,
        onLimit: this.handler.onLimit,
      },
    };
  }

  /** How metrics are read: as text, and the last hour through the read API. */
  #metricsParts({
    engine,
    push,
  }: RunningEngine): Pick<Origin["parts"], "metricsText" | "metricsHistory"> {
    const metrics = this.#metrics;
    const isServed = this.#options.metrics ?? this.#place.isLocal;
    const metricsText = metrics && isServed ? () => metrics.text() : undefined;
    if (metrics === undefined || !this.#servesReads)
      return { metricsText, metricsHistory: undefined };
    const metricsHistory = new MetricsHistory(metrics, () => ({
      running: engine.running,
      unfinished: engine.openTasks.total,
      streams: engine.openStreams.total,
      pushPending: push?.backlog().pending ?? 0,
      memoryBytes: process.memoryUsage.rss(),
    }));
    metricsHistory.start();
    engine.closing.addEventListener("abort", () => metricsHistory.stop(), { once: true });
    return { metricsText, metricsHistory };
  }

  /** Servers that share their tasks also share their limits, unless the options name another store. */
  #rateLimits(rates: RateStore | undefined): RateLimitOptions | false {
    const { rateLimits = {}, logger } = this.#options;
    if (rateLimits === false || rates === undefined) return rateLimits;
    return { store: new SharedRateLimits(rates, logger), ...rateLimits };
  }

  /** Warns of options that have no effect. */
  #warn(): void {
    const { logger, scopes, extendedCard } = this.#options;
    if (extendedCard !== undefined && this.#authentication.security === undefined) {
      logger.warn(
        "the extended card is not served, because callers need no token: set auth, token or authenticate",
      );
    }
    const unknown = unknownSkills(
      this.#given.map(({ info }) => info),
      { scopes },
    );
    if (unknown.length > 0) {
      logger.warn("scopes names skills that the card does not have", {
        skills: unknown.join(", "),
      });
    }
  }
}

/** How often the log names a limit that clients reach again and again. */
const LIMIT_LOG_MS = 10_000;

/** Logs that clients have reached a limit, at most once in a while for each. */
function limitLogger(logger: AgentOptions["logger"], metrics: Metrics): RequestHandler["onLimit"] {
  const logged = new Map<string, number>();
  return (limit, fields) => {
    metrics.count("limited", [limit]);
    const now = performance.now();
    if (now - (logged.get(limit) ?? -Infinity) < LIMIT_LOG_MS) return;
    logged.set(limit, now);
    logger.warn("a client has reached a limit of this server", { limit, ...fields });
  };
}

function isList(given: Agent | readonly Agent[]): given is readonly Agent[] {
  return Array.isArray(given);
}

/** Options of earlier versions, which would change nothing now. */
const REMOVED: Readonly<Record<string, string>> = {
  registry:
    "the registry of agents was removed: name agents at other addresses in remoteAgents, and search the lists of hosts with findAgents",
};

function checkRemoved(options: Readonly<Partial<Record<string, unknown>>>): void {
  const set = Object.keys(REMOVED).find(
    (name) => options[name] !== undefined && options[name] !== false,
  );
  if (set !== undefined) throw new TypeError(`${set}: ${REMOVED[set]}`);
}

/** Rejects a default agent that is not served. */
function checkDefault(agents: Agents, { default: id }: AgentOptions): void {
  if (id === undefined || agents.get(id) !== undefined) return;
  const ids = Array.from(agents, (agent) => agent.id).join(", ");
  throw new RangeError(`default must be the id of a served agent (${ids}), not ${id}`);
}

/** The agents at other addresses. Rejects one with the id of a served agent. */
function checkRemoteAgents(
  served: Agents,
  { remoteAgents = {} }: AgentOptions,
): readonly RemoteAgentEntry[] {
  const remote = resolveRemoteEntries(remoteAgents, "remoteAgents");
  const taken = remote.find(({ id }) => served.get(id) !== undefined);
  if (taken === undefined) return remote;
  throw new TypeError(
    `remoteAgents.${taken.id}: an agent that is served here has this id; choose another one`,
  );
}

/** Rejects what is no agent: in JavaScript, a type error would only show when the first request arrives. */
function checkAgent(given: unknown): void {
  const { run, info } = (given ?? {}) as Partial<Agent>;
  if (typeof run === "function" && typeof info?.name === "string") return checkAgentInfo(info);
  throw new TypeError(
    `an agent is needed, as defineAgent({ name, description, run }) makes one, not ${nameOf(given)}`,
  );
}

function nameOf(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  const { name } = value.constructor ?? Object;
  return name === "Object" ? "an object without info and run" : `an object of class ${name}`;
}

/** The host names of the server, in addition to `allowedHosts`. */
function hostNames(
  { allowedHosts = [], publicUrl }: AgentOptions,
  address: ServerAddress | undefined,
): readonly string[] {
  const publicHost = publicUrl === undefined ? [] : [new URL(publicUrl).host];
  const host = address?.host;
  const bound = host === undefined ? [] : [host.includes(":") ? `[${host}]` : host];
  return [...allowedHosts, ...publicHost, ...bound];
}
