import { GRPC_STATUS } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { type Probe, must } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../wire/exchange.ts";
import { GrpcClient, type GrpcStatus } from "../wire/grpc.ts";

/** The gRPC service. */
export const GRPC: readonly Probe[] = [
  {
    name: "content-type",
    says: "A response is application/grpc.",
    claims: [must("v1-S53", "§10.1"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { headers } = await raw(scene, methodOf(scene), Buffer.alloc(0));
      if ((headers["content-type"] ?? "").startsWith("application/grpc")) return;
      throw new Failed("the content type application/grpc");
    },
  },
  {
    name: "unknown-method",
    says: "An unknown method is rejected with UNIMPLEMENTED.",
    claims: [must("v1-S53", "§10"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { name } = GRPC_SERVICES[scene.client.version];
      const { status } = await raw(scene, `/${name}/ConvokeCheck`, Buffer.alloc(0));
      if (GRPC_STATUS[status] !== "UNIMPLEMENTED") throw new Failed("the status UNIMPLEMENTED");
    },
  },
  {
    name: "not-protobuf",
    says: "Bytes that are not a protobuf message are rejected.",
    claims: [must("v1-S53", "§10"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { status } = await raw(scene, methodOf(scene), Buffer.from([255, 255, 255, 255]));
      if (status === 0) throw new Failed("an error such as INVALID_ARGUMENT");
    },
  },
];

function methodOf({ client }: Scene): string {
  const { methods } = GRPC_SERVICES[client.version];
  return methods.find(({ operation }) => operation === "getTask")?.path ?? "";
}

function raw({ client }: Scene, path: string, message: Uint8Array): Promise<GrpcStatus> {
  if (!(client instanceof GrpcClient)) throw new TypeError("this probe needs gRPC");
  return client.raw(path, message);
}
