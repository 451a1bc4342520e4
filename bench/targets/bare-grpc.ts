import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { GRPC_SERVICES, type GrpcMethod } from "@convoke/protocol/grpc";
import { report } from "./control.ts";
import { chunkText, parseOrder } from "./order.ts";

/**
 * The cost of grpc-js itself: read the request, write every event of the same stream. No
 * validation, no log, no disk.
 */
const taskId = "01a1dd92-3a70-707f-8878-6323c3be3541";
const contextId = "01a1dd92-3a70-773d-b691-800de7410cc6";

interface Request {
  readonly message: { readonly parts: readonly { readonly text: string }[] };
}

const status = (state: string) => ({
  state: `TASK_STATE_${state}`,
  timestamp: new Date().toISOString(),
});
const chunk = (text: string, append: boolean) => ({
  artifactUpdate: {
    taskId,
    contextId,
    artifact: { artifactId: "answer-1", parts: [{ text }] },
    append,
  },
});

function send(call: ServerUnaryCall<Request, object>, answer: sendUnaryData<object>): void {
  const { message } = call.request;
  const { count } = parseOrder(message.parts[0]?.text ?? "");
  const text = Array.from({ length: count }, (_, place) => chunkText(place)).join("");
  const artifacts = [{ artifactId: "answer-1", parts: [{ text }] }];
  answer(null, {
    task: { id: taskId, contextId, status: status("COMPLETED"), artifacts, history: [message] },
  });
}

function stream(call: ServerWritableStream<Request, object>): void {
  const { message } = call.request;
  const { count } = parseOrder(message.parts[0]?.text ?? "");
  call.write({ task: { id: taskId, contextId, status: status("SUBMITTED"), history: [message] } });
  call.write({ statusUpdate: { taskId, contextId, status: status("WORKING") } });
  for (let place = 0; place < count; place++) call.write(chunk(chunkText(place), place > 0));
  call.write({ statusUpdate: { taskId, contextId, status: status("COMPLETED") } });
  call.end();
}

const [unary, streaming] = ["sendMessage", "sendStreamingMessage"].map((operation) => {
  const method = GRPC_SERVICES["1.0"].methods.find((each) => each.operation === operation)!;
  return definitionOf(method);
});

const server = new Server();
server.addService({ send: unary!, stream: streaming! }, { send, stream } as never);
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  report(`http://127.0.0.1:${port}/`);
});

function definitionOf(method: GrpcMethod) {
  return {
    path: method.path,
    requestStream: false,
    responseStream: method.streaming,
    requestSerialize: (json: unknown) => Buffer.from(method.encodeRequest(json)),
    requestDeserialize: (bytes: Buffer) => method.decodeRequest(bytes),
    responseSerialize: (json: unknown) => Buffer.from(method.encodeResponse(json)),
    responseDeserialize: (bytes: Buffer) => method.decodeResponse(bytes),
  };
}
