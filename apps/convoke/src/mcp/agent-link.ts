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
import type { OtherCommands } from "./waiting-text.ts";

/** The agent to offer: at an address or in a file. */
export type McpRequest = {
  readonly io: CommandIo;
  readonly reconnect: Pick<FollowOptions, "reconnect">;
} & (
  | { readonly url: string; readonly connecting: ConnectOptions }
  | { readonly url?: undefined; readonly file: string; readonly data: string | undefined }
);

interface OfferedAgent {
  readonly open: OpenAgent;
  readonly elsewhere: OtherCommands;
  readonly close: () => Promise<void>;
}

export async function offerFrom(request: McpRequest): Promise<OfferedAgent> {
  if (request.url === undefined) {
    const { open, close } = await openFileAgent(request);
    return { open, close, elsewhere: besideFile(request.file) };
  }
  const { url, connecting } = request;
  // Do not cache the card: it may change with a restart.
  const open = () => connect(url, { ...connecting, extensions: ASKED_EXTENSIONS, cache: false });
  return { open, close: () => Promise.resolve(), elsewhere: commandsFor(url) };
}

/**
 * The extensions to activate. With `approvals`, the text of a message cannot approve a call, so that
 * a model cannot decide in place of the user.
 */
const ASKED_EXTENSIONS: readonly string[] = [EXTENSIONS.skill.uri, EXTENSIONS.approvals.uri];

function commandsFor(url: string): OtherCommands {
  return {
    decide: (id) => `convoke approvals answer ${quoted(url)} ${quoted(id)} --approve`,
    answer: (taskId) => `convoke send ${quoted(url)} --task ${quoted(taskId)} -`,
  };
}

/** Only one process can use the data folder, so this one must end first. */
function besideFile(file: string): OtherCommands {
  const { decide, answer } = commandsFor("http://127.0.0.1:3000");
  const serve = `stop this MCP server, run "convoke serve ${quoted(file)}", and then`;
  return {
    decide: (id) => `${serve} "${decide(id)}".`,
    answer: (taskId) => `${serve} "${answer(taskId)}".`,
  };
}

/** Connects to the agent and reads its card. */
type OpenAgent = () => Promise<RemoteAgent>;

/**
 * The connection to an agent that may be restarted and changed. After a lost connection the next
 * call reads the card again.
 */
export class AgentLink {
  /** Called when the skills of the agent have changed. */
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

  /** The agent, according to the last card. */
  get known(): RemoteAgent {
    return this.#agent;
  }

  /** The agent to call now. */
  async agent(): Promise<RemoteAgent> {
    if (!this.#isLost) return this.#agent;
    this.#reopening ??= this.#reopen().finally(() => {
      this.#reopening = undefined;
    });
    return this.#reopening;
  }

  /** The connection was lost: read the card again before the next call. */
  lost(): void {
    this.#isLost = true;
  }

  close(): void {
    this.#agent.close();
  }

  async #reopen(): Promise<RemoteAgent> {
    const agent = await this.#open();
    // Runs of the old connection continue.
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
  /** Stops running tasks and closes the storage. */
  readonly close: () => Promise<void>;
}

interface FileAgentOptions {
  readonly file: string;
  readonly data: string | undefined;
  readonly io: CommandIo;
}

/** A placeholder address; nothing listens there. */
const URL_IN_PROCESS = "http://127.0.0.1/";

/** Runs the agent of a file like `convoke serve`, but without a port. */
async function openFileAgent({ file, data, io }: FileAgentOptions): Promise<FileAgent> {
  // Nothing listens, so settings for ports and addresses do not apply.
  const { PORT: _port, BIND_HOST: _host, PUBLIC_URL: _url, ...env } = io.env;
  const settings = readSettings({ data }, env);
  const { logLevel, drainMs: _drainMs, token, ...options } = settings;
  const agent = await loadAgent(file);
  const mounted = await mount(agent, {
    ...options,
    // The owner of tasks is derived from the token, as on a server.
    ...(token !== undefined && { token }),
    publicUrl: URL_IN_PROCESS,
    logger: createJsonLogger(logLevel, io.stderr),
    onFatal: ({ message }) => {
      io.stderr(
        `${message.replace(/\.$/, "")}, so this server stops. All responses sent so far are stored.\n`,
      );
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
    // The tasks of the host are canceled by then; others resume at the next start.
    close: () => mounted.close(),
  };
}
