import {
  A2AError,
  CODECS,
  type Caller,
  SSE_KEEP_ALIVE,
  invalidParams,
  sseNamedFrame,
} from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import type { App } from "../app.ts";
import { SSE_HEADERS } from "../sse.ts";
import { denied } from "../../guard/authorize.ts";
import { ROLE_SCOPES } from "../../guard/roles.ts";
import {
  type ByteSink,
  type ByteStream,
  type ByteStreamControl,
  type HttpRequest,
  type HttpResponse,
  parseJson,
} from "../../http/exchange.ts";
import type { ServerCheckRequest } from "../server-check.ts";
import { admit } from "./admit.ts";

/** Checks an agent of this server as the caller, and streams the progress and then the report. */
export async function handleCheck(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const { agentId, only } = parseRequest(await request.body());
  const { caller } = await admit(app, "runCheck", { request, caller: identified });
  if (!app.isOperator(caller)) {
    const scopes = [ROLE_SCOPES.operator];
    throw denied("a check is for operators", { missing: scopes, required: scopes });
  }
  const { check, engine } = app;
  if (check === undefined) throw new A2AError("MethodNotFound", "this server has no check");
  if (agentId !== undefined && engine.agents.get(agentId) === undefined) {
    throw invalidParams("agent", `${JSON.stringify(agentId)} is not an agent of this server`);
  }
  const base = check.url.replace(/\/$/, "");
  const url = agentId === undefined ? `${base}/` : `${base}/agents/${agentId}/`;
  engine.openStreams.admit({ taskId: CHECKS, owner: caller.owner });
  app.audit.record("check.started", { requestId: request.id, owner: identified.owner, url });
  const credentials = app.guard.credentialsIn(request);
  const body = new CheckStream(
    app,
    (more) => check.run({ url, credentials, only, ...more }),
    caller,
  );
  return { status: 200, headers: SSE_HEADERS, body };
}

/** What all checks together count as among the open streams. */
const CHECKS = "checks";

function parseRequest(body: Uint8Array) {
  const value = body.length === 0 ? {} : parseJson(body);
  if (!isObject(value)) throw invalidParams("body", 'must be an object such as {"agent": "poet"}');
  const { agent: agentId, only = [] } = value;
  if (agentId !== undefined && typeof agentId !== "string") {
    throw invalidParams("agent", "must be the id of an agent, or left out for the one at the root");
  }
  if (!Array.isArray(only) || !only.every((id) => typeof id === "string")) {
    throw invalidParams("only", 'must be a list of probes such as ["v1-S14"], or left out for all');
  }
  return { agentId, only };
}

type Run = (options: Pick<ServerCheckRequest, "signal" | "onProbe">) => Promise<object>;

/** Runs a check while a client reads it. A client that disconnects stops it. */
class CheckStream implements ByteStream {
  readonly #app: App;
  readonly #run: Run;
  readonly #counted: { readonly taskId: string; readonly owner: string };
  readonly #stopped = new AbortController();
  #sink: ByteSink | undefined;
  #isBlocked = false;
  #unwritten = "";
  #isEnded = false;

  constructor(app: App, run: Run, { owner }: Caller) {
    this.#app = app;
    this.#run = run;
    this.#counted = { taskId: CHECKS, owner };
  }

  open(sink: ByteSink): ByteStreamControl {
    this.#sink = sink;
    this.#app.engine.openStreams.open(this.#counted);
    this.#write(SSE_KEEP_ALIVE);
    void this.#check();
    return {
      drained: () => {
        this.#isBlocked = false;
        this.#flush();
      },
      closed: () => {
        this.#sink = undefined;
        this.#stopped.abort(new Error("the client has disconnected"));
      },
    };
  }

  async #check(): Promise<void> {
    const { engine, keepAlive, toA2AError } = this.#app;
    const idleTimer = keepAlive.start({ onIdle: () => this.#write(SSE_KEEP_ALIVE) });
    const signal = AbortSignal.any([engine.closing, this.#stopped.signal]);
    const onProbe = (progress: object): void => {
      this.#write(sseNamedFrame("probe", JSON.stringify(progress)));
    };
    try {
      const report = await this.#run({ signal, onProbe });
      this.#write(sseNamedFrame("report", JSON.stringify(report)));
    } catch (thrown) {
      if (!signal.aborted) {
        const error = CODECS["0.3"].encodeError(toA2AError(thrown));
        this.#write(sseNamedFrame("error", JSON.stringify({ error })));
      }
    } finally {
      idleTimer.stop();
      engine.openStreams.close(this.#counted);
      this.#isEnded = true;
      this.#flush();
    }
  }

  #write(frames: string): void {
    this.#unwritten += frames;
    this.#flush();
  }

  #flush(): void {
    if (this.#sink === undefined || this.#isBlocked) return;
    const frames = this.#unwritten;
    this.#unwritten = "";
    if (frames !== "") this.#isBlocked = !this.#sink.write(frames);
    if (!this.#isEnded || this.#isBlocked) return;
    this.#sink.end();
    this.#sink = undefined;
  }
}
