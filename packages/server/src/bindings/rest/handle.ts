import type { Caller } from "@convoke/protocol";
import type { App } from "../../app.ts";
import { activate, echoed, NOTHING_ACTIVE } from "../activation.ts";
import { scopedCaller } from "../../guard/tenant.ts";
import { type HttpResponse, header } from "../../http/exchange.ts";
import { jsonResponse } from "../../http/json-response.ts";
import { requestTrace } from "../../http/trace-context.ts";
import type { EventSource } from "@convoke/engine";
import { PERFORM } from "../operation-table.ts";
import { EventStream } from "../event-stream.ts";
import { SSE_HEADERS, SseFraming } from "../sse-framing.ts";
import { errorResponse, errorText, methodNotAllowed } from "./errors.ts";
import { answerType } from "./media-types.ts";
import type { OpenedRest } from "./open.ts";
import { type RestCall, readRest } from "./read.ts";

/** HTTP+JSON: `/v1/…` in 0.3, the same paths without it in 1.0 (0.3 §3.2.3, 1.0 §11). */
export async function handleRest(
  app: App,
  opened: OpenedRest,
  identify: () => Caller,
): Promise<HttpResponse> {
  const { request, version, route } = opened;
  let activation = NOTHING_ACTIVE;
  try {
    const identified = identify();
    if (route === undefined) return methodNotAllowed(opened);
    const call = await readRest(opened, route, app.isStrict);
    const caller = scopedCaller(identified, call.tenant, app.tenants);
    activation = await activate(app, { request, caller, version });
    const outcome = await PERFORM[call.operation](call.params, call.codec, {
      engine: app.engine,
      extendedCard: app.extendedCardFor(request),
      caller,
      version,
      extensions: activation.extensions,
      trace: requestTrace(request),
      lastEventId: header(request, "last-event-id"),
    });
    if (outcome.kind === "events") {
      return echoed(streamResponse(app, outcome.source, call), activation);
    }
    if (route.empty !== undefined)
      return { status: route.empty, headers: activation.headers, body: "" };
    return jsonResponse(200, JSON.stringify(outcome.value), {
      "content-type": answerType(request, version),
      ...activation.headers,
    });
  } catch (thrown) {
    return echoed(errorResponse(app.explain(thrown), opened, app.specPatch), activation);
  }
}

/** Each event bare, without an envelope. */
function streamResponse(app: App, source: EventSource, { codec }: RestCall): HttpResponse {
  const words = { version: codec.version, specPatch: app.specPatch };
  const framing = new SseFraming({
    codec,
    prefix: "",
    suffix: "",
    errorText: (thrown) => errorText(app.explain(thrown), words),
  });
  const body = new EventStream({ source, framing, keepAlive: app.keepAlive });
  return { status: 200, headers: SSE_HEADERS, body };
}
