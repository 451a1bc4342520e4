import type { HttpAnswer } from "@convoke/egress/http";
import { readText } from "@convoke/egress/http";
import { SseDecoder } from "@convoke/protocol";
import { type JsonObject, isObject, timeoutSignal } from "@convoke/protocol/internal";
import { objectField, textField } from "../terminal/json-fields.ts";
import type { Findings } from "./diagnoses.ts";
import {
  type Target,
  cancelCall,
  errorReason,
  parseJson,
  streamCall,
  toAnswer,
} from "./interface-call.ts";
import { NOT_SUPPORTED } from "./promise-faults.ts";
import { type DoctorRequests, describeError } from "./requests.ts";

export interface StreamCheckOptions {
  /** What the agent is asked. Something slow shows what proxies do to streams. */
  readonly text: string;
  /** The longest stream that is read, in milliseconds. */
  readonly streamMs: number;
  /** Answers that take less time do not show whether a proxy collects events, in milliseconds. */
  readonly minSpreadMs: number;
}

/** Sends a message and watches its stream: whether there is one, when events arrive, how it ends. */
export async function checkStream(
  findings: Findings,
  requests: DoctorRequests,
  target: Target,
  options: StreamCheckOptions,
): Promise<void> {
  findings.step(`streaming from ${target.name}`);
  const limit = timeoutSignal(options.streamMs);
  const signal = AbortSignal.any([requests.options.signal, limit]);
  const stream = new WatchedStream();
  try {
    const answer = await requests.open(streamCall(target, options.text), signal);
    const { "content-type": type = "" } = answer.headers;
    if (!type.toLowerCase().startsWith("text/event-stream")) {
      return await explainNoStream(findings, target, answer, signal);
    }
    await stream.read(answer);
  } catch (error) {
    requests.options.signal.throwIfAborted();
    if (!limit.aborted) stream.error = describeError(error);
  }
  if (limit.aborted && !stream.isOver) {
    findings.skip(`The end of the stream: it took more than ${options.streamMs / 1000} s`);
    await cancel(requests, target, stream.taskId);
    return;
  }
  diagnoseStream(findings, target, stream, options);
}

async function explainNoStream(
  findings: Findings,
  target: Target,
  answer: HttpAnswer,
  signal: AbortSignal,
): Promise<void> {
  const { status, headers } = answer;
  const text = await readText(answer, signal);
  const { kind, reason } = toAnswer(target, { status, headers, text, ms: 0 });
  const isOther = kind === "understood" && reason !== undefined && !NOT_SUPPORTED.includes(reason);
  if (isOther || kind === "unauthorized") {
    findings.skip(`Streaming: the agent rejected the message (${reason ?? status})`);
    return;
  }
  const type = headers["content-type"] ?? "no content type";
  const seen = `the card promises it, but the server answered ${reason ?? `${status} with ${type}`}`;
  findings.diagnose("streaming-missing", target.url, seen);
}

/** The user asked for one message, not for a task that runs on. */
async function cancel(
  requests: DoctorRequests,
  target: Target,
  taskId: string | undefined,
): Promise<void> {
  if (taskId === undefined) return;
  await requests.send(cancelCall(target, taskId)).catch(() => undefined);
}

function diagnoseStream(
  findings: Findings,
  target: Target,
  stream: WatchedStream,
  { minSpreadMs }: StreamCheckOptions,
): void {
  if (stream.rejection !== undefined) {
    if (NOT_SUPPORTED.includes(stream.rejection)) {
      const seen = `the card promises it, but the server answered ${stream.rejection}`;
      findings.diagnose("streaming-missing", target.url, seen);
    } else findings.skip(`Streaming: the agent rejected the message (${stream.rejection})`);
    return;
  }
  if (!stream.isOver) {
    const seconds = (stream.silenceMs / 1000).toFixed(1);
    const why = stream.error === undefined ? "" : ` (${stream.error})`;
    const seen = `after ${stream.events} events and ${seconds} s of silence it was closed${why}`;
    findings.diagnose("stream-cut", target.url, seen);
    return;
  }
  findings.pass("Streaming: events arrive until the task stops");
  const { sentSpreadMs, arrivalSpreadMs } = stream;
  if (sentSpreadMs < minSpreadMs) {
    findings.skip("Buffering by proxies: the answer was too quick to tell (--slow <text>)");
  } else if (arrivalSpreadMs < sentSpreadMs / 10) {
    const [sent, arrived] = [sentSpreadMs, arrivalSpreadMs].map((ms) => (ms / 1000).toFixed(1));
    const seen = `events that the agent sent over ${sent} s arrived within ${arrived} s`;
    findings.diagnose("stream-buffered", target.url, seen);
  } else findings.pass("Streaming: events arrive when they are sent");
}

const ENDS = /^(?:TASK_STATE_)?(?:COMPLETED|FAILED|CANCELED|REJECTED|(?:INPUT|AUTH)[-_]REQUIRED)$/i;

/** A stream of events, with the times at which they were sent and at which they arrived. */
class WatchedStream {
  events = 0;
  /** Whether the last event of the task has arrived. */
  isOver = false;
  error: string | undefined;
  rejection: ReturnType<typeof errorReason>;
  taskId: string | undefined;
  silenceMs = 0;
  readonly #arrivals: number[] = [];
  readonly #stamps: number[] = [];

  async read({ body }: HttpAnswer): Promise<void> {
    const decoder = new SseDecoder();
    const bytes = new TextDecoder();
    let lastByteAt = performance.now();
    try {
      for await (const piece of body) {
        lastByteAt = performance.now();
        for (const { data } of decoder.push(bytes.decode(piece, { stream: true }))) {
          this.#take(parseJson(data));
        }
        // Some servers keep the connection open after the last event.
        if (this.isOver) return;
      }
    } finally {
      this.silenceMs = performance.now() - lastByteAt;
    }
  }

  /** How long the agent took between its first and its last status. */
  get sentSpreadMs(): number {
    return spread(this.#stamps);
  }

  get arrivalSpreadMs(): number {
    return spread(this.#arrivals);
  }

  #take(data: unknown): void {
    if (!isObject(data)) return;
    if (isObject(data["error"])) {
      this.rejection = errorReason(data) ?? "Internal";
      return;
    }
    const event = isObject(data["result"]) ? data["result"] : data;
    this.events += 1;
    const update = innerEvent(event);
    const status = objectField(update, "status");
    this.taskId ??= textField(update, "taskId") || textField(update, "id") || undefined;
    const stamp = Date.parse(textField(status, "timestamp"));
    if (!Number.isNaN(stamp)) {
      this.#stamps.push(stamp);
      this.#arrivals.push(performance.now());
    }
    const isMessage = isObject(event["message"]) || event["kind"] === "message";
    this.isOver ||= isMessage || ENDS.test(textField(status, "state"));
  }
}

/** 1.0 names the kind of an event by the member that it is in; 0.3 has a field for it. */
function innerEvent(event: JsonObject): JsonObject {
  const inner = event["task"] ?? event["statusUpdate"] ?? event["artifactUpdate"];
  return isObject(inner) ? inner : event;
}

function spread(times: readonly number[]): number {
  return times.length === 0 ? 0 : Math.max(...times) - Math.min(...times);
}
