import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BEARER_SECURITY } from "../model/security.ts";
import { overTheWire, someFacts } from "../testing/arbitraries.suite.ts";
import { buildCard } from "./build-card.ts";
import { canonicalJson } from "../internal/json.ts";
import { FULL_CARD, cards } from "./full-card.suite.ts";
import { signedForm } from "./signed-form.ts";

/** The example of 1.0 §8.4.1. */
const EXAMPLE = {
  name: "Example Agent",
  description: "",
  capabilities: { streaming: false, pushNotifications: false, extensions: [] },
  skills: [],
};

const guarded = someFacts({ security: BEARER_SECURITY });

describe("the form of the specification", () => {
  test("matches its own example", () => {
    expect(canonicalJson(signedForm(EXAMPLE, "spec"))).toBe(
      '{"capabilities":{"pushNotifications":false,"streaming":false},"description":"",' +
        '"name":"Example Agent","skills":[]}',
    );
  });

  test("keeps an optional text that was set, even if it is empty", () => {
    expect(signedForm({ documentationUrl: "", iconUrl: "" }, "spec")).toEqual({
      documentationUrl: "",
      iconUrl: "",
    });
  });

  test("keeps every required field, even if it is empty", () => {
    const flows = { tokenUrl: "", scopes: {} };
    const scheme = (flow: object) => ({ oauth2SecurityScheme: { flows: flow } });
    const card = {
      name: "",
      description: "",
      supportedInterfaces: [],
      provider: { url: "", organization: "" },
      version: "",
      capabilities: {},
      securitySchemes: {
        key: { apiKeySecurityScheme: { location: "", name: "" } },
        token: { httpAuthSecurityScheme: { scheme: "" } },
        openId: { openIdConnectSecurityScheme: { openIdConnectUrl: "" } },
        none: scheme({}),
        code: scheme({ authorizationCode: { ...flows, authorizationUrl: "" } }),
        machine: scheme({ clientCredentials: flows }),
        device: scheme({ deviceCode: { ...flows, deviceAuthorizationUrl: "" } }),
      },
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [{ id: "", name: "", description: "", tags: [] }],
    };

    expect(signedForm(card, "spec")).toEqual(card);
    expect(signedForm({ ...card, skills: [] }, "spec")).toEqual({ ...card, skills: [] });
  });

  test("drops a plain field with its default value", () => {
    const card = {
      supportedInterfaces: [{ url: "", protocolBinding: "", tenant: "", protocolVersion: "" }],
      capabilities: { extensions: [{ uri: "", description: "", required: false }] },
      securityRequirements: [],
      securitySchemes: {},
    };

    expect(signedForm(card, "spec")).toEqual({
      supportedInterfaces: [{ url: "", protocolBinding: "", protocolVersion: "" }],
      capabilities: { extensions: [{}] },
    });
  });

  test("keeps a message that is set, even if it is empty", () => {
    const card = {
      capabilities: { extensions: [{ uri: "u", params: {} }] },
      provider: {},
      securitySchemes: { mutual: { mtlsSecurityScheme: {} } },
      securityRequirements: [{ schemes: { mutual: { list: [] } } }, {}],
    };

    expect(signedForm(card, "spec")).toEqual({
      ...card,
      securityRequirements: [{ schemes: { mutual: {} } }, {}],
    });
  });

  test("keeps the scopes of a flow if they are required", () => {
    const flow = { authorizationUrl: "a", tokenUrl: "t", scopes: {} };
    const schemes = (flows: object) => ({
      securitySchemes: { s: { oauth2SecurityScheme: { flows } } },
    });

    const code = schemes({ authorizationCode: flow });
    expect(signedForm(code, "spec")).toEqual(code);
    expect(
      signedForm(schemes({ implicit: { authorizationUrl: "a", scopes: {} } }), "spec"),
    ).toEqual(schemes({ implicit: { authorizationUrl: "a" } }));
  });

  test("keeps the parameters of an extension unchanged", () => {
    const params = JSON.parse('{"a":null,"b":"","c":[],"d":{"__proto__":{}},"e":0,"f":false}');
    const card = { capabilities: { extensions: [{ uri: "u", params }] } };

    expect(canonicalJson(signedForm(card, "spec"))).toBe(canonicalJson(card));
  });

  test("treats null as absent", () => {
    expect(signedForm({ name: "a", provider: null, iconUrl: null, skills: null }, "spec")).toEqual({
      name: "a",
    });
  });
});

describe("the form of the SDKs", () => {
  test("drops what is empty in the same example, required or not", () => {
    expect(canonicalJson(signedForm(EXAMPLE, "sdk"))).toBe(
      '{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent"}',
    );
  });

  test("drops what contains only empty values", () => {
    const card = {
      name: "a",
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      capabilities: { extensions: [{ params: { a: [{ b: null }, ""], c: 0, d: false } }] },
    };

    expect(signedForm(card, "sdk")).toEqual({
      name: "a",
      capabilities: { extensions: [{ params: { c: 0, d: false } }] },
    });
    expect(signedForm({ name: "" }, "sdk")).toEqual({});
  });
});

describe.each(["spec", "sdk"] as const)("in the form of the %s", (form) => {
  test("a card without empty values is covered completely", () => {
    expect(signedForm(FULL_CARD, form)).toEqual(FULL_CARD);
  });

  test("signatures are not signed", () => {
    expect(signedForm({ ...FULL_CARD, signatures: [{ protected: 1 }] }, form)).toEqual(FULL_CARD);
  });

  test("a card for both versions is covered as the 1.0 card is", () => {
    expect(signedForm(buildCard(guarded, undefined), form)).toEqual(
      signedForm(buildCard(guarded, "1.0"), form),
    );
  });

  test("normalizing a form again does not change it", () => {
    fc.assert(
      fc.property(cards, (card) => {
        const once = signedForm(card, form);

        expect(canonicalJson(signedForm(once, form))).toBe(canonicalJson(once));
      }),
    );
  });
});

test("a card that we build loses only empty scopes in the form of the specification", () => {
  const card = overTheWire(buildCard(guarded, "1.0")) as object;

  expect(signedForm(card, "spec")).toEqual({
    ...card,
    securityRequirements: [{ schemes: { bearer: {} } }],
  });
});

describe("an invalid card is rejected, and the field is named", () => {
  const two = { apiKeySecurityScheme: {}, mtlsSecurityScheme: {} };
  const extensions = (params: unknown) => ({ capabilities: { extensions: [{ params }] } });

  test.each([
    [[], "card must be an object"],
    [{ name: 5 }, "card.name must be a string"],
    [{ skills: {} }, "card.skills must be an array"],
    [{ skills: [{ tags: ["a", null] }] }, "card.skills[0].tags[1] must be a string"],
    [{ skills: [null] }, "card.skills[0] must be an object"],
    [{ capabilities: { streaming: "yes" } }, "card.capabilities.streaming must be a boolean"],
    [{ securitySchemes: [] }, "card.securitySchemes must be an object"],
    [{ securitySchemes: { a: 1 } }, 'card.securitySchemes["a"] must be an object'],
    [extensions([1]), "card.capabilities.extensions[0].params must be an object"],
    [
      extensions({ a: Number.NaN }),
      'card.capabilities.extensions[0].params must be JSON: value["a"] is NaN',
    ],
    [
      { securitySchemes: { a: two } },
      'card.securitySchemes["a"].mtlsSecurityScheme must not be set beside ' +
        'card.securitySchemes["a"].apiKeySecurityScheme',
    ],
  ])("%j", (card, message) => {
    expect(() => signedForm(card, "spec")).toThrow(TypeError);
    expect(() => signedForm(card, "sdk")).toThrow(message);
  });
});
