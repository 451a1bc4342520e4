import { type RemoteAgent, connect } from "@convoke/client";
import { createJsonLogger } from "@convoke/engine";
import type { CommandIo } from "../cli/command.ts";
import { loadAgent } from "../cli/serve/load-agent.ts";
import { readSettings } from "../cli/serve/settings.ts";
import { explainStart } from "../cli/serve/start-error.ts";
import { mount } from "../mount-agent.ts";
import { ASKED_EXTENSIONS } from "./asked-extensions.ts";

/** Where the agent seems to be. Nothing listens there. */
const URL_IN_PROCESS = "http://127.0.0.1/";

/** An agent that runs in this process. */
export interface FileAgent {
  readonly open: () => Promise<RemoteAgent>;
  /** Ends what is under way and closes the storage. */
  readonly close: () => Promise<void>;
}

export interface FileAgentOptions {
  readonly file: string;
  readonly data: string | undefined;
  readonly io: CommandIo;
}

/** Runs the agent of a file as `convoke serve` does, but without a port. */
export async function openFileAgent({ file, data, io }: FileAgentOptions): Promise<FileAgent> {
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
