import { describe, expect, test } from "vitest";
import { type LogLevel, type Logger, createJsonLogger, createTextLogger } from "./logger.ts";

type Line = Readonly<Record<string, unknown>>;

/** Writes to a logger and returns its output. */
function linesOf(level: LogLevel, talk: (logger: Logger) => void): readonly Line[] {
  const written: string[] = [];
  talk(createJsonLogger(level, (line) => written.push(line)));
  for (const line of written) expect(line).toMatch(/^[^\n]+\n$/);
  return written.map((line) => JSON.parse(line) as Line);
}

function talk(logger: Logger): void {
  logger.debug("one");
  logger.info("two");
  logger.warn("three");
  logger.error("four");
}

describe("a level", () => {
  for (const [level, heard] of [
    ["debug", ["debug one", "info two", "warn three", "error four"]],
    ["info", ["info two", "warn three", "error four"]],
    ["warn", ["warn three", "error four"]],
    ["error", ["error four"]],
    ["silent", []],
  ] as const) {
    test(`${level} logs everything at least as severe`, () => {
      const lines = linesOf(level, talk);

      expect(lines.map((line) => `${String(line["level"])} ${String(line["message"])}`)).toEqual(
        heard,
      );
    });
  }
});

test("a line is one JSON object with the time and the fields", () => {
  const [line] = linesOf("info", (logger) => logger.info("answered", { status: 200, path: "/\n" }));

  expect(line).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    level: "info",
    message: "answered",
    status: 200,
    path: "/\n",
  });
});

describe("a thrown value", () => {
  test("is written with its stack", () => {
    const [line] = linesOf("error", (logger) =>
      logger.error("failed", { errorId: "e1", error: new TypeError("the cause") }),
    );

    expect(line).toMatchObject({ errorId: "e1", message: "failed" });
    expect(line?.["error"]).toContain("TypeError: the cause");
    expect(line?.["error"]).toContain("logger.test.ts");
  });

  test("is written with its message if it has no stack", () => {
    const error = new Error("the cause");
    delete error.stack;

    const [line] = linesOf("error", (logger) => logger.error("failed", { error }));

    expect(line?.["error"]).toBe("the cause");
  });

  test("is written with all its causes", () => {
    const first = new RangeError("the first cause");
    const second = new Error("the second", { cause: first });
    const error = new Error("the last", { cause: second });
    // A cycle ends as well.
    first.cause = error;

    const [line] = linesOf("error", (logger) => logger.error("failed", { error }));

    expect(line?.["error"]).toMatch(
      /^Error: the last\n[^]*caused by Error: the second\n[^]*caused by RangeError: the first cause/,
    );
  });

  test("is written without its other properties", () => {
    const error = Object.assign(new Error("401"), { headers: { authorization: "canary" } });

    const [line] = linesOf("error", (logger) => logger.error("failed", { error }));

    expect(JSON.stringify(line)).not.toContain("canary");
  });

  for (const [what, thrown, told] of [
    ["text", "oops", "'oops'"],
    ["an object", { code: 5 }, "{ code: 5 }"],
    ["null", null, "null"],
  ] as const) {
    test(`may be ${what}`, () => {
      const [line] = linesOf("warn", (logger) => logger.warn("failed", { error: thrown }));

      expect(line?.["error"]).toBe(told);
    });
  }

  test("may refer to itself", () => {
    const thrown: { self?: unknown } = {};
    thrown.self = thrown;

    const [line] = linesOf("warn", (logger) => logger.warn("failed", { error: thrown }));

    expect(line?.["error"]).toContain("[Circular");
  });

  test("is omitted if there is none", () => {
    const [line] = linesOf("info", (logger) => logger.info("fine", { error: undefined }));

    expect(line).not.toHaveProperty("error");
  });
});

describe("a readable line", () => {
  const textOf = (talk: (logger: Logger) => void): string => {
    let text = "";
    talk(createTextLogger("info", (more) => (text += more)));
    return text;
  };

  test("has the time, the level, the message and the fields", () => {
    const text = textOf((logger) => {
      logger.debug("not this");
      logger.warn("answered", { status: 200, path: "/a b", task: "t1", retry: { ms: 5 } });
    });

    expect(text).toMatch(
      /^\d\d:\d\d:\d\d WARN  answered status=200 path="\/a b" task=t1 retry="\{\\"ms\\":5\}"\n$/,
    );
  });

  test("is followed by the thrown value, with its causes", () => {
    const error = new Error("the last", { cause: new RangeError("the first") });

    const text = textOf((logger) => logger.error("failed", { error, errorId: "e1" }));

    expect(text).toMatch(
      /ERROR failed errorId=e1\n {4}Error: the last\n[^]* {4}caused by RangeError: the first\n/,
    );
  });

  test("contains no terminal control characters", () => {
    const text = textOf((logger) =>
      logger.warn("a\u001B[31mb\nc", { path: "\u001B]0;x\u0007", error: new Error("\u001B[2J") }),
    );

    expect(text).not.toContain("\u001B");
    expect(text).toContain("WARN  a[31mb c ");
  });
});
