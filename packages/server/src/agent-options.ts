import type {
  AgentKey,
  AuditStore,
  Backend,
  FileOptions,
  Limits,
  Logger,
  PushOptions,
  RateStore,
  RetentionOptions,
} from "@convoke/engine";
import type { Agent, AgentInfo, Caller, SpecPatch, TracingOptions } from "@convoke/protocol";
import type { ConsoleFiles } from "./bindings/console/handle.ts";
import type { Interceptor } from "./bindings/interceptors.ts";
import type { RemoteEntries } from "./cards/agent-list.ts";
import type { CardOptions } from "./cards/card-binding.ts";
import type { AuthOptions } from "./guard/authenticate.ts";
import type { AuthorizationOptions } from "./guard/authorize.ts";
import type { InboundOptions } from "./guard/inbound-rate.ts";
import type { RateLimitOptions } from "./guard/rate-limit.ts";
import type { RoleOptions } from "./guard/roles.ts";
import type { CorsOptions } from "./http/cors.ts";
import type { Timeouts } from "./http/exchange.ts";

/** A backend, and which of its tasks belong to the agent. */
export interface AgentStorage {
  readonly backend: Backend;
  /** Default: the tasks with the agent's `id`, or with the id that its name gives. */
  readonly key?: AgentKey;
  /** The data folder, where `apiKeys()` has its file. Default: nothing is stored on disk. */
  readonly folder?: string;
  /** Counts requests together with other servers. Default: this server counts alone. */
  readonly rates?: RateStore;
  /** Keeps the audit log together with other servers. Default: only the log has it. */
  readonly audit?: AuditStore;
  /** Erases what it has about an owner in addition to tasks. May be called again for the same. Default: nothing. */
  readonly erase?: (owner: string) => Promise<void>;
  /** Closes what is open in addition to the backend, after it. */
  readonly close?: () => Promise<void>;
  /**
   * Prepares an agent with its environment. Called for each agent before its first turn. Default: the
   * agents are prepared, or need nothing.
   */
  readonly prepare?: (agent: Agent) => Promise<void>;
}

/** The options that `serve` and `mount` have in common. */
export interface AgentOptions extends AuthOptions, AuthorizationOptions {
  /**
   * The id of the agent that also answers at the root, if there are several. Default: the first one.
   */
  readonly default?: string;
  /**
   * Agents at other addresses that `/.well-known/agents.json` lists in addition to those that are
   * served here. The server sends them no requests and passes nothing on to them. Default none.
   *
   * @example
   * remoteAgents: { translator: "https://translator.example.com" }
   */
  readonly remoteAgents?: RemoteEntries;
  /** Receives the log of the server. `createJsonLogger` writes JSON lines. */
  readonly logger: Logger;
  /**
   * Host names under which clients reach the agent, with or without a port. The local names and the
   * host of `publicUrl` are always allowed. Requests for other hosts are rejected, because a web
   * page could otherwise reach a local agent through a DNS name of its own (DNS rebinding).
   */
  readonly allowedHosts?: readonly string[];
  /**
   * The complete URL on the card, if clients reach the agent through another address than its own. A
   * slash at its end is left out, because clients append paths that begin with one.
   */
  readonly publicUrl?: string;
  /** Web pages of other origins that may call the agent. Default none; the card is public. */
  readonly cors?: CorsOptions;
  /**
   * Where large files of messages and artifacts are kept, and whether clients get them as bytes or as
   * links. Default: files above 64 kB are kept next to the tasks, and clients get bytes up to 10 MiB.
   */
  readonly files?: FileOptions;
  /** How much one caller or one agent can use. Default `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /**
   * How many requests each caller may send, and how many logins may fail for each address. Default:
   * `DEFAULT_RATE_LIMITS`; on loopback `LOCAL_RATE_LIMITS`, which only a flood reaches. `false` is no
   * limit. Classes that are not named keep their defaults.
   */
  readonly rateLimits?: RateLimitOptions | false;
  /**
   * Serves metrics in the text format of Prometheus at `/metrics`, to callers that authentication
   * accepts. Default: only if the server listens on loopback, because metrics show how the server is
   * used. If they are off, nothing is measured, unless the read API is on and this is left out.
   */
  readonly metrics?: boolean;
  /**
   * Serves the read API: what the server is (`/convoke/about`), the log of a task with the notes of
   * its agent (`/convoke/tasks/{id}/log`), a task as it was at an event (`?at=`), the tasks that other
   * agents do for it (`/convoke/tasks/{id}/tree`), a feed of changes (`/convoke/feed`), and the
   * metrics of the last hour (`/convoke/metrics`). Callers see their own tasks; notes, metrics and
   * the tasks of others are for operators. Default: only if the server
   * listens on loopback, because a log holds everything that was said and done. If it is off, these
   * paths are 404.
   */
  readonly readApi?: boolean;
  /** The files of the web console, which is served at `/console`. Default: there is none. */
  readonly console?: ConsoleFiles;
  /**
   * Whether operators can list the agents at `/convoke/agents`, and disable and enable them. Default:
   * if callers authenticate, or the server listens on loopback. Elsewhere it cannot be switched on,
   * because every caller would be an operator.
   */
  readonly agentApi?: boolean;
  /**
   * Says once that the served agents include what earlier versions stored when agents were added or
   * changed on a running server. Without it a server whose storage has such agents does not start,
   * because tasks of agents that are not served would wait for ever. `convoke agents stored` prints
   * them. Default false.
   */
  readonly storedAgentsTakenOver?: boolean;
  /**
   * What spans contain. Spans are created if the process has an OpenTelemetry SDK. Default: neither
   * content nor chunks of artifacts.
   */
  readonly tracing?: TracingOptions;
  /** How long a client may take to send a request and to read the response. Default: see each. */
  readonly timeouts?: Partial<Timeouts>;
  /**
   * Whether the completed status of every agent repeats its answer as a message, for clients that
   * read only the status. Default false: an agent decides with its own `finalMessage`.
   */
  readonly finalMessage?: boolean;
  /** Whether clients can stream answers. Default true. If false, they wait for the answer or poll. */
  readonly streaming?: boolean;
  /**
   * Which callers can repeat a message without running it twice. Default "extension": those that
   * activate the idempotency extension, as the client of Convoke does. "always": all callers. Other
   * clients may use a `messageId` twice for different messages, so it is not the default. With
   * `strict` the extension is always needed.
   */
  readonly idempotency?: "extension" | "always";
  /** How push notifications are delivered. `false` disables them. Default: enabled, public receivers only. */
  readonly push?: PushOptions | false;
  /** When ended tasks are removed. Default: after 30 days, or beyond 100,000 tasks. */
  readonly retention?: Partial<RetentionOptions>;
  /**
   * How long a task that was created without a message waits for its first one before it is
   * canceled, in milliseconds. Default 24 h: long enough for a client that prepares its work, and
   * abandoned tasks do not stay open for ever.
   */
  readonly emptyTaskMs?: number;
  /**
   * The tenants of this server. Tasks of one tenant are invisible to the others. Default none:
   * requests that name a tenant are rejected. The first segments of the server's own paths, such
   * as `v1`, `tasks` and `a2a`, are reserved.
   */
  readonly tenants?: readonly string[];
  /**
   * Accepts only the forms of the specification, in the version that the client names. Default
   * false: older and unambiguous forms are accepted, too. Use it for conformance tests.
   */
  readonly strict?: boolean;
  /**
   * The frames of A2A 0.3 REST streams whose request has `kind` fields. Default "bare": each frame is
   * an event, as the specification shows. "both" adds `jsonrpc`, `id` and `result` with the same
   * event, for clients that unwrap `result` on every binding.
   */
  readonly restFrames?: "bare" | "both";
  /** Additions to the specification that some older clients expect. Default none. */
  readonly compat?: {
    /** Adds `success: true` to the response of `tasks/pushNotificationConfig/set` in A2A 0.3. */
    readonly pushSuccess?: boolean;
  };
  /** The edition of A2A 1.0 whose HTTP and gRPC status codes are used for errors. Default "1.0.1". */
  readonly specPatch?: SpecPatch;
  /** The format of the card, and the keys that sign it. Default: the version the client asks for, not signed. */
  readonly card?: CardOptions;
  /**
   * Extra or overriding card fields for an authenticated caller. Return `undefined` to serve none to
   * this caller. Skills that need scopes which the caller does not have are left out. Needs `auth`,
   * `token` or `authenticate`. Default: there is no extended card.
   */
  readonly extendedCard?: (
    caller: Caller,
    agentId: string,
  ) => Partial<AgentInfo> | undefined | Promise<Partial<AgentInfo> | undefined>;
  /**
   * Trusts `Forwarded` and `X-Forwarded-*` headers. Default false. Enable it only behind a proxy
   * that sets them, because clients can send them as well.
   */
  readonly trustProxy?: boolean;
  /**
   * Sends a keep-alive after this much idle time on a stream. Default 15 s, because many proxies drop
   * idle connections after 30 s. 0 disables keep-alives.
   */
  readonly keepAliveMs?: number;
  /** Tasks of `POST /a2a/tasks/send`, for agents that use the polling protocol. */
  readonly inbound?: InboundOptions;
  /** What callers with the scopes `convoke:approve` and `convoke:operate` may do for other owners. */
  readonly roles?: RoleOptions;
  /** Wrap every operation, for example for logging or metrics. The first one is the outermost. */
  readonly interceptors?: readonly Interceptor[];
}

export interface CloseOptions {
  /**
   * How long to wait for running tasks, in milliseconds; new work is rejected with 503 meanwhile.
   * Default 0: tasks are durable, so the next start resumes them.
   */
  readonly drainMs?: number;
}
