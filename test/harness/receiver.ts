import type { Effect } from "./effect.ts";
import { ScriptProcess } from "./script-process.ts";

/** The process that counts effects, as its test sees it. */
export class Receiver {
  readonly url: string;
  readonly #process: ScriptProcess;

  private constructor(receiver: ScriptProcess, url: string) {
    this.#process = receiver;
    this.url = url;
  }

  static async start(): Promise<Receiver> {
    const receiver = new ScriptProcess(new URL("./receiver-process.ts", import.meta.url), {});
    return new Receiver(receiver, await receiver.ready);
  }

  /** Every effect that reached it so far, including repetitions. */
  async effects(): Promise<readonly Effect[]> {
    const response = await fetch(new URL("/effects", this.url));
    return (await response.json()) as readonly Effect[];
  }

  /** Responds to each effect with this phase from now on. */
  async enter(phase: number): Promise<void> {
    await fetch(new URL("/phase", this.url), { method: "POST", body: String(phase) });
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }
}
