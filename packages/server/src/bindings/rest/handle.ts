import type { Caller } from "@convoke/protocol";
import type { App } from "../app.ts";
import { NOTHING_ACTIVE, activate, withHeaders } from "../extensions.ts";
import { scopedCaller } from "../../guard/guard.ts";
import { type HttpResponse, header, jsonResponse } from "../../http/exchange.ts";
import type { EventSource } from "@convoke/engine";
import { performOperation } from "../operations.ts";
import { EventStream } from "../event-stream.ts";
import { SSE_HEADERS, SseFraming } from "../sse-framing.ts";
import { errorResponse, errorText, methodNotAllowed } from "./errors.ts";
import { responseType } from "./media-types.ts";
import type { MatchedRest } from "./routes.ts";
import { type RestCall, readRest } from "./read.ts";

/** HTTP+JSON. The paths of 0.3 start with `/v1`, those of 1.0 do not (0.3 §3.2.3, 1.0 §11). */
export async function handleRest(
  app: App,
  opened: MatchedRest,
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
    const { operation, params, codec } = call;
    const lastEventId = header(request, "last-event-id");
    const given = { operation, params, codec, caller, activation, request, lastEventId };
    const outcome = await performOperation(app, given);
    if (outcome.kind === "events") {
      return withHeaders(streamResponse(app, outcome.source, call), activation);
    }
    const response =
      route.empty === undefined
        ? jsonResponse(200, JSON.stringify(outcome.value), {
            "content-type": responseType(request, version),
          })
        : { status: route.empty, headers: {}, body: "" };
    return withHeaders(response, activation);
  } catch (thrown) {
    return withHeaders(errorResponse(app.toA2AError(thrown), opened, app.specPatch), activation);
  }
}

/** Streams events without an envelope. */
function streamResponse(app: App, source: EventSource, { codec }: RestCall): HttpResponse {
  const format = { version: codec.version, specPatch: app.specPatch };
  const framing = new SseFraming({
    codec,
    prefix: "",
    suffix: "",
    errorText: (thrown) => errorText(app.toA2AError(thrown), format),
  });
  const body = new EventStream({ source, framing, keepAlive: app.keepAlive });
  return { status: 200, headers: SSE_HEADERS, body };
}
