import { GRPC_STATUS } from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { must } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../verdict.ts";
import type { GrpcEnd } from "../wire/grpc-call.ts";
import { GrpcSpeaker } from "../wire/grpc-speaker.ts";

/** The service of gRPC. */
export const GRPC: readonly Probe[] = [
  {
    name: "content-type",
    says: "An answer is application/grpc.",
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
    says: "A method that does not exist is refused with UNIMPLEMENTED.",
    claims: [must("v1-S53", "§10"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { name } = GRPC_SERVICES[scene.speaker.version];
      const { status } = await raw(scene, `/${name}/ConvokeCheck`, Buffer.alloc(0));
      if (GRPC_STATUS[status] !== "UNIMPLEMENTED") throw new Failed("the status UNIMPLEMENTED");
    },
  },
  {
    name: "not-protobuf",
    says: "Bytes that are no message are refused.",
    claims: [must("v1-S53", "§10"), must("v03-S9", "§3.2.2")],
    bindings: ["grpc"],
    async run(scene) {
      const { status } = await raw(scene, methodOf(scene), Buffer.from([255, 255, 255, 255]));
      if (status === 0) throw new Failed("an error such as INVALID_ARGUMENT");
    },
  },
];

function methodOf({ speaker }: Scene): string {
  const { methods } = GRPC_SERVICES[speaker.version];
  return methods.find(({ operation }) => operation === "getTask")?.path ?? "";
}

function raw({ speaker }: Scene, path: string, message: Uint8Array): Promise<GrpcEnd> {
  if (!(speaker instanceof GrpcSpeaker)) throw new TypeError("this is for gRPC");
  return speaker.raw(path, message);
}
