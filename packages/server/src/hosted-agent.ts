import {
  type Agent,
  type AgentCardFacts,
  type AgentInfo,
  type Caller,
  type Metrics,
  NO_METRICS,
} from "@convoke/protocol";
import type { AgentOptions, AgentStorage, CloseOptions } from "./agent-options.ts";
import { App } from "./bindings/app.ts";
import {
  CardBinding,
  addressFor,
  cardFacts,
  extendedFacts,
  grpcBasePath,
  protectedResource,
} from "./cards/card-binding.ts";
import { withSkillSecurity, withUsableSkills } from "./cards/skill-security.ts";
import { KeepAlive } from "./bindings/event-stream.ts";
import type { Operations } from "./bindings/interceptors.ts";
import { createOperations } from "./bindings/operations.ts";
import { RESERVED_NAMES } from "./bindings/rest/routes.ts";
import { type AddressFor, Authentication } from "./guard/authenticate.ts";
import { Authorization, missingScopes } from "./guard/authorize.ts";
import { Guard } from "./guard/guard.ts";
import { InboundRate } from "./guard/inbound-rate.ts";
import { RateLimiter, checkRateLimits } from "./guard/rate-limit.ts";
import { isOperator } from "./guard/roles.ts";
import { Cors } from "./http/cors.ts";
import {
  type HttpRequest,
  type RequestHandler,
  requestIds,
  resolveTimeouts,
} from "./http/exchange.ts";
import { errorResponse, handleProbe, route } from "./route.ts";
import type { ServerAddress } from "./http/address.ts";
import {
  type Backend,
  type Limits,
  MetricsRegistry,
  type RecoveryReport,
  type RunningEngine,
  closeAgentAndBackend,
  collectProcessMetrics,
  resolveLimits,
  startEngine,
} from "@convoke/engine";

interface Opening {
  readonly openBackend: (metrics: Metrics | undefined) => Promise<Backend | AgentStorage>;
  /** Where the server listens. Absent inside an app that owns the port. */
  readonly address?: ServerAddress;
}

/** Where an agent is served. */
interface HostedPlace {
  /** The path under which an app has mounted it; empty for the root. */
  readonly basePath: string;
  /** Whether only this machine can reach it. */
  readonly isLocal: boolean;
}

/**
 * An agent with everything that serves it, except a port. The constructor validates
 * the options. Requests that arrive before it is open wait.
 */
export class HostedAgent {
  readonly keepAlive: KeepAlive;
  readonly handler: RequestHandler;
  readonly #agent: Agent;
  readonly #options: AgentOptions;
  readonly #limits: Limits;
  readonly #cors: Cors;
  readonly #authentication: Authentication;
  readonly #operations: Operations | undefined;
  readonly #inboundRate: InboundRate;
  readonly #place: HostedPlace;
  /** Absent if nothing is measured. */
  readonly #metrics: MetricsRegistry | undefined;
  readonly #ready = Promise.withResolvers<App>();
  #running: RunningEngine | undefined;

  constructor(agent: Agent, options: AgentOptions, place: HostedPlace) {
    const { logger } = options;
    checkAgent(agent);
    const taken = options.tenants?.find((tenant) => RESERVED_NAMES.includes(tenant));
    if (taken !== undefined) {
      throw new RangeError(
        `tenants must not include ${taken}, which is a path of the server; reserved are ${RESERVED_NAMES.join(", ")}`,
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
    this.#inboundRate = new InboundRate(options.inbound);
    this.#operations = createOperations(options.interceptors ?? []);
    this.keepAlive = new KeepAlive(options.keepAliveMs);
    this.#ready.promise.catch(() => undefined);
    this.#place = place;
    const isMeasured = options.metrics ?? place.isLocal;
    this.#metrics = isMeasured ? new MetricsRegistry() : undefined;
    this.handler = {
      basePath: place.basePath,
      handle: async (request) =>
        handleProbe(request, () =>
          this.#running === undefined ? "starting" : this.#running.engine.unreadyReason,
        ) ?? route(await this.#ready.promise, request),
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
    const agent = this.#agent;
    const metrics = this.#metrics;
    const opening = openBackend(metrics).then((opened): AgentStorage =>
      "backend" in opened ? opened : { backend: opened },
    );
    try {
      const { backend, key, folder } = await opening;
      this.#authentication.prepare({ logger, folder });
      const running = await startEngine({
        agent,
        backend,
        key,
        logger,
        metrics,
        tracing,
        push,
        retention,
        emptyTaskMs,
        limits: this.#limits,
        streaming: streaming !== false,
        // A strict server does only what the specification says about a repeated id.
        idempotency: strict === true ? "extension" : (idempotency ?? "extension"),
      });
      this.#running = running;
      if (metrics !== undefined) {
        const stop = collectProcessMetrics(metrics);
        running.engine.closing.addEventListener("abort", stop, { once: true });
      }
      this.#ready.resolve(this.#app(running, address));
      return running.recovered;
    } catch (error) {
      this.#ready.reject(error);
      // An open backend would keep the process alive.
      await opening
        .then(({ backend }) => closeAgentAndBackend({ agent, backend, logger }))
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
        await beforeClose?.();
      },
    });
  }

  #app({ engine, push }: RunningEngine, address: ServerAddress | undefined): App {
    const { card, logger, tenants, strict, specPatch } = this.#options;
    const { security } = this.#authentication;
    const { restFrames, compat } = this.#options;
    const place = { ...this.#options, ...(address && { address }) };
    const metrics = this.#metrics;
    const authorization = this.#authorization();
    const facts = cardFacts(this.#agent, {
      ...place,
      streams: engine.streams,
      pushes: push !== undefined,
      security,
      hasExtendedCard: this.#options.extendedCard !== undefined && security !== undefined,
    });
    const secured = (given: AgentCardFacts): AgentCardFacts =>
      withSkillSecurity(given, (id) => authorization.scopesForSkill(id));
    return new App({
      engine,
      keepAlive: this.keepAlive,
      logger,
      push,
      cors: this.#cors,
      operations: this.#operations,
      grpcBasePath: grpcBasePath(card),
      tenants: new Set(tenants),
      isStrict: strict === true,
      restFrames: restFrames ?? "bare",
      confirmsPush: compat?.pushSuccess === true,
      specPatch: specPatch ?? "1.0.1",
      guard: new Guard({
        ...this.#options,
        authentication: this.#authentication,
        addressFor: (request) => addressFor(request, place),
        allowedHosts: hostNames(this.#options, address),
        cors: this.#cors,
      }),
      authorization,
      roles: this.#options.roles ?? {},
      rates: new RateLimiter(this.#options.rateLimits ?? {}, {
        isLocal: this.#place.isLocal,
        hasCallers: security !== undefined,
        trustProxy: this.#options.trustProxy === true,
      }),
      inboundRate: this.#inboundRate,
      metrics: engine.metrics,
      metricsText: metrics && (() => metrics.text()),
      isOperator,
      audit: engine.audit,
      onLimit: this.handler.onLimit,
      card: new CardBinding((request) => secured(facts(request)), card),
      extendedCard: this.#extendedCard((request, caller, more) =>
        withUsableSkills(
          secured(extendedFacts(facts(request), more)),
          (id) => missingScopes(caller, authorization.scopesForSkill(id)).length === 0,
        ),
      ),
      protectedResource: this.#protectedResource((request) => addressFor(request, place)),
    });
  }

  #authorization(): Authorization {
    const authorization = new Authorization(() => this.#agent.info, this.#options);
    const { unknownSkills } = authorization;
    if (unknownSkills.length > 0) {
      const skills = unknownSkills.join(", ");
      this.#options.logger.warn("scopes names skills that the card does not have", { skills });
    }
    return authorization;
  }

  #protectedResource(address: AddressFor): App["protectedResource"] {
    const { authorizationServers } = this.#authentication;
    if (authorizationServers.length === 0) return undefined;
    const { name } = this.#agent.info;
    return (request) =>
      protectedResource({ address: address(request), name, authorizationServers });
  }

  /** Without authentication no caller gets the extended card (1.0 §13.3). */
  #extendedCard(
    build: (request: HttpRequest, caller: Caller, more: Partial<AgentInfo>) => AgentCardFacts,
  ): App["extendedCard"] {
    const { extendedCard, logger } = this.#options;
    if (extendedCard === undefined) return undefined;
    if (this.#authentication.security === undefined) {
      logger.warn(
        "the extended card is not served, because callers need no token: set auth, token or authenticate",
      );
      return () => Promise.resolve(undefined);
    }
    return async (request, caller) => {
      const more = await extendedCard(caller);
      return more && build(request, caller, more);
    };
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

/** Rejects what is no agent: in JavaScript, a type error would only show when the first request arrives. */
function checkAgent(given: unknown): void {
  if (Array.isArray(given)) {
    throw new TypeError(
      `one agent per server is supported, not an array of ${given.length}: serve each on a port of its own`,
    );
  }
  const { run, info } = (given ?? {}) as Partial<Agent>;
  if (typeof run === "function" && typeof info?.name === "string") return;
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
