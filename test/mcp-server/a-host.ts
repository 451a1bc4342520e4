import {
  type CallToolResult,
  Client,
  type ElicitRequestParams,
  type ElicitResult,
  type Progress,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { BIN } from "../cli/typist.ts";
import { MARK } from "../mcp/marked-processes.ts";

type Answering = (params: ElicitRequestParams) => ElicitResult | Promise<ElicitResult>;

export interface HostOptions {
  readonly cwd: string;
  /** Whether it can ask a user. */
  readonly asks?: boolean;
  /** It supports no revision before 2026-07-28. */
  readonly isNew?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

export interface CallOptions {
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
}

const AGENTS = {
  clerk: new URL("agents/clerk.ts", import.meta.url),
  writer: new URL("agents/writer.ts", import.meta.url),
};

export function agentFile(name: keyof typeof AGENTS): string {
  return fileURLToPath(AGENTS[name]);
}

/** A program such as an editor: the real MCP client, which starts the real `convoke mcp`. */
export class Host {
  /** What the user of the host was asked. */
  readonly asked: ElicitRequestParams[] = [];
  readonly client: Client;
  /** Their answers. */
  answer: Answering = () => ({ action: "cancel" });
  /** How often it was notified of changed tools. */
  changes = 0;
  readonly #transport: StdioClientTransport;
  #stderr = "";
  #errors: Error[] = [];

  constructor(args: readonly string[], { cwd, asks = false, isNew = false, env }: HostOptions) {
    this.client = new Client(
      { name: "a host", version: "1.0.0" },
      {
        ...(asks && { capabilities: { elicitation: { form: {}, url: {} } } }),
        ...(isNew && { versionNegotiation: { mode: { pin: "2026-07-28" } } }),
        listChanged: { tools: { autoRefresh: false, onChanged: () => void (this.changes += 1) } },
      },
    );
    if (asks) {
      this.client.setRequestHandler("elicitation/create", ({ params }) => {
        this.asked.push(params);
        return this.answer(params);
      });
    }
    this.#transport = new StdioClientTransport({
      command: process.execPath,
      args: [BIN, "mcp", ...args],
      env: { PATH: process.env["PATH"] ?? "", HOME: cwd, MCP_TEST: MARK, ...env },
      cwd,
      stderr: "pipe",
    });
    this.#transport.stderr?.on("data", (chunk: Uint8Array) => (this.#stderr += String(chunk)));
    this.client.onerror = (error) => void this.#errors.push(error);
  }

  static async open(args: readonly string[], options: HostOptions): Promise<Host> {
    const host = new Host(args, options);
    await host.client.connect(host.#transport);
    return host;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Output on standard output that is not the protocol. */
  get errors(): readonly Error[] {
    return this.#errors;
  }

  get pid(): number {
    const { pid } = this.#transport;
    if (pid === null) throw new Error("It is not running.");
    return pid;
  }

  async call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    { onProgress, signal }: CallOptions = {},
  ): Promise<Called> {
    const result = await this.client.callTool(
      { name, arguments: { ...input } },
      { ...(onProgress && { onprogress: onProgress }), ...(signal && { signal }), timeout: 20_000 },
    );
    return new Called(result);
  }

  close(): Promise<void> {
    return this.client.close();
  }
}

/** A host that is closed with its test. */
export async function aHost(args: readonly string[], options: HostOptions): Promise<Host> {
  const host = await Host.open(args, options);
  onTestFinished(() => host.close());
  return host;
}

/** The result of a call. */
export class Called {
  readonly result: CallToolResult;

  constructor(result: CallToolResult) {
    this.result = result;
  }

  /** All its text, as a host shows it that reads the content. */
  get text(): string {
    return this.result.content
      .map((block) => (block.type === "text" ? block.text : `<${block.type}>`))
      .join("\n");
  }

  /** What a host shows that reads the structured content. */
  get structure(): {
    readonly text: string;
    readonly taskId: string;
    readonly contextId: string;
    readonly state: string;
  } {
    return this.result.structuredContent as Called["structure"];
  }

  get isError(): boolean {
    return this.result.isError === true;
  }
}
