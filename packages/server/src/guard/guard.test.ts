import { expect, test } from "vitest";
import { verifies } from "../../../../test/verifies.ts";
import { aRequest } from "../http/a-request.suite.ts";
import { Guard } from "./guard.ts";

const LOCAL = { host: "localhost:3000" };
const FOREIGN = { host: "evil.example" };
const AUTHORIZED = { authorization: "Bearer right" };

test("what everyone may read needs no token, but a host of ours", () => {
  const guard = new Guard({ token: "right" });

  expect(() => guard.admit(aRequest({ headers: LOCAL }))).not.toThrow();
  expect(() => guard.admit(aRequest({ headers: FOREIGN }))).toThrow("Forbidden");
});

verifies("R114", "everything else needs the token", () => {
  const guard = new Guard({ token: "right" });

  expect(() => guard.identify(aRequest({ headers: LOCAL }))).toThrow("Unauthorized");
  expect(guard.identify(aRequest({ headers: { ...LOCAL, ...AUTHORIZED } }))).toEqual({
    owner: "token",
  });
});

test("a foreign host is refused before its token is looked at", () => {
  const guard = new Guard({ token: "right" });

  const request = aRequest({ headers: { ...FOREIGN, ...AUTHORIZED } });

  expect(() => guard.identify(request)).toThrow("Forbidden");
});

verifies("R116", "an identity in the query or another header counts for nothing", () => {
  const guard = new Guard({ token: "right" });
  const request = aRequest({
    headers: { ...LOCAL, "x-authorization": "Bearer right", cookie: "token=right" },
    query: new URLSearchParams({ token: "right", authorization: "Bearer right" }),
  });

  expect(() => guard.identify(request)).toThrow("Unauthorized");
});

test("without a token every local caller is the same owner", () => {
  const guard = new Guard({});

  const plain = guard.identify(aRequest({ headers: LOCAL }));
  const dressed = guard.identify(aRequest({ headers: { ...LOCAL, ...AUTHORIZED } }));

  expect(plain).toEqual(dressed);
});

test("an app that knows who calls is asked instead of looking for a token", () => {
  const callerOf = ({ headers }: Parameters<Guard["identify"]>[0]) =>
    typeof headers["x-user"] === "string" ? { owner: headers["x-user"] } : undefined;
  const guard = new Guard({ callerOf });

  expect(guard.identify(aRequest({ headers: { ...LOCAL, "x-user": "ann" } }))).toEqual({
    owner: "ann",
  });
  expect(() => guard.identify(aRequest({ headers: LOCAL }))).toThrow("it is not known who calls");
  expect(() => guard.identify(aRequest({ headers: { ...FOREIGN, "x-user": "ann" } }))).toThrow(
    "Forbidden",
  );
  expect(() => new Guard({ callerOf, token: "right" })).toThrow("give one of them");
});
