import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** A span as it arrived. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "other";
  /** In milliseconds since the epoch. */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly SpanEvent[];
  /** The span ids that it links to. */
  readonly links: readonly string[];
  readonly isError: boolean;
}

interface SpanEvent {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  /** The endpoint for traces. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Everything that was received, as text. */
  readonly text: string;
  close(): Promise<void>;
}

/** Receives traces as OTLP/HTTP with JSON, as a collector does. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let text = "";
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      text += JSON.stringify(body);
      spans.push(...spansIn(body as OtlpBody));
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    get text() {
      return text;
    },
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly { readonly name: string; readonly attributes: OtlpAttribute[] }[];
  readonly links: readonly { readonly spanId: string }[];
  readonly status: { readonly code?: number };
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

type OtlpValue = Readonly<Record<string, unknown>>;

const KINDS = ["other", "internal", "server", "client"] as const;
const ERROR = 2;

function spansIn({ resourceSpans }: OtlpBody): readonly ReceivedSpan[] {
  return resourceSpans
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map((span) => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId || undefined,
      name: span.name,
      kind: KINDS[span.kind] ?? "other",
      start: Number(span.startTimeUnixNano) / 1e6,
      end: Number(span.endTimeUnixNano) / 1e6,
      attributes: toObject(span.attributes),
      events: span.events.map(({ name, attributes }) => ({
        name,
        attributes: toObject(attributes),
      })),
      links: span.links.map(({ spanId }) => spanId),
      isError: span.status.code === ERROR,
    }));
}

function toObject(attributes: readonly OtlpAttribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));
}

function toValue(value: OtlpValue): unknown {
  const [given] = Object.values(value);
  if ("arrayValue" in value) {
    return (given as { readonly values: readonly OtlpValue[] }).values.map(toValue);
  }
  return "intValue" in value ? Number(given) : given;
}
