import type { FaultCall, FaultScenario, FaultSpeaking, FaultStep } from "./fault-scenario.ts";
import { honestGrpcReply, honestReply } from "./replies/honest.ts";
import { createGrpcListener } from "./wire/grpc-listener.ts";
import {
  type HttpRequest,
  createClosingListener,
  createHttpListener,
} from "./wire/http-listener.ts";
import type { Listener } from "./wire/listener.ts";
import { grpcStepOf, stepOf } from "./wire/step-of.ts";

export interface FaultyAgentOptions {
  /** One of the versions and bindings of the scenario. Default: the first. */
  readonly speaking?: FaultSpeaking;
  /** The real agent, for scenarios that need one. */
  readonly behind?: ((request: Request) => Promise<Response>) | undefined;
  /** A certificate for `localhost`, for scenarios with TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** An agent that fails as its scenario describes, on real sockets. */
export interface FaultyAgent {
  /** The URL for clients. */
  readonly url: string;
  /** `host:port` of a second address that its card may refer to. */
  readonly others: readonly string[];
  /** The requests it received, in order. */
  readonly seen: readonly FaultCall[];
  /** The number of open client connections. */
  readonly openConnections: number;
  close(): Promise<void>;
}

/** The parts of a call that come from the request itself. */
type Asked = Pick<FaultCall, "id" | "path" | "headers" | "behind">;

const NOTHING_ASKED: Asked = { id: undefined, path: "", headers: {}, behind: noAgent };

/** Starts the agent of a scenario on this machine. */
export async function startFaultyAgent(
  scenario: FaultScenario,
  options: FaultyAgentOptions = {},
): Promise<FaultyAgent> {
  const speaking = options.speaking ?? firstOf(scenario);
  const seen: FaultCall[] = [];

  function note(step: FaultStep, asked: Partial<Asked>): FaultCall {
    const count = seen.filter((earlier) => earlier.step === step).length + 1;
    const place = { speaking, origin: url, grpc: grpcTarget };
    const call: FaultCall = { ...NOTHING_ASKED, ...asked, ...place, step, count };
    seen.push(call);
    return call;
  }

  const http = isSilent(scenario)
    ? createClosingListener()
    : createHttpListener({
        tls: hasTls(scenario) ? options.tls : undefined,
        answer: (request) => {
          const { method, path, body, headers } = request;
          const { step, id } = stepOf(method, path, body);
          const behind = () => askBehind(options, url, request);
          const call = note(step, { id, path, headers, behind });
          return pick(scenario.replies?.[step], call.count, honestReply(step))(call);
        },
      });
  const grpc = createGrpcListener((headers) => {
    const step = grpcStepOf(String(headers[":path"]));
    const call = note(step, { headers: headers as FaultCall["headers"] });
    return pick(scenario.grpcReplies?.[step], call.count, honestGrpcReply(step))(call);
  });
  const listeners: readonly Listener[] = [http, grpc];
  const url = urlOf(scenario, await http.listen());
  const grpcTarget = `127.0.0.1:${await grpc.listen()}`;

  return {
    url,
    others: [grpcTarget],
    seen,
    get openConnections() {
      return listeners.reduce((sum, { openConnections }) => sum + openConnections, 0);
    },
    async close() {
      await Promise.all(listeners.map((listener) => listener.close()));
    },
  };
}

function firstOf({ id, speaks }: FaultScenario): FaultSpeaking {
  const [first] = speaks;
  if (first === undefined) throw new TypeError(`speaks of ${id} must not be empty`);
  return first;
}

/** The reply to the request with this ordinal; the last one answers all further requests. */
function pick<Reply>(replies: readonly Reply[] | undefined, count: number, honest: Reply): Reply {
  return replies?.[count - 1] ?? replies?.at(-1) ?? honest;
}

function isSilent({ tls }: FaultScenario): boolean {
  return tls === "silent";
}

function hasTls({ tls }: FaultScenario): boolean {
  return tls === "trusted" || tls === "untrusted" || tls === "unexpected";
}

/** The certificate is for `localhost`, so the IP address of the agent does not match it. */
function urlOf({ tls }: FaultScenario, port: number): string {
  if (tls === undefined || tls === "unexpected") return `http://127.0.0.1:${port}`;
  return tls === "untrusted" ? `https://localhost:${port}` : `https://127.0.0.1:${port}`;
}

async function noAgent(): Promise<never> {
  throw new TypeError("the scenario needs the real agent, but `behind` is not set");
}

function askBehind(
  { behind = noAgent }: FaultyAgentOptions,
  origin: string,
  { method, path, headers, body }: HttpRequest,
): Promise<Response> {
  const { connection: _, "content-length": __, ...rest } = headers;
  const sent = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] satisfies [string, string]],
  );
  const content = body === "" ? {} : { body };
  return behind(new Request(new URL(path, origin), { method, headers: sent, ...content }));
}
