/** What an error of the AI SDK or of a provider tells, wherever it keeps it. */
export interface ErrorFacts {
  readonly status: number | undefined;
  /** The provider's codes, such as `rate_limit_error`. Only words without spaces, so no prose gets in. */
  readonly codes: readonly string[];
  /** The provider's own words. May quote anything. */
  readonly words: string;
  /** All of it in lower case, to look for what it means. */
  readonly hints: string;
}

/** Codes and field paths, such as `tools[0].function.name`; long ones are no codes. */
const CODE = /^[a-z_][\w.[\]-]{1,79}$/i;

export function errorFacts(error: unknown): ErrorFacts {
  const record = isRecord(error) ? error : {};
  const data = isRecord(record["data"]) ? record["data"] : {};
  const inner = isRecord(data["error"]) ? data["error"] : data;
  const cause = isRecord(record["cause"]) ? record["cause"] : {};
  const named = [inner, record, cause].flatMap(({ type, code, param, status }) => [
    type,
    code,
    param,
    status,
  ]);
  const codes = [
    ...new Set(named.filter((code): code is string => typeof code === "string" && CODE.test(code))),
  ].filter((code) => code !== "error");
  const words = [error, record["message"]].find((text) => typeof text === "string") ?? "";
  return {
    status: statusOf(record["statusCode"] ?? record["code"]),
    codes: codes.slice(0, 3),
    words,
    hints: [record["name"], ...codes, words].join(" ").toLowerCase(),
  };
}

function statusOf(value: unknown): number | undefined {
  const status = Number(value);
  return Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
