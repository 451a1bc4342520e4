import { expect, test } from "vitest";
import { readChallenge } from "./sign-in.ts";

test.each([
  ["", {}],
  ["Basic", {}],
  ['Bearer realm="My \\"vault\\"", error="invalid_token"', { realm: 'My "vault"' }],
  [
    'Bearer resource_metadata="https://a.example/x", scope="read write"',
    { url: "https://a.example/x", scope: "read write" },
  ],
  [
    "Bearer authorization_uri=https://a.example/login, realm=vault",
    { url: "https://a.example/login", realm: "vault" },
  ],
  ['Bearer resource_metadata="javascript:alert(1)"', {}],
  ['Bearer resource_metadata="not an address"', {}],
])("%s is read as %j", (header, challenge) => {
  expect(readChallenge(header)).toEqual(challenge);
});
