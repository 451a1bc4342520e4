import { describe, expect, test } from "vitest";
import { ModelError } from "../model/model-error.ts";
import type { Model, ModelEvent, ModelRequest } from "../model/model.ts";

/** A request and the model to send it to. */
export interface Asked {
  readonly model: Model;
  readonly request: ModelRequest;
}

/** A model under test, and the requests that make it show each behavior of the contract. */
export interface ModelUnderTest {
  /** The answer is text. */
  text(): Asked | Promise<Asked>;
  /** The answer calls two tools. */
  toolCalls(): Asked | Promise<Asked>;
  /** The answer starts with reasoning. Omit it for a model that does not reason. */
  reasoning?(): Asked | Promise<Asked>;
  /** The answer starts with text and takes far longer than a test may run. */
  endless(): Asked | Promise<Asked>;
  /** The provider fails. */
  failing(): Asked | Promise<Asked>;
  /** The number of open requests at the provider, if it can be determined. */
  openRequests?(): number;
  close?(): Promise<void>;
}

/** Tests what every model must do, whatever its provider. */
export function describeModel(name: string, open: () => Promise<ModelUnderTest>): void {
  const using = (body: (model: ModelUnderTest) => Promise<void>) => async () => {
    const model = await open();
    try {
      await body(model);
    } finally {
      await model.close?.();
    }
  };

  describe(`the model contract: ${name}`, () => {
    test(
      "an answer ends with exactly one finish, and its usage counts tokens",
      using(async (subject) => {
        const events = await all(await subject.text());

        expect(textOf(events)).not.toBe("");
        expect(events.filter(({ kind }) => kind === "finish")).toEqual([events.at(-1)]);
        expect(events.at(-1)).toMatchObject({
          reason: "stop",
          usage: { inputTokens: expect.any(Number), outputTokens: expect.any(Number) },
        });
      }),
    );

    test(
      "the chunks of a tool call's arguments add up to the whole, and precede the call",
      using(async (subject) => {
        const events = await all(await subject.toolCalls());

        const calls = events.filter((event) => event.kind === "tool-call");
        expect(calls).toHaveLength(2);
        expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(2);
        for (const call of calls) {
          const before = events.slice(0, events.indexOf(call));
          const pieces = before.filter(
            (event) => event.kind === "tool-input" && event.toolCallId === call.toolCallId,
          );
          const whole = pieces.map((event) => (event.kind === "tool-input" ? event.delta : ""));
          expect(whole.join("")).toBe(call.input);
          expect(JSON.parse(call.input)).toBeTypeOf("object");
        }
        expect(events.at(-1)).toMatchObject({ kind: "finish", reason: "tool-calls" });
      }),
    );

    test(
      "reasoning is complete before any other output",
      using(async (subject) => {
        if (subject.reasoning === undefined) return;
        const events = await all(await subject.reasoning());

        const end = events.findIndex(({ kind }) => kind === "reasoning-end");
        expect(end).toBeGreaterThan(0);
        expect(events.slice(0, end).every(({ kind }) => kind === "reasoning")).toBe(true);
        expect(textOf(events)).not.toBe("");
      }),
    );

    test(
      "when the signal fires, a pending read rejects with its reason immediately",
      using(async (subject) => {
        const { model, request } = await subject.endless();
        const abort = new AbortController();
        const answer = model.stream(request, abort.signal)[Symbol.asyncIterator]();
        expect((await answer.next()).done).toBe(false);
        const rest = drain(answer);

        abort.abort(new Error("enough"));

        await expect(within(rest)).rejects.toThrow("enough");
        expect(await answer.next()).toEqual({ done: true, value: undefined });
        await expect.poll(() => subject.openRequests?.() ?? 0, { timeout: 20_000 }).toBe(0);
      }),
    );

    test(
      "a signal that has already fired prevents the request",
      using(async (subject) => {
        const { model, request } = await subject.text();
        const signal = AbortSignal.abort(new Error("too late"));

        await expect(within(drain(iterate(model, request, signal)))).rejects.toThrow("too late");
      }),
    );

    test(
      "ending the iteration early ends the request, also while a read is pending",
      using(async (subject) => {
        const { model, request } = await subject.endless();
        const answer = iterate(model, request);
        await answer.next();
        const rest = drain(answer);

        await within(Promise.resolve(answer.return?.()));

        await within(rest);
        expect(await answer.next()).toEqual({ done: true, value: undefined });
        await expect.poll(() => subject.openRequests?.() ?? 0, { timeout: 20_000 }).toBe(0);
      }),
    );

    test(
      "two concurrent answers do not mix",
      using(async (subject) => {
        const { model, request } = await subject.text();
        const other = await subject.toolCalls();

        const [one, two] = await Promise.all([all({ model, request }), all(other)]);

        expect(one.filter(({ kind }) => kind === "tool-call")).toEqual([]);
        expect(two.filter(({ kind }) => kind === "tool-call")).toHaveLength(2);
      }),
    );

    test(
      "a failure is a ModelError, and nothing follows it",
      using(async (subject) => {
        const { model, request } = await subject.failing();
        const answer = iterate(model, request);

        await expect(within(drain(answer))).rejects.toBeInstanceOf(ModelError);

        expect(await answer.next()).toEqual({ done: true, value: undefined });
      }),
    );
  });
}

function iterate(
  model: Model,
  request: ModelRequest,
  signal = new AbortController().signal,
): AsyncIterator<ModelEvent> {
  return model.stream(request, signal)[Symbol.asyncIterator]();
}

async function all({ model, request }: Asked): Promise<readonly ModelEvent[]> {
  return within(drain(iterate(model, request)));
}

async function drain(answer: AsyncIterator<ModelEvent>): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = [];
  for (;;) {
    const result = await answer.next();
    if (result.done === true) return events;
    events.push(result.value);
  }
}

function textOf(events: readonly ModelEvent[]): string {
  return events.map((event) => (event.kind === "text" ? event.text : "")).join("");
}

/** Far longer than an immediate reaction takes, even on a slow machine. */
const AT_ONCE_MS = 20_000;

async function within<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took more than ${AT_ONCE_MS} ms`)), AT_ONCE_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
