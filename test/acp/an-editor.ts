import {
  type AgentRequestParamsByMethod,
  type ClientCapabilities,
  type ClientConnection,
  type ContentBlock,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type McpServer,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type SessionUpdate,
  client,
  methods,
  ndJsonStream,
} from "@agentclientprotocol/sdk";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { onTestFinished } from "vitest";
import { BIN } from "../cli/typist.ts";

export interface EditorOptions {
  readonly cwd: string;
  readonly capabilities?: ClientCapabilities;
}

/** An editor: the real ACP client, which starts the real `convoke acp`. */
export class Editor {
  readonly updates: SessionUpdate[] = [];
  readonly permissions: RequestPermissionRequest[] = [];
  readonly questions: CreateElicitationRequest[] = [];
  /** What the user decides. */
  decide: (
    request: RequestPermissionRequest,
  ) => RequestPermissionResponse | Promise<RequestPermissionResponse> = () => select("once");
  /** What the user answers. */
  answer: () => CreateElicitationResponse = () => ({ action: "cancel" });
  /** The folder of its sessions. */
  readonly cwd: string;
  readonly #child: ChildProcess;
  readonly #connection: ClientConnection;
  #changed = Promise.withResolvers<void>();
  #stderr = "";
  #stdout = "";

  private constructor(args: readonly string[], { cwd }: EditorOptions) {
    this.cwd = join(cwd, "work");
    this.#child = spawn(process.execPath, [BIN, "acp", ...args], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd },
      stdio: "pipe",
      // If the test fails, nothing is left running. The tests of a file share it, on a busy machine, too.
      timeout: 300_000,
      killSignal: "SIGKILL",
    });
    const { stdin, stdout, stderr } = this.#child;
    stderr!.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    stdin!.on("error", () => undefined);
    stdout!.on("data", (chunk: Uint8Array) => (this.#stdout += String(chunk)));
    const input = Readable.toWeb(stdout!) as ReadableStream<Uint8Array>;
    this.#connection = client({ name: "an editor" })
      .onNotification(methods.client.session.update, ({ params }) => this.#take(params))
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        this.permissions.push(params);
        this.#wake();
        return this.decide(params);
      })
      .onRequest(methods.client.elicitation.create, ({ params }) => {
        this.questions.push(params);
        return this.answer();
      })
      .connect(ndJsonStream(Writable.toWeb(stdin!), input));
  }

  /** An editor that has introduced itself. */
  static async open(args: readonly string[], options: EditorOptions): Promise<Editor> {
    const editor = new Editor(args, options);
    try {
      await editor.request(methods.agent.initialize, {
        protocolVersion: 1,
        clientCapabilities: options.capabilities ?? {},
      });
      return editor;
    } catch (error) {
      await editor.kill();
      throw error;
    }
  }

  get agent(): ClientConnection["agent"] {
    return this.#connection.agent;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Everything on standard output. */
  get stdout(): string {
    return this.#stdout;
  }

  async request<Method extends keyof AgentRequestParamsByMethod>(
    method: Method,
    params: AgentRequestParamsByMethod[Method],
  ) {
    return this.agent.request(method, params);
  }

  /** The id of a new session. */
  async newSession(mcpServers: McpServer[] = []): Promise<string> {
    const { sessionId } = await this.request(methods.agent.session.new, {
      cwd: this.cwd,
      mcpServers,
    });
    return sessionId;
  }

  async load(sessionId: string, mcpServers: McpServer[] = []): Promise<void> {
    await this.request(methods.agent.session.load, { sessionId, cwd: this.cwd, mcpServers });
  }

  prompt(sessionId: string, content: string | ContentBlock[]): Promise<PromptResponse> {
    const prompt: ContentBlock[] =
      typeof content === "string" ? [{ type: "text", text: content }] : content;
    return this.request(methods.agent.session.prompt, { sessionId, prompt });
  }

  cancel(sessionId: string): Promise<void> {
    return this.agent.notify(methods.agent.session.cancel, { sessionId });
  }

  /** Forgets what an earlier test has seen. */
  forget(): void {
    this.updates.length = 0;
    this.permissions.length = 0;
    this.decide = () => select("once");
  }

  /** Resolves when an update or a request makes it true. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#changed.promise;
  }

  /** The text of all chunks of one kind. */
  text(kind: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk"): string {
    return this.updates
      .map((update) =>
        update.sessionUpdate === kind && update.content.type === "text" ? update.content.text : "",
      )
      .join("");
  }

  /** The tool calls as they are shown in the end. */
  get toolCalls(): readonly Readonly<Record<string, unknown>>[] {
    const calls = new Map<string, Readonly<Record<string, unknown>>>();
    for (const update of this.updates) {
      if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") {
        continue;
      }
      const { sessionUpdate: _, toolCallId, ...fields } = update;
      calls.set(toolCallId, { ...calls.get(toolCallId), ...fields });
    }
    return [...calls.values()];
  }

  /** Ends `convoke acp` at once, as a crash does. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill("SIGKILL");
    await once(this.#child, "exit");
  }

  #take({ update }: SessionNotification): void {
    this.updates.push(update);
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}

/** An editor that is closed with its test. */
export async function anEditor(args: readonly string[], options: EditorOptions): Promise<Editor> {
  const editor = await Editor.open(args, options);
  onTestFinished(() => editor.kill());
  return editor;
}

/** The user chooses an option. */
export function select(optionId: string): RequestPermissionResponse {
  return { outcome: { outcome: "selected", optionId } };
}
