import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { Client, credentials } from "@grpc/grpc-js";
import protobuf from "protobufjs";
import descriptors from "protobufjs/ext/descriptor/index.js";
import { defineAgent, serve } from "convoke";
import { describe, expect, onTestFinished, test } from "vitest";
import { useServer } from "./wire-server.ts";

const goOn = Promise.withResolvers<void>();
const agent = defineAgent({
  name: "plain",
  description: "Answers.",
  async run({ text }) {
    if (text === "slow") await goOn.promise;
    return "done";
  },
});
const server = useServer(agent);
const guarded = useServer(agent, { token: "a-secret" });

/** The messages of reflection, as in its proto file. */
const REFLECTION = protobuf.parse(`syntax = "proto3"; package r;
  message Request { string host = 1; oneof message_request { string file_by_filename = 3; string file_containing_symbol = 4; string list_services = 7; } }
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Services { repeated Service service = 1; } message Service { string name = 1; }
  message Error { int32 error_code = 1; string error_message = 2; }
  message Response { Files file_descriptor_response = 4; Services list_services_response = 6; Error error_response = 7; }`).root;
const HEALTH = protobuf.parse(`syntax = "proto3"; package h;
  message Request { string service = 1; } message Response { Status status = 1; }
  enum Status { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }`).root;

const encoder = (root: protobuf.Root, type: string) => (json: object) =>
  Buffer.from(root.lookupType(type).encode(root.lookupType(type).fromObject(json)).finish());
const decoder = (root: protobuf.Root, type: string) => (bytes: Buffer) =>
  root.lookupType(type).toObject(root.lookupType(type).decode(bytes), { enums: String });

function aClient(url: string): Client {
  const client = new Client(new URL(url).host, credentials.createInsecure());
  onTestFinished(() => client.close());
  return client;
}

interface ReflectionAnswer {
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Uint8Array[] };
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly errorResponse?: { readonly errorCode: number };
}

/** Sends one request after the other on one stream, as grpcurl does. */
async function asking(
  url: string,
  version: string,
  questions: readonly object[],
): Promise<readonly ReflectionAnswer[]> {
  const call = aClient(url).makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    encoder(REFLECTION, "r.Request"),
    decoder(REFLECTION, "r.Response"),
  );
  const answers: ReflectionAnswer[] = [];
  for (const question of questions) {
    call.write(question);
    const [answer] = (await once(call, "data")) as [ReflectionAnswer];
    answers.push(answer);
  }
  call.end();
  await once(call.resume(), "end");
  return answers;
}

describe.each(["v1", "v1alpha"])("reflection %s", (version) => {
  test("lists the services of both versions of A2A", async () => {
    const [listed] = await asking(server.url, version, [{ listServices: "" }]);

    const names = listed?.listServicesResponse?.service.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        "a2a.v1.A2AService",
        "lf.a2a.v1.A2AService",
        "grpc.health.v1.Health",
      ]),
    );
  });

  test("describes each service as its proto file does", async () => {
    for (const owner of ["a2a.v1", "lf.a2a.v1"]) {
      const [found, unknown] = await asking(server.url, version, [
        { fileContainingSymbol: `${owner}.A2AService` },
        { fileContainingSymbol: `${owner}.Nothing` },
      ]);
      const file =
        found?.fileDescriptorResponse?.fileDescriptorProto.map((bytes) => decodeFile(bytes)) ?? [];
      const described = (protobuf.Root as unknown as FromDescriptor).fromDescriptor({ file });
      described.resolveAll();
      const written = protobuf.parse(
        readFileSync(
          new URL(`../../packages/protocol/proto/${owner}.proto`, import.meta.url),
          "utf8",
        ),
        { keepCase: true },
      ).root;

      expect(outlineOf(described.lookup(owner) as protobuf.Namespace)).toEqual(
        outlineOf(written.lookup(owner) as protobuf.Namespace),
      );
      expect(unknown?.errorResponse?.errorCode).toBe(5);
    }
  });

  test("requires a token if the server does", async () => {
    await expect(asking(guarded.url, version, [{ listServices: "" }])).rejects.toThrow(
      "UNAUTHENTICATED",
    );
  });
});

interface FromDescriptor {
  fromDescriptor(set: object): protobuf.Root;
}

interface DecodedFile {
  readonly messageType: readonly { readonly field: readonly { jsonName: string }[] }[];
}

function decodeFile(bytes: Uint8Array): object {
  const types = descriptors as unknown as Readonly<Record<"FileDescriptorProto", protobuf.Type>>;
  const file = types.FileDescriptorProto.decode(bytes) as unknown as DecodedFile;
  // protobufjs would use the JSON names of the fields.
  for (const { field } of file.messageType) for (const one of field) one.jsonName = "";
  return file;
}

/** The fields of all messages, and the methods of the service. */
function outlineOf(owner: protobuf.Namespace): readonly string[] {
  return owner.nestedArray
    .flatMap((one) => {
      if (one instanceof protobuf.Type) {
        return one.fieldsArray.map(
          ({ name, id, repeated, type, map }) =>
            `${one.name}.${snake(name)} ${id} ${repeated} ${map} ${type.split(".").at(-1)}`,
        );
      }
      if (one instanceof protobuf.Enum) return Object.entries(one.values).map(String);
      if (!(one instanceof protobuf.Service)) return [];
      return one.methodsArray.map(
        ({ name, requestType, responseType, responseStream }) =>
          `${name} ${requestType.split(".").at(-1)} ${responseType.split(".").at(-1)} ${responseStream === true}`,
      );
    })
    .toSorted();
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function health(client: Client, service: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      encoder(HEALTH, "h.Request"),
      decoder(HEALTH, "h.Response"),
      { service },
      (error, answer) => (error ? reject(error) : resolve(answer)),
    );
  });
}

describe("health", () => {
  test("is reported for the server and its services, without a token", async () => {
    const client = aClient(guarded.url);

    expect(await health(client, "")).toEqual({ status: "SERVING" });
    expect(await health(client, "lf.a2a.v1.A2AService")).toEqual({ status: "SERVING" });
    await expect(health(client, "other")).rejects.toMatchObject({ code: 5 });
  });

  test("can be watched until the server stops", async () => {
    const stopping = await serve(agent, { port: 0, data: "memory" });
    const call = aClient(stopping.url).makeServerStreamRequest(
      "/grpc.health.v1.Health/Watch",
      encoder(HEALTH, "h.Request"),
      decoder(HEALTH, "h.Response"),
      {},
    );
    const seen: unknown[] = [];
    call.on("data", (answer) => seen.push(answer));
    call.on("error", () => undefined);
    await once(call, "data");

    await stopping.close();
    await expect.poll(() => seen).toEqual([{ status: "SERVING" }, { status: "NOT_SERVING" }]);
  });
});

/** The status for a probe by IP address, as Kubernetes sends it. */
function probe(url: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(new URL(path, url), { headers: { host: "10.1.2.3:8080" } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on("error", reject)
      .end();
  });
}

describe("a probe", () => {
  test("needs neither the host name of the server nor a token", async () => {
    expect(await probe(guarded.url, "/health")).toBe(200);
    expect(await probe(guarded.url, "/ready")).toBe(200);
    expect(await probe(guarded.url, "/tasks/x")).toBe(403);
  });

  test("reports that a stopping server is alive but not ready", async () => {
    const stopping = await serve(agent, { port: 0, data: "memory" });
    const { url } = stopping;
    const message = { messageId: "m", role: "user", parts: [{ kind: "text", text: "slow" }] };
    const params = { message, configuration: { blocking: false } };
    await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params }),
    });

    const closed = stopping.close({ drainMs: 60_000 });

    expect(await probe(url, "/ready")).toBe(503);
    expect(await probe(url, "/health")).toBe(200);
    goOn.resolve();
    await closed;
  });
});
