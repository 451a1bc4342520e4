import { isDeepStrictEqual } from "node:util";
import {
  type ConnectOptions,
  type FollowOptions,
  type RemoteAgent,
  connect,
} from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import { EXTENSIONS } from "@convoke/protocol";
import { loadAgent } from "../host/load-agent.ts";
import { mount } from "../host/serve-agent.ts";
import { explainStart, readSettings } from "../host/settings.ts";
import type { CommandIo } from "../terminal/command.ts";
import { quoted } from "../terminal/command-line.ts";
import { type SkillTool, skillTools } from "./skill-tools.ts";
import type { Elsewhere } from "./waiting-text.ts";

/** Which agent, and how it is spoken to. */
export type McpRequest = {
  readonly io: CommandIo;
  readonly reconnect: Pick<FollowOptions, "reconnect">;
} & (
  | { readonly url: string; readonly connecting: ConnectOptions }
  | { readonly url?: undefined; readonly file: string; readonly data: string | undefined }
);

interface OfferedAgent {
  readonly open: OpenAgent;
  readonly elsewhere: Elsewhere;
  readonly close: () => Promise<void>;
}

export async function agentOf(request: McpRequest): Promise<OfferedAgent> {
  if (request.url === undefined) {
    const { open, close } = await openFileAgent(request);
    return { open, close, elsewhere: besideFile(request.file) };
  }
  const { url, connecting } = request;
  // After a restart the card may be another one, whatever the server said about keeping it.
  const open = () => connect(url, { ...connecting, extensions: ASKED_EXTENSIONS, cache: false });
  return { open, close: () => Promise.resolve(), elsewhere: commandsFor(url) };
}

/**
 * What an agent is asked for. With `approvals` no words of a message approve a
 * call, so that a model cannot decide what is a person's to decide.
 */
const ASKED_EXTENSIONS: readonly string[] = [EXTENSIONS.skill.uri, EXTENSIONS.approvals.uri];

function commandsFor(url: string): Elsewhere {
  return {
    decide: (id) => `convoke approvals answer ${quoted(url)} ${quoted(id)} --approve`,
    answer: (taskId) => `convoke send ${quoted(url)} --task ${quoted(taskId)} -`,
  };
}

/** One process at a time has the data of an agent, so this one has to end first. */
function besideFile(file: string): Elsewhere {
  const { decide, answer } = commandsFor("http://127.0.0.1:3000");
  const serve = `end this MCP server, run "convoke serve ${quoted(file)}", and then`;
  return {
    decide: (id) => `${serve} "${decide(id)}".`,
    answer: (taskId) => `${serve} "${answer(taskId)}".`,
  };
}

/** Finds the agent, and reads its card anew. */
type OpenAgent = () => Promise<RemoteAgent>;

/**
 * The way to an agent that may be restarted, and be another one afterwards. After
 * a loss the next call reads the card again, and finds its agent by that.
 */
export class AgentLink {
  /** Hears of it when the agent has other skills than before. */
  onTools: ((tools: readonly SkillTool[]) => void) | undefined;
  readonly #open: OpenAgent;
  #agent: RemoteAgent;
  #tools: readonly SkillTool[];
  #reopening: Promise<RemoteAgent> | undefined;
  #isLost = false;

  private constructor(open: OpenAgent, agent: RemoteAgent) {
    this.#open = open;
    this.#agent = agent;
    this.#tools = skillTools(agent.info);
  }

  static async open(open: OpenAgent): Promise<AgentLink> {
    return new AgentLink(open, await open());
  }

  get tools(): readonly SkillTool[] {
    return this.#tools;
  }

  /** The agent as its card said last. */
  get known(): RemoteAgent {
    return this.#agent;
  }

  /** The agent to speak to now. */
  async agent(): Promise<RemoteAgent> {
    if (!this.#isLost) return this.#agent;
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  /** The connection was lost, so nobody knows what is there next. */
  lost(): void {
    this.#isLost = true;
  }

  close(): void {
    this.#agent.close();
  }

  async #reopen(): Promise<RemoteAgent> {
    const agent = await this.#open();
    // What still runs by the old one goes on.
    this.#agent.close();
    this.#agent = agent;
    this.#isLost = false;
    const tools = skillTools(agent.info);
    if (!isDeepStrictEqual(tools, this.#tools)) {
      this.#tools = tools;
      this.onTools?.(tools);
    }
    return agent;
  }
}

/** An agent that runs in this process. */
interface FileAgent {
  readonly open: () => Promise<RemoteAgent>;
  /** Ends what is under way and closes the storage. */
  readonly close: () => Promise<void>;
}

interface FileAgentOptions {
  readonly file: string;
  readonly data: string | undefined;
  readonly io: CommandIo;
}

/** Where the agent seems to be. Nothing listens there. */
const URL_IN_PROCESS = "http://127.0.0.1/";

/** Runs the agent of a file as `convoke serve` does, but without a port. */
async function openFileAgent({ file, data, io }: FileAgentOptions): Promise<FileAgent> {
  // It listens nowhere, so what is said of ports and addresses is for servers.
  const { PORT: _port, BIND_HOST: _host, PUBLIC_URL: _url, ...env } = io.env;
  const settings = readSettings({ data }, env);
  const { logLevel, drainMs: _drainMs, token, ...options } = settings;
  const agent = await loadAgent(file);
  const mounted = await mount(agent, {
    ...options,
    // Its tasks belong to whoever has the token, as on a server.
    ...(token !== undefined && { token }),
    publicUrl: URL_IN_PROCESS,
    logger: createJsonLogger(logLevel, io.stderr),
    onFatal: ({ message }) => {
      io.stderr(`${message.replace(/\.$/, "")}, so this stops too; what it answered is kept.\n`);
      process.exit(1);
    },
  }).catch((error: unknown) => {
    throw explainStart(error, settings);
  });
  return {
    open: () =>
      connect(URL_IN_PROCESS, {
        token,
        extensions: ASKED_EXTENSIONS,
        cache: false,
        fetch: (input, init) => mounted.fetch(new Request(input, init)),
      }),
    // What the host had begun is canceled by then, and what else is under way goes on another time.
    close: () => mounted.close(),
  };
}
