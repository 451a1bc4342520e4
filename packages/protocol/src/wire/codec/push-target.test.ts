import { describe, expect, test } from "vitest";
import { verifies } from "../../../../../test/verifies.ts";
import type { A2AError } from "../../model/errors.ts";
import { overTheWire } from "../../testing/arbitraries.suite.ts";
import type { ProtocolVersion } from "../../model/operations.ts";
import { CODECS } from "../codecs.ts";

const URL = "https://hooks.test/tasks";

/** Some fields of a target, the invalid field, and its error text. */
type Refused = readonly [what: string, target: object, field: string, problem: string];

const REFUSED: readonly Refused[] = [
  ["no url", { url: undefined }, "url", "is required"],
  ["an empty url", { url: "" }, "url", "must not be empty"],
  ["a number for a url", { url: 5 }, "url", "must be a string"],
  [
    "a url without a scheme",
    { url: "hooks.test/tasks" },
    "url",
    "must be an absolute http or https",
  ],
  ["a path for a url", { url: "/tasks" }, "url", "must be an absolute http or https URL"],
  ["the url of a file", { url: "file:///etc/passwd" }, "url", "must be an absolute http or https"],
  [
    "a script for a url",
    { url: "javascript:alert(1)" },
    "url",
    "must be an absolute http or https",
  ],
  ["a url on two lines", { url: `${URL}\n/x` }, "url", "must not contain line breaks"],
  ["a very long url", { url: URL.padEnd(2049, "x") }, "url", "not have more than 2048 characters"],
  ["a number for an id", { id: 5 }, "id", "must be a string"],
  ["a very long id", { id: "x".repeat(257) }, "id", "must not have more than 256 characters"],
  ["a number for a token", { token: 5 }, "token", "must be a string"],
  ["a token on two lines", { token: "a\r\nX-Evil: 1" }, "token", "must not contain line breaks"],
  ["a token with a tab", { token: "a\tb" }, "token", "other control characters"],
  ["a token that no header can carry", { token: "✓" }, "token", "beyond Latin-1"],
  ["a very long token", { token: "x".repeat(4097) }, "token", "not have more than 4096"],
  ["text for authentication", { authentication: "Bearer" }, "authentication", "must be an object"],
  ["text for headers", { headers: "X: y" }, "headers", "must be an object"],
  ["a list for headers", { headers: ["X: y"] }, "headers", "must be an object"],
  [
    "twenty-one headers",
    { headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, "y"])) },
    "headers",
    "must not have more than 20 headers",
  ],
  ["a number in a header", { headers: { "X-A": 5 } }, "headers.X-A", "must be a string"],
  [
    "a header on two lines",
    { headers: { "X-A": "a\r\nX-Evil: 1" } },
    "headers.X-A",
    "must not contain line breaks",
  ],
  [
    "a very long header",
    { headers: { "X-A": "x".repeat(16_385) } },
    "headers.X-A",
    "must not have more than 16384 characters",
  ],
  [
    "a header without a name",
    { headers: { "": "y" } },
    "headers",
    'has the header "", which is no',
  ],
  [
    "a line break in the name of a header",
    { headers: { "X\r\nEvil": "y" } },
    "headers",
    'has the header "X\\r\\nEvil", which is not a valid header name',
  ],
  ["a space in the name of a header", { headers: { "X A": "y" } }, "headers", '"X A", which is no'],
  [
    "a very long name of a header",
    { headers: { ["x".repeat(257)]: "y" } },
    "headers",
    `has the header "${"x".repeat(40)}…", which is not a valid header name`,
  ],
  [
    "a header twice",
    { headers: { "X-A": "1", "x-a": "2" } },
    "headers.x-a",
    "is given twice, in different letter case",
  ],
];

const DENIED: Readonly<Record<string, readonly string[]>> = {
  "it belongs to the connection": [
    "Host",
    "connection",
    "Keep-Alive",
    "Proxy-Authorization",
    "proxy-connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "Expect",
  ],
  "it describes the body": ["Content-Length", "content-type", "Content-Encoding"],
  "the server sets it to sign": ["webhook-id", "Webhook-Signature"],
  "give its value as token instead": ["X-A2A-Notification-Token"],
  "it belongs to the protocol": ["A2A-Version", "a2a-extensions"],
};

describe.each(["0.3", "1.0"] as const)("a push target of %s", (version) => {
  test.each([...REFUSED, ...ofVersion(version)])(
    "with %s is rejected, and the error names the field",
    (_, fields, field, problem) => {
      const target = overTheWire({ url: URL, ...fields });

      expectRefused(() => created(version, target), inCreate(version, field), problem);
      expectRefused(() => sent(version, target), inSend(version, field), problem);
    },
  );

  for (const [reason, names] of Object.entries(DENIED)) {
    for (const name of names) {
      verifies(["R17"], `must not set the header ${name}, because ${reason}`, () => {
        const target = { url: URL, headers: { "X-Fine": "yes", [name]: "x" } };

        const field = inCreate(version, `headers.${name}`);
        expectRefused(() => created(version, target), field, `must not be set: ${reason}`);
      });
    }
  }

  verifies(["R17"], "may set Authorization, cookies and custom headers", () => {
    const headers = {
      Authorization: "Bearer webhook-secret",
      Cookie: "a=b",
      "X-Custom-Header": "value",
      Hostess: "x",
      Contents: "é",
    };

    expect(created(version, { url: URL, headers }).target.headers).toStrictEqual(headers);
    expect(sent(version, { url: URL, headers }).pushConfig?.headers).toStrictEqual(headers);
  });

  test("has one kind of credentials: Authorization and authentication exclude each other", () => {
    const authentication = version === "1.0" ? { scheme: "Bearer" } : { schemes: ["Bearer"] };
    const target = { url: URL, authentication, headers: { authorization: "Bearer x" } };

    const field = inCreate(version, "headers.authorization");
    expectRefused(() => created(version, target), field, "it is derived from authentication");
  });

  test("may be as long as the limits allow, and use plain http", () => {
    const target = {
      id: "x".repeat(256),
      url: "http://localhost:8080/".padEnd(2048, "x"),
      token: "x".repeat(4096),
    };

    expect(created(version, target).target).toStrictEqual(target);
  });

  test("may have a header called __proto__, which never becomes a prototype", () => {
    const target = JSON.parse(`{"url":"${URL}","headers":{"__proto__":"x"}}`) as object;

    const { headers } = created(version, target).target;

    expect(JSON.stringify(headers)).toBe('{"__proto__":"x"}');
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype);
  });
});

describe.each(["0.3", "1.0"] as const)("a request of %s about push configs", (version) => {
  const codec = CODECS[version];
  const [task, config] = version === "1.0" ? ["taskId", "id"] : ["id", "pushNotificationConfigId"];

  test.each([undefined, null, "t1", ["t1"]])("that is %j is rejected", (params) => {
    expectRefused(() => codec.decodeCreatePushConfig(params), "params", "must be an object");
    expectRefused(() => codec.decodeGetPushConfig(params), "params", "must be an object");
    expectRefused(() => codec.decodeListPushConfigs(params), "params", "must be an object");
    expectRefused(() => codec.decodeDeletePushConfig(params), "params", "must be an object");
  });

  test("must name its task", () => {
    const bare = { url: URL, pushNotificationConfig: { url: URL } };

    expectRefused(() => codec.decodeCreatePushConfig(bare), "taskId", "is required");
    expectRefused(
      () => codec.decodeCreatePushConfig({ ...bare, taskId: "" }),
      "taskId",
      "not be empty",
    );
    expectRefused(() => codec.decodeGetPushConfig({ [config]: "c1" }), task, "is required");
    expectRefused(() => codec.decodeListPushConfigs({}), task, "is required");
    expectRefused(() => codec.decodeDeletePushConfig({ [config]: "c1" }), task, "is required");
  });

  test("must name the config that it deletes", () => {
    const remove = (id?: unknown) => () =>
      codec.decodeDeletePushConfig({ [task]: "t1", ...(id !== undefined && { [config]: id }) });

    expectRefused(remove(), config, "is required");
    expectRefused(remove(5), config, "must be a string");
    expectRefused(remove(""), config, "must not be empty");
    expectRefused(remove("x".repeat(257)), config, "must not have more than 256 characters");
  });

  test("must have a string as the id that it gets", () => {
    const get = (id: unknown) => () => codec.decodeGetPushConfig({ [task]: "t1", [config]: id });

    expectRefused(get(5), config, "must be a string");
    expectRefused(get(""), config, "must not be empty");
  });
});

test.each([0, 101, 1.5, "5", null])("a page of %j push configs is rejected", (pageSize) => {
  const list = () => CODECS["1.0"].decodeListPushConfigs({ taskId: "t1", pageSize });

  expectRefused(list, "pageSize", "must be");
});

test("1.0 gets no config without an id", () => {
  const get = () => CODECS["1.0"].decodeGetPushConfig({ taskId: "t1" });

  expectRefused(get, "id", "is required");
});

test("0.3 sets no config without one, and an error uses the caller's name of the field", () => {
  const set = (params: object) => () => CODECS["0.3"].decodeCreatePushConfig(params);

  expectRefused(set({ taskId: "t1" }), "pushNotificationConfig", "is required");
  expectRefused(
    set({ taskId: "t1", pushNotificationConfig: "x" }),
    "pushNotificationConfig",
    "must be an object",
  );
  expectRefused(set({ id: 5, pushNotificationConfig: {} }), "id", "must be a string");
});

/** Fields that only one version has. */
function ofVersion(version: ProtocolVersion): readonly Refused[] {
  const shared = (scheme: object): readonly Refused[] => [
    [
      "credentials on two lines",
      { authentication: { ...scheme, credentials: "a\nb" } },
      "authentication.credentials",
      "must not contain line breaks",
    ],
    [
      "very long credentials",
      { authentication: { ...scheme, credentials: "x".repeat(16_385) } },
      "authentication.credentials",
      "must not have more than 16384 characters",
    ],
  ];
  if (version === "1.0") {
    const field = "authentication.scheme";
    return [
      ...shared({ scheme: "Bearer" }),
      ["no scheme", { authentication: {} }, field, "is required"],
      ["an empty scheme", { authentication: { scheme: "" } }, field, "must not be empty"],
      [
        "a scheme of two words",
        { authentication: { scheme: "My Bearer" } },
        field,
        "such as Bearer",
      ],
      ["a scheme on two lines", { authentication: { scheme: "A\r\nB" } }, field, "such as Bearer"],
      ["a number for a tenant", { tenant: 5 }, "tenant", "must be a string"],
    ];
  }
  const field = "authentication.schemes";
  return [
    ...shared({ schemes: ["Bearer"] }),
    ["an empty id", { id: "" }, "id", "must not be empty"],
    ["no schemes", { authentication: {} }, field, "is required"],
    ["an empty list of schemes", { authentication: { schemes: [] } }, field, "must not be empty"],
    ["text for schemes", { authentication: { schemes: "Bearer" } }, field, "must be an array"],
    ["a number for a scheme", { authentication: { schemes: [5] } }, `${field}[0]`, "be a string"],
    [
      "a second scheme of two words",
      { authentication: { schemes: ["Bearer", "My Bearer"] } },
      `${field}[1]`,
      "must be the name of an HTTP authentication scheme such as Bearer",
    ],
  ];
}

function created(version: ProtocolVersion, target: unknown) {
  const params = version === "1.0" ? (target as object) : { pushNotificationConfig: target };
  return CODECS[version].decodeCreatePushConfig({ taskId: "t1", ...params });
}

function inCreate(version: ProtocolVersion, field: string): string {
  return version === "1.0" ? field : `pushNotificationConfig.${field}`;
}

function sent(version: ProtocolVersion, target: unknown) {
  const message =
    version === "1.0"
      ? { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] }
      : { messageId: "m1", role: "user", parts: [{ kind: "text", text: "hi" }] };
  const configuration = { [inlineName(version)]: target };
  return CODECS[version].decodeSendMessage({ message, configuration });
}

function inSend(version: ProtocolVersion, field: string): string {
  return `configuration.${inlineName(version)}.${field}`;
}

function inlineName(version: ProtocolVersion): string {
  return version === "1.0" ? "taskPushNotificationConfig" : "pushNotificationConfig";
}

function expectRefused(decode: () => unknown, field: string, problem: string): void {
  const expected: Partial<A2AError> = { reason: "InvalidParams", field };
  expect(decode).toThrow(expect.objectContaining(expected));
  expect(decode).toThrow(`Invalid parameters: ${field} `);
  expect(decode).toThrow(problem);
}
