import { once } from "node:events";
import express, { type Express } from "express";
import { listenHttp } from "../client/sdk-server.ts";

/** A message as a worker received it. */
export interface Told {
  readonly messageId: string;
  readonly text: string;
  readonly taskId: string;
  readonly referenceTaskIds: readonly string[];
}

/** How a worker responds to its caller, with the types of its SDK. */
export interface WorkerVoice {
  /** Publishes a new task. */
  submitted(): void;
  status(state: "working" | "failed" | "completed" | "input-required", text?: string): void;
  chunk(text: string, append: boolean): void;
}

/** The requests that a server of an official SDK received, and its responses. */
export class SdkWork {
  readonly told: Told[] = [];
  readonly canceled: string[] = [];
  /** The number of requests, without those for its card. */
  requests = 0;
  readonly #released = Promise.withResolvers<void>();

  /** Lets waiting calls continue. */
  release(): void {
    this.#released.resolve();
  }

  async execute(told: Told, isNew: boolean, voice: WorkerVoice): Promise<void> {
    this.told.push(told);
    if (isNew) voice.submitted();
    voice.status("working", `I was told: ${told.text}`);
    if (isNew && told.text === "fail") return voice.status("failed", "It broke.");
    if (isNew && told.text === "ask") return voice.status("input-required", "How many?");
    if (told.text === "wait") await this.#released.promise;
    if (this.canceled.includes(told.taskId)) return;
    for (const [place, word] of ["You ", "said ", told.text, "."].entries()) {
      voice.chunk(word, place > 0);
    }
    voice.status("completed");
  }
}

export interface SdkWorker {
  readonly url: string;
  readonly work: SdkWork;
  close(): Promise<void>;
}

/** Serves what `mount` adds to an Express app, on the given port. */
export async function serveWorker(
  work: SdkWork,
  mount: (app: Express, url: string) => void,
): Promise<SdkWorker> {
  const app = express();
  app.use(({ method }, _response, next) => {
    if (method === "POST") work.requests += 1;
    next();
  });
  const { server, port } = await listenHttp(app);
  const url = `http://127.0.0.1:${port}`;
  mount(app, url);
  return {
    url,
    work,
    async close() {
      work.release();
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
