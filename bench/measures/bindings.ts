import { type Answer, inFlight, send, sendRest } from "../client.ts";
import { type Contender, type Field, bothVersions } from "../contenders.ts";
import { GrpcClient } from "../grpc-client.ts";
import { costOf, median } from "../rounds.ts";
import { Target } from "../target.ts";
import { type Row, short } from "../table.ts";

interface Options {
  readonly calls: number;
  readonly chunks: number;
  readonly rounds: number;
  readonly limits: { readonly rest: number; readonly unary: number; readonly stream: number };
}

const AT_ONCE = 32;
const ORDER = { manner: "burst", count: 1 } as const;

/** The cost of the other bindings: REST relative to JSON-RPC, gRPC relative to bare grpc-js. */
export async function bindings({ ours }: Field, options: Options): Promise<readonly Row[]> {
  const { calls, chunks, rounds, limits } = options;
  const bare = bothVersions(await Target.start("bare-grpc.ts"))["1.0"];
  const own = ours["1.0"];
  const clients = new Map([bare, own].map((each) => [each, new GrpcClient(each.target.url)]));
  const client = (contender: Contender): GrpcClient => clients.get(contender)!;
  const burst = { manner: "burst", count: chunks } as const;
  try {
    const cpu = async (contender: Contender, work: () => Promise<Answer | number>, count: number) =>
      (await costOf(contender, () => inFlight(AT_ONCE, count, work))).value / count;
    const samples = {
      rpc: [],
      rest: [],
      unary: [],
      bareUnary: [],
      stream: [],
      bareStream: [],
    } as Record<"rpc" | "rest" | "unary" | "bareUnary" | "stream" | "bareStream", number[]>;
    for (let round = 0; round <= rounds; round++) {
      const taken = {
        rpc: await cpu(own, () => send(own, ORDER), calls),
        rest: await cpu(own, () => sendRest(own, ORDER), calls),
        unary: await cpu(own, () => client(own).send(ORDER), calls),
        bareUnary: await cpu(bare, () => client(bare).send(ORDER), calls),
        stream: await cpu(own, () => client(own).stream(burst), AT_ONCE),
        bareStream: await cpu(bare, () => client(bare).stream(burst), AT_ONCE),
      };
      // The first round warms up.
      if (round === 0) continue;
      for (const name of Object.keys(samples) as (keyof typeof samples)[])
        samples[name].push(taken[name]);
    }
    const at = (name: keyof typeof samples): number => median(samples[name]);
    return [
      row("blocking send by REST, over JSON-RPC", at("rest"), at("rpc"), limits.rest),
      row("blocking send by gRPC, over bare grpc-js", at("unary"), at("bareUnary"), limits.unary),
      row(
        `gRPC stream of ${chunks} chunks, over bare grpc-js`,
        at("stream"),
        at("bareStream"),
        limits.stream,
      ),
    ];
  } finally {
    for (const each of clients.values()) each.close();
    await bare.target.close();
  }
}

function row(work: string, ours: number, floor: number, limit: number): Row {
  const ratio = ours / floor;
  return {
    work,
    ours: `${short(ours)} / ${short(floor)} µs`,
    ratio: short(ratio),
    budget: String(limit),
    isMet: ratio <= limit,
    sdkV1: "",
    sdkV03: "",
  };
}
