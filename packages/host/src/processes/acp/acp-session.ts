import { packageVersion } from "@convoke/engine/version";
import {
  type ClientConnection,
  type ClientContext,
  type InitializeResponse,
  PROTOCOL_VERSION,
  type PromptResponse,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionModeState,
  type SessionNotification,
  client as createClient,
  methods,
  ndJsonStream,
} from "@agentclientprotocol/sdk";
import { sleep, startTimer } from "@convoke/protocol/internal";
import { Readable, Writable } from "node:stream";
import type { ChildProgram } from "../program/child-program.ts";
import { EventQueue } from "../program/event-queue.ts";
import type { ProcessSettings } from "../program/process-options.ts";
import {
  type ProgramEvent,
  type ProgramPrompt,
  type ProgramSession,
  type PromptEnd,
  lostEnd,
} from "../program/program-event.ts";
import { promptContent } from "./acp-content.ts";
import { AcpFiles } from "./acp-files.ts";
import { AcpUpdates, approvalOptions } from "./acp-updates.ts";

const { agent: agentMethods, client: clientMethods } = methods;

/** A program repeats the conversation when it loads a session; it is over when this long nothing came. */
const QUIET_MS = 150;

const MAX_QUIET_MS = 10_000;

/** How long a program that has closed its output may take to end. */
const CLOSED_MS = 1000;

export interface AcpStart {
  readonly settings: ProcessSettings;
  readonly cwd: string;
  /** The session to continue. */
  readonly resumeId: string | undefined;
}

/** A session of a program that speaks the Agent Client Protocol; this is the client side. */
export class AcpSession implements ProgramSession {
  readonly child: ChildProgram;
  readonly #settings: ProcessSettings;
  readonly #files: AcpFiles;
  readonly #updates: AcpUpdates;
  readonly #connection: ClientConnection;
  readonly #permissions = new Set<(response: RequestPermissionResponse) => void>();
  #facts: InitializeResponse | undefined;
  #sessionId = "";
  #mode: string | undefined;
  #isResumed = false;
  #isPrompted = false;
  #queue: EventQueue<ProgramEvent> | undefined;
  #lastUpdate = 0;

  private constructor(child: ChildProgram, { settings, cwd }: AcpStart) {
    this.child = child;
    this.#settings = settings;
    this.#files = new AcpFiles(cwd);
    this.#updates = new AcpUpdates(cwd);
    const app = createClient({ name: "convoke" })
      .onRequest(clientMethods.session.requestPermission, ({ params }) => this.#permit(params))
      .onNotification(clientMethods.session.update, ({ params }) => this.#update(params));
    if (settings.files) {
      app
        .onRequest(clientMethods.fs.readTextFile, ({ params }) => this.#files.read(params))
        .onRequest(clientMethods.fs.writeTextFile, ({ params }) => this.#files.write(params));
    }
    const output = Readable.toWeb(child.output) as ReadableStream<Uint8Array>;
    this.#connection = app.connect(ndJsonStream(Writable.toWeb(child.input), output));
    void child.ended.then(() => this.#connection.close());
  }

  /** Opens a session: the earlier one if there is one that the program can load, otherwise a new one. */
  static async open(child: ChildProgram, start: AcpStart): Promise<AcpSession> {
    const session = new AcpSession(child, start);
    await session.#initialize();
    await session.#open(start);
    return session;
  }

  get resumeId(): string | undefined {
    const { loadSession, sessionCapabilities } = this.#facts?.agentCapabilities ?? {};
    const canResume = loadSession === true || sessionCapabilities?.resume != null;
    return canResume ? this.#sessionId : undefined;
  }

  get remembers(): boolean {
    return this.#isResumed || this.#isPrompted;
  }

  prompt(prompt: ProgramPrompt): EventQueue<ProgramEvent> {
    const queue = new EventQueue<ProgramEvent>();
    this.#queue = queue;
    this.#updates.clear();
    this.#isPrompted = true;
    this.child.beginPrompt(() => queue.room());
    this.#ask(prompt)
      .catch((error: unknown) => this.#failed(error))
      .then(
        (end) => queue.end(end),
        () => undefined,
      );
    return queue;
  }

  /** The program has answered with an error, whose text is for the log only, or it is gone. */
  async #failed(cause: unknown): Promise<PromptEnd> {
    if (!this.#connection.signal.aborted) {
      return { kind: "end", outcome: "failed", reason: "program-error", cause };
    }
    // It has closed its output, so it ends now, or is of no use.
    const why = { reason: "process-exited", text: "It closed its output." } as const;
    const stopTimer = startTimer(CLOSED_MS, () => void this.child.stop(why));
    const end = await this.child.ended;
    stopTimer();
    return lostEnd(end);
  }

  cancel(): void {
    for (const answer of this.#permissions) answer({ outcome: { outcome: "cancelled" } });
    this.#permissions.clear();
    const params = { sessionId: this.#sessionId };
    // The program may be gone already.
    this.#agent.notify(agentMethods.session.cancel, params).catch(() => undefined);
  }

  get #agent(): ClientContext {
    return this.#connection.agent;
  }

  async #initialize(): Promise<void> {
    const { files, authMethod: methodId } = this.#settings;
    this.#facts = await this.#agent.request(agentMethods.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "convoke", version: packageVersion() },
      clientCapabilities: { fs: { readTextFile: files, writeTextFile: files }, terminal: false },
    });
    if (methodId === undefined) return;
    await this.#agent.request(agentMethods.authenticate, { methodId });
  }

  async #open({ cwd, resumeId }: AcpStart): Promise<void> {
    const modes = (await this.#resume(cwd, resumeId)) ?? (await this.#create(cwd));
    this.#mode = modes?.currentModeId;
    const { mode } = this.#settings;
    if (mode === undefined) return;
    const offered = modes?.availableModes.map(({ id }) => id) ?? [];
    if (!offered.includes(mode)) {
      const list = offered.join(", ") || "none";
      throw new Error(`the program has no mode ${JSON.stringify(mode)}; it offers ${list}`);
    }
    await this.#setMode(mode);
  }

  async #create(cwd: string): Promise<SessionModeState | undefined> {
    const created = await this.#agent.request(agentMethods.session.new, { cwd, mcpServers: [] });
    this.#sessionId = created.sessionId;
    return created.modes ?? undefined;
  }

  /** Continues the session. Undefined if the program cannot, or does not have it any more. */
  async #resume(cwd: string, sessionId = ""): Promise<SessionModeState | undefined> {
    const { loadSession, sessionCapabilities } = this.#facts?.agentCapabilities ?? {};
    if (sessionId === "" || (loadSession !== true && sessionCapabilities?.resume == null)) {
      return undefined;
    }
    const { load, resume } = agentMethods.session;
    try {
      const params = { sessionId, cwd, mcpServers: [] };
      const method = sessionCapabilities?.resume == null ? load : resume;
      const { modes } = await this.#agent.request<ResumeResponse>(method, params);
      await this.#repeated();
      this.#sessionId = sessionId;
      this.#isResumed = true;
      return modes ?? { currentModeId: "", availableModes: [] };
    } catch (error) {
      if (this.child.end !== undefined) throw error;
      return undefined;
    }
  }

  /** Resolves when the program has repeated the conversation; some do not wait for that themselves. */
  async #repeated(): Promise<void> {
    const deadline = performance.now() + MAX_QUIET_MS;
    do await sleep(QUIET_MS);
    while (performance.now() - this.#lastUpdate < QUIET_MS && performance.now() < deadline);
  }

  async #setMode(modeId: string): Promise<void> {
    if (modeId === this.#mode) return;
    await this.#agent.request(agentMethods.session.setMode, {
      sessionId: this.#sessionId,
      modeId,
    });
    this.#mode = modeId;
  }

  async #ask(prompt: ProgramPrompt): Promise<PromptEnd> {
    if (prompt.mode !== undefined) await this.#setMode(prompt.mode);
    const capabilities = this.#facts?.agentCapabilities?.promptCapabilities ?? {};
    const { slashCommands } = this.#settings;
    const { stopReason } = await this.#agent.request(agentMethods.session.prompt, {
      sessionId: this.#sessionId,
      prompt: promptContent(prompt, { capabilities, slashCommands }),
    });
    return { kind: "end", ...ENDS[stopReason] };
  }

  #update({ update }: SessionNotification): void {
    this.#lastUpdate = performance.now();
    for (const event of this.#updates.next(update)) this.#queue?.push(event);
  }

  #permit({ toolCall, options }: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const { promise, resolve } = Promise.withResolvers<RequestPermissionResponse>();
    const offered = approvalOptions(options);
    this.#permissions.add(resolve);
    this.#queue?.push({
      kind: "permission",
      permission: {
        call: this.#updates.call(toolCall),
        options: [...offered.keys()],
        answer: (option) => {
          this.#permissions.delete(resolve);
          const optionId = option && offered.get(option);
          const outcome =
            optionId === undefined
              ? ({ outcome: "cancelled" } as const)
              : ({ outcome: "selected", optionId } as const);
          resolve({ outcome });
        },
      },
    });
    return promise;
  }
}

interface ResumeResponse {
  readonly modes?: SessionModeState | null;
}

const ENDS = {
  end_turn: { outcome: "completed" },
  cancelled: { outcome: "canceled", reason: "canceled", text: "The program canceled its work." },
  refusal: { outcome: "rejected", reason: "refusal", text: "The program refuses to continue." },
  max_tokens: {
    outcome: "failed",
    reason: "max-tokens",
    text: "The program has used as many tokens as it may.",
  },
  max_turn_requests: {
    outcome: "failed",
    reason: "max-requests",
    text: "The program has made as many requests to its model as it may.",
  },
} as const satisfies Record<PromptResponse["stopReason"], Omit<PromptEnd, "kind">>;
