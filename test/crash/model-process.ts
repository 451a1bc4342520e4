import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startScriptedModelServer } from "@convoke/runtime/testing";
import { reportReady } from "../harness/report-ready.ts";
import { readRequest, tell } from "./tale.ts";

// The provider of the model: a process that no crash of the server affects. It counts every
// request.

const model = await startScriptedModelServer(tell);

const counter = createServer((_, response) => {
  const asked = model.requests.map((request) => {
    const { id, answers, messages } = readRequest(request);
    return { id, answers, messages };
  });
  response.end(JSON.stringify(asked));
});

counter.listen(0, "127.0.0.1", () => {
  const { port } = counter.address() as AddressInfo;
  reportReady(JSON.stringify({ spec: model.specs["openai-compatible"], port }));
});
