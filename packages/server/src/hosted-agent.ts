import { randomBytes } from "node:crypto";
import type { Agent } from "@convoke/protocol";
import type { AgentOptions, CloseOptions } from "./agent-options.ts";
import { App } from "./bindings/app.ts";
import { CardBinding, cardFacts, extendedFacts } from "./cards/card-binding.ts";
import { KeepAlive } from "./bindings/event-stream.ts";
import type { Operations } from "./bindings/interceptors.ts";
import { createOperations } from "./bindings/operations.ts";
import { Guard, type GuardOptions } from "./guard/guard.ts";
import { Cors } from "./http/cors.ts";
import type { RequestHandler } from "./http/exchange.ts";
import { route } from "./route.ts";
import type { ServerAddress } from "./http/address.ts";
import {
  type Backend,
  type Limits,
  type RecoveryReport,
  type RunningEngine,
  closeAgentAndBackend,
  resolveLimits,
  startEngine,
} from "@convoke/engine";

interface Opening {
  readonly openBackend: () => Promise<Backend>;
  /** Where the server listens. Absent inside an app that owns the port. */
  readonly address?: ServerAddress;
}

interface HostOptions extends AgentOptions, Pick<GuardOptions, "callerOf"> {}

/**
 * An agent with everything that serves it, except a port. The constructor validates
 * the options. Requests that arrive before it is open wait.
 */
export class HostedAgent {
  readonly keepAlive: KeepAlive;
  readonly handler: RequestHandler;
  readonly #agent: Agent;
  readonly #options: HostOptions;
  readonly #limits: Limits;
  readonly #cors: Cors;
  readonly #operations: Operations | undefined;
  readonly #ready = Promise.withResolvers<App>();
  #running: RunningEngine | undefined;

  constructor(agent: Agent, options: HostOptions, basePath = "") {
    const { logger } = options;
    if (options.tenants?.includes("v1") === true) {
      throw new RangeError("tenants must not include v1, which is the path of A2A 0.3");
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
    this.#cors = new Cors(options.cors);
    this.#operations = createOperations(options.interceptors ?? []);
    this.keepAlive = new KeepAlive(options.keepAliveMs);
    this.#ready.promise.catch(() => undefined);
    const requestPrefix = randomBytes(4).toString("hex");
    let requests = 0;
    this.handler = {
      basePath,
      handle: async (request) => route(await this.#ready.promise, request),
      maxBodyBytes: this.#limits.bodyBytes,
      newRequestId: () => `${requestPrefix}-${++requests}`,
      onResponse: (facts) => logger.debug("answered", { ...facts }),
    };
    if (this.#cors.allowsEveryone && options.token === undefined) {
      logger.warn(
        "cors.origins contains * and there is no token: every web page can use this agent",
      );
    }
  }

  /** Opens the storage and resumes the unfinished tasks of an earlier process. */
  async open({ openBackend, address }: Opening): Promise<RecoveryReport> {
    const { logger, push, streaming, retention, idempotency, strict } = this.#options;
    const agent = this.#agent;
    const opening = openBackend();
    try {
      const backend = await opening;
      const running = await startEngine({
        agent,
        backend,
        logger,
        push,
        retention,
        limits: this.#limits,
        streaming: streaming !== false,
        // A strict server does only what the specification says about a repeated id.
        idempotency: strict === true ? "extension" : (idempotency ?? "extension"),
      });
      this.#running = running;
      this.#ready.resolve(this.#app(running, address));
      return running.recovered;
    } catch (error) {
      this.#ready.reject(error);
      // An open backend would keep the process alive.
      await opening
        .then((backend) => closeAgentAndBackend({ agent, backend, logger }))
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
        await beforeClose?.();
      },
    });
  }

  #app({ engine, push }: RunningEngine, address: ServerAddress | undefined): App {
    const { extendedCard, card, logger, tenants, strict, specPatch } = this.#options;
    const { restFrames, compat } = this.#options;
    const facts = cardFacts(this.#agent, {
      ...this.#options,
      ...(address && { address }),
      streams: engine.streams,
      pushes: push !== undefined,
      hasExtendedCard: extendedCard !== undefined,
    });
    return new App({
      engine,
      keepAlive: this.keepAlive,
      logger,
      push,
      cors: this.#cors,
      operations: this.#operations,
      tenants: new Set(tenants),
      isStrict: strict === true,
      restFrames: restFrames ?? "bare",
      confirmsPush: compat?.pushSuccess === true,
      specPatch: specPatch ?? "1.0.1",
      guard: new Guard({
        ...this.#options,
        allowedHosts: hostNames(this.#options, address),
        cors: this.#cors,
      }),
      card: new CardBinding(facts, card),
      extendedCard:
        extendedCard &&
        (async (request, caller) => {
          const more = await extendedCard(caller);
          return more && extendedFacts(facts(request), more);
        }),
    });
  }
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
