import { once } from "node:events";
import express, { type Express } from "express";
import { listenHttp } from "../client/sdk-server.ts";

/** A message as a worker got it. */
export interface Told {
  readonly messageId: string;
  readonly text: string;
  readonly taskId: string;
  readonly referenceTaskIds: readonly string[];
}

/** How a worker speaks to whoever called it, in the words of its SDK. */
export interface WorkerVoice {
  /** Shows a task that is new. */
  submitted(): void;
  status(state: "working" | "failed" | "completed" | "input-required", text?: string): void;
  chunk(text: string, append: boolean): void;
}

/** What a server of an official SDK was told, and what it does about it. */
export class SdkWork {
  readonly told: Told[] = [];
  readonly canceled: string[] = [];
  /** How many requests came, without those for its card. */
  requests = 0;
  readonly #released = Promise.withResolvers<void>();

  /** Lets those go on that wait. */
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

/** Serves what `mount` puts into an Express app, at a port that it is told. */
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
