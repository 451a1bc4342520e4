import { type PublicEvent, textOfParts } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import type { ServerContext } from "@modelcontextprotocol/server";

/** More often than that nobody reads it. */
const PACE_MS = 200;
/** Many hosts end a call of which they heard nothing for a minute. */
const HEARTBEAT_MS = 15_000;
const MAX_SHOWN = 200;

/** Shows a host how far the agent is, where the host asked for it. Only the latest is shown. */
export class CallProgress {
  readonly #context: ServerContext["mcpReq"];
  readonly #token: string | number | undefined;
  readonly #heartbeat: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #steps = 0;
  #sent = 0;
  #sentAt = 0;
  #message = "The agent works.";
  #output = "";

  constructor({ mcpReq }: ServerContext) {
    this.#context = mcpReq;
    this.#token = mcpReq._meta?.progressToken;
    if (this.#token === undefined) return;
    this.#heartbeat = setInterval(() => this.#step(), HEARTBEAT_MS);
  }

  see(event: PublicEvent): void {
    if (this.#token === undefined) return;
    if (event.kind === "artifact-update") {
      const text = textOfParts(event.artifact.parts);
      if (text === "") return;
      this.#output = `${event.append === true ? this.#output : ""}${text}`.slice(-MAX_SHOWN);
      this.#message = this.#output;
    } else if (event.kind === "status-update") {
      const text = textOfParts(event.status.message?.parts ?? []);
      this.#message = text === "" ? `The task is ${event.status.state}.` : text;
    } else return;
    this.#step();
  }

  close(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#timer);
  }

  #step(): void {
    this.#steps += 1;
    this.#timer ??= setTimeout(
      () => this.#send(),
      Math.max(0, this.#sentAt + PACE_MS - Date.now()),
    );
  }

  #send(): void {
    this.#timer = undefined;
    if (this.#token === undefined || this.#steps === this.#sent) return;
    this.#sent = this.#steps;
    this.#sentAt = Date.now();
    const params = {
      progressToken: this.#token,
      progress: this.#steps,
      message: oneLine(this.#message, MAX_SHOWN),
    };
    // A host that is gone hears nothing, and its call ends for that reason.
    this.#context.notify({ method: "notifications/progress", params }).catch(() => undefined);
  }
}
