import { ndJsonStream } from "@agentclientprotocol/sdk";
import type { CodingAgent } from "@convoke/coder";
import { type ConnectOptions, connect } from "@convoke/client";
import { type Agent, EXTENSIONS } from "@convoke/protocol";
import { printable } from "@convoke/protocol/internal";
import { Readable, Writable } from "node:stream";
import { openInProcess } from "../host/in-process-agent.ts";
import type { CommandIo } from "../terminal/command.ts";
import { disconnected, takeProtocolStreams } from "../terminal/protocol-streams.ts";
import { AcpAgent, type AcpTarget } from "./acp-agent.ts";

/** The agent to offer: at an address, in a file, or one that was made for this process. */
export type AcpTargetRequest =
  | {
      readonly url: string;
      readonly connecting: ConnectOptions;
      /** A request to a route of the server that is not part of A2A. A body makes it a POST. */
      readonly ask: AcpTarget["ask"];
    }
  | {
      readonly url?: undefined;
      readonly agent: Agent | string;
      readonly data: string | undefined;
    };

type AcpRequest = AcpTargetRequest & {
  readonly io: CommandIo;
  readonly ignoresMcp: boolean;
};

/** What the agent may report, if it can. Approvals are data, so that text never decides. */
const EXTENSION_URIS: readonly string[] = [
  EXTENSIONS.coder.uri,
  EXTENSIONS.approvals.uri,
  EXTENSIONS.toolActivity.uri,
  EXTENSIONS.resumption.uri,
];

/** Serves ACP over standard input and output. Resolves when the editor disconnects. */
export async function runAcp(request: AcpRequest): Promise<void> {
  // Before the agent is loaded, because its file may print something.
  const streams = takeProtocolStreams();
  const { io, ignoresMcp } = request;
  const note = (message: string): void => io.stderr(`${printable(message)}\n`);
  const { target, close } = await openTarget(request);
  const gone = new AbortController();
  const acp = new AcpAgent({ target, ignoresMcp, note, gone: gone.signal });
  const over = disconnected(streams, io.signal);
  const input = Readable.toWeb(streams.input) as ReadableStream<Uint8Array>;
  const connection = acp.app.connect(ndJsonStream(Writable.toWeb(streams.output), input));
  await Promise.race([over, connection.closed]);
  gone.abort(new Error("the editor is gone"));
  connection.close();
  acp.close();
  await close();
}

interface OpenedTarget {
  readonly target: AcpTarget;
  readonly close: () => Promise<void>;
}

async function openTarget(request: AcpRequest): Promise<OpenedTarget> {
  if (request.url === undefined) {
    const { agent: own, connect: open, ask, close } = await openInProcess(request, EXTENSION_URIS);
    const target: AcpTarget = {
      connect: open,
      ask,
      ...(isCodingAgent(own) && {
        setMcpServers: (sessionId, servers) => own.setMcpServers(sessionId, servers),
      }),
    };
    return { target, close };
  }
  const { url, connecting, ask } = request;
  const extensions = [...EXTENSION_URIS, ...(connecting.extensions ?? [])];
  const target: AcpTarget = {
    connect: () => connect(url, { ...connecting, extensions, cache: false }),
    ask,
  };
  return { target, close: () => Promise.resolve() };
}

function isCodingAgent(agent: Agent): agent is CodingAgent {
  return "setMcpServers" in agent;
}
