import {
  type Caller,
  SSE_KEEP_ALIVE,
  SSE_RECONNECT,
  sseDataFrame,
  sseNamedFrame,
} from "@convoke/protocol";
import type { Engine, ServedAgent, TaskChange } from "@convoke/engine";
import type { App } from "../app.ts";
import type { KeepAlive } from "../keep-alive.ts";
import { SSE_HEADERS } from "../sse.ts";
import { unscopedOwner } from "../../guard/guard.ts";
import type { OwnerFilter } from "../../guard/roles.ts";
import type {
  ByteSink,
  ByteStream,
  ByteStreamControl,
  HttpRequest,
  HttpResponse,
} from "../../http/exchange.ts";
import { admit } from "./admit.ts";

/** Streams which tasks of the caller, or of all owners, have a new status. */
export async function handleFeed(
  app: App,
  request: HttpRequest,
  identified: Caller,
): Promise<HttpResponse> {
  const { engine, keepAlive } = app;
  const admitted = await admit(app, "listTasks", { request, caller: identified });
  const { caller, owners } = admitted;
  const { agent } = engine.scope(caller, admitted.agent);
  engine.openStreams.admit({ taskId: FEEDS, owner: caller.owner });
  const body = new Feed({ engine, agent, keepAlive, owner: caller.owner, owners });
  return { status: 200, headers: SSE_HEADERS, body };
}

/** What all feeds together count as among the open streams. */
const FEEDS = "feeds";

/** Changes are written together, at most four times a second. */
const INTERVAL_MS = 250;

/** How many tasks with unwritten changes a feed remembers. */
const MAX_PENDING = 1000;

interface FeedOptions {
  readonly engine: Engine;
  /** Of several agents, the one whose tasks it reads about. Absent for all. */
  readonly agent?: ServedAgent | undefined;
  readonly keepAlive: KeepAlive;
  /** The owner that reads. */
  readonly owner: string;
  /** Whose tasks it reads about; absent for its own. */
  readonly owners: OwnerFilter | undefined;
}

/**
 * Writes the newest status of each task that has changed. It is not a log: of several changes within
 * an interval only the last one is written, and a client that is too slow is asked to load its list
 * again instead of being sent everything that it has missed.
 */
export class Feed implements ByteStream {
  readonly #options: FeedOptions;
  readonly #pending = new Map<string, TaskChange>();
  #hasMissed = false;
  #isBlocked = false;
  #isEnded = false;
  #timer: NodeJS.Timeout | undefined;
  #sink: ByteSink | undefined;
  #stop: (() => void) | undefined;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  open(sink: ByteSink): ByteStreamControl {
    const { engine, keepAlive, owner } = this.#options;
    const counted = { taskId: FEEDS, owner };
    this.#sink = sink;
    const stopListening = engine.onTaskStatus((change) => this.#add(change));
    const idleTimer = keepAlive.start({ onIdle: () => this.#write(SSE_KEEP_ALIVE) });
    engine.openStreams.open(counted);
    engine.closing.addEventListener("abort", this.#onClosing, { once: true });
    this.#stop = () => {
      stopListening();
      idleTimer.stop();
      engine.openStreams.close(counted);
      engine.closing.removeEventListener("abort", this.#onClosing);
    };
    // Sends the headers: a list that the client loads from now on is followed without a gap.
    this.#write(SSE_KEEP_ALIVE);
    if (engine.closing.aborted) this.#onClosing();
    return {
      drained: () => {
        this.#isBlocked = false;
        this.#schedule();
      },
      closed: () => this.#end(),
    };
  }

  #add(change: TaskChange): void {
    const { engine, agent, owner, owners } = this.#options;
    if (!(owners?.(change.owner) ?? change.owner === owner)) return;
    if (agent !== undefined && engine.tasks.get(change.taskId)?.agent !== agent) return;
    if (this.#hasMissed) return;
    this.#pending.set(change.taskId, change);
    if (this.#pending.size > MAX_PENDING) {
      this.#pending.clear();
      this.#hasMissed = true;
    }
    this.#schedule();
  }

  #schedule(): void {
    const hasNews = this.#hasMissed || this.#pending.size > 0;
    if (!hasNews || this.#isBlocked || this.#isEnded) return;
    this.#timer ??= setTimeout(() => this.#flush(), INTERVAL_MS).unref();
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#isBlocked) return;
    const frames = this.#hasMissed ? sseNamedFrame("reload", "{}") : this.#changes();
    this.#hasMissed = false;
    this.#pending.clear();
    this.#write(frames);
  }

  #changes(): string {
    const { owners } = this.#options;
    const frames = Array.from(this.#pending.values(), ({ taskId, owner, state, head }) =>
      sseDataFrame(
        JSON.stringify({ id: taskId, state, head, ...(owners && unscopedOwner(owner)) }),
      ),
    );
    return frames.join("");
  }

  #write(frames: string): void {
    if (this.#isEnded || this.#sink === undefined) return;
    this.#isBlocked = !this.#sink.write(frames);
  }

  readonly #onClosing = (): void => {
    this.#write(SSE_RECONNECT);
    this.#end();
    this.#sink?.end();
  };

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#stop?.();
  }
}
