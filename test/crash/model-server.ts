import { ScriptProcess } from "../harness/script-process.ts";
import type { AskedOfModel } from "./tale.ts";

/** The process that simulates the provider, as its test sees it. */
export class ModelServer {
  /** The name of its model, for an agent. */
  readonly spec: string;
  readonly #port: number;
  readonly #process: ScriptProcess;

  private constructor(provider: ScriptProcess, greeting: string) {
    const { spec, port } = JSON.parse(greeting) as { readonly spec: string; readonly port: number };
    this.#process = provider;
    this.spec = spec;
    this.#port = port;
  }

  static async start(): Promise<ModelServer> {
    const provider = new ScriptProcess(new URL("./model-process.ts", import.meta.url), {});
    return new ModelServer(provider, await provider.ready);
  }

  /** Every request that reached it so far, including repetitions. */
  async requests(): Promise<readonly AskedOfModel[]> {
    const response = await fetch(`http://127.0.0.1:${this.#port}`);
    return (await response.json()) as readonly AskedOfModel[];
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }
}
