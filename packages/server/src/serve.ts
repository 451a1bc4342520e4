import type { AddressInfo, Server as NetServer } from "node:net";
import { randomBytes } from "node:crypto";
import type { Agent, AgentInfo, Caller, SpecPatch } from "@convoke/protocol";
import { App } from "./app.ts";
import { CardBinding, type CardOptions } from "./bindings/card.ts";
import { KeepAlive } from "./bindings/keep-alive.ts";
import { cardFacts } from "./card-facts.ts";
import { Guard } from "./guard/guard.ts";
import { handle } from "./http/handle.ts";
import type { Logger } from "./logger.ts";
import { type ServerAddress, isWildcard, urlOf } from "./node/address.ts";
import { createNodeListener } from "./node/node-listener.ts";
import { Port, type TlsOptions } from "./node/port.ts";
import { type PushOptions, PushService } from "./push/push-service.ts";
import type { Backend } from "./tasks/backend.ts";
import { Engine } from "./tasks/engine.ts";
import { type Limits, limitsOf } from "./tasks/limits.ts";
import { type Recovered, recover } from "./tasks/recover.ts";
import { Retention, type RetentionOptions } from "./tasks/retention.ts";

export interface ServeOptions {
  /** 0 picks a free one. */
  readonly port: number;
  /** The address to listen on. */
  readonly host: string;
  /** Opens the storage; called once the port is ours. */
  readonly openBackend: (address: ServerAddress) => Promise<Backend>;
  readonly logger: Logger;
  /** Callers must send it as a bearer token. */
  readonly token?: string;
  /** Names besides the local ones under which the server is reached. */
  readonly allowedHosts?: readonly string[];
  /** The address that the card names, when callers reach the server by another one. */
  readonly publicUrl?: string;
  /** What one caller or one agent may use at most. */
  readonly limits?: Partial<Limits>;
  /** How notifications are pushed; `false` when none are. */
  readonly push?: PushOptions | false;
  /** How long ended tasks are kept. */
  readonly retention?: Partial<RetentionOptions>;
  /** Serves HTTPS, with this certificate. */
  readonly tls?: TlsOptions;
  /** Parts of the server that are apart from each other: tasks of one are not seen from another. */
  readonly tenants?: readonly string[];
  /** Takes only official forms, in the version that the caller names: for conformance tests. */
  readonly strict?: boolean;
  /** Which edition of 1.0 the statuses of errors are taken from. */
  readonly specPatch?: SpecPatch;
  /** Which form of the card is shown, and what signs it. */
  readonly card?: CardOptions;
  /** What the card of a caller whom the server knows says besides, or instead. */
  readonly extendedCard?: (caller: Caller) => Partial<AgentInfo> | Promise<Partial<AgentInfo>>;
  /** Believes `Forwarded` and `X-Forwarded-*`: there is a proxy in front that sets them. */
  readonly trustProxy?: boolean;
  /** The longest silence of a stream; by default 15 s. */
  readonly keepAliveMs?: number;
}

/** A running server. */
export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** What became of the tasks that an earlier process had left unfinished. */
  readonly recovered: Recovered;
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  /**
   * How long what is under way may take, in milliseconds; meanwhile new work is
   * refused with 503. By default nothing is waited for: every task is kept anyway.
   */
  readonly drainMs?: number;
}

/**
 * Serves an agent. The port is bound before the storage is opened, so that a
 * second server fails on the port and never touches the data of the first;
 * requests that come in between wait.
 */
export async function serve(agent: Agent, options: ServeOptions): Promise<Server> {
  const ready = Promise.withResolvers<App>();
  ready.promise.catch(() => undefined);
  const { logger } = options;
  if (options.tenants?.includes("v1") === true) {
    throw new RangeError("tenants must not have v1: its paths are those of A2A 0.3");
  }
  const limits = limitsOf(options.limits);
  const requestPrefix = randomBytes(4).toString("hex");
  let requests = 0;
  const listener = createNodeListener({
    handle: async (request) => handle(await ready.promise, request),
    maxBodyBytes: limits.bodyBytes,
    newRequestId: () => `${requestPrefix}-${++requests}`,
    onAnswer: (facts) => logger.debug("answered", { ...facts }),
  });
  const keepAlive = new KeepAlive(options.keepAliveMs);
  const port = new Port({
    listener,
    tls: options.tls,
    onSession: (session) => {
      const silence = keepAlive.watch(() => void session.ping(() => undefined));
      return () => silence.stop();
    },
  });
  const address = await listen(port.net, options);
  const opening = options.openBackend(address);
  try {
    const backend = await opening;
    const engine = new Engine({ agent, backend, logger, limits });
    const push = options.push === false ? undefined : new PushService(engine, logger, options.push);
    engine.pushRules = push;
    const recovered = await recover(engine);
    await push?.start();
    const retention = new Retention(engine, logger, options.retention);
    const { extendedCard, card } = options;
    const facts = cardFacts(agent.info, {
      ...options,
      address,
      pushes: push !== undefined,
      hasExtendedCard: extendedCard !== undefined,
    });
    ready.resolve(
      new App({
        engine,
        keepAlive,
        logger,
        push,
        tenants: new Set(options.tenants),
        isStrict: options.strict === true,
        specPatch: options.specPatch ?? "1.0.1",
        guard: new Guard({ ...options, allowedHosts: hostNames(options, address) }),
        card: new CardBinding(facts, card),
        extendedCard:
          extendedCard &&
          (async (request, caller) => ({
            ...facts(request),
            info: { ...agent.info, ...(await extendedCard(caller)) },
          })),
      }),
    );
    const close = async ({ drainMs = 0 }: CloseOptions = {}): Promise<void> => {
      await engine.drain(drainMs);
      engine.close();
      push?.close();
      keepAlive.close();
      await retention.close();
      await port.close();
      await backend.close();
    };
    const url = options.publicUrl ?? urlOf(address);
    return { url, port: address.port, recovered, close, [Symbol.asyncDispose]: () => close() };
  } catch (error) {
    ready.reject(error);
    port.net.close();
    port.closeAllConnections();
    // What could be opened would keep the process alive.
    await opening.then((backend) => backend.close()).catch(() => undefined);
    throw error;
  }
}

function listen(net: NetServer, { port, host, tls }: ServeOptions): Promise<ServerAddress> {
  return new Promise((resolve, reject) => {
    net.once("error", reject);
    net.listen({ port, host }, () => {
      net.off("error", reject);
      const bound = net.address() as AddressInfo;
      // "Every interface" has many spellings, and one address.
      resolve({
        host: isWildcard(bound.address) ? bound.address : host,
        port: bound.port,
        isSecure: tls !== undefined,
      });
    });
  });
}

/** The server's own names, beside those that the operator lists. */
function hostNames(
  { allowedHosts = [], publicUrl }: ServeOptions,
  { host }: ServerAddress,
): readonly string[] {
  const publicHost = publicUrl === undefined ? [] : [new URL(publicUrl).host];
  return [...allowedHosts, ...publicHost, host.includes(":") ? `[${host}]` : host];
}
