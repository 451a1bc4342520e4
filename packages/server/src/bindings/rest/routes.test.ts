import { OPERATIONS, type OperationName } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { aRequest } from "../../http/a-request.suite.ts";
import { ROUTES, matchRest } from "./routes.ts";

test("every operation has its route", () => {
  const routed = ROUTES.map(({ operation }) => operation).toSorted();

  expect(routed).toEqual((Object.keys(OPERATIONS) as OperationName[]).toSorted());
});

describe("a path", () => {
  for (const { operation, methods, paths } of ROUTES) {
    for (const version of ["0.3", "1.0"] as const) {
      for (const method of methods) {
        test(`${method} ${paths[version]} is ${operation} of ${version}`, () => {
          const path = paths[version].replace("{taskId}", "t").replace("{configId}", "c");

          const opened = matchRest(aRequest({ method, path }));

          expect(opened).toMatchObject({ version, route: { operation } });
          expect(opened?.encoded["tenant"]).toBeUndefined();
        });
      }
    }

    test(`${paths["1.0"]} is ${operation} of 1.0 below a tenant, too`, () => {
      const path = `/acme${paths["1.0"]}`.replace("{taskId}", "t").replace("{configId}", "c");

      expect(matchRest(aRequest({ method: methods[0] ?? "", path }))).toMatchObject({
        version: "1.0",
        route: { operation },
        encoded: { tenant: "acme" },
      });
    });
  }

  test("has the task before its last verb", () => {
    const opened = matchRest(aRequest({ method: "POST", path: "/tasks/a:cancel:cancel" }));

    expect(opened).toMatchObject({ encoded: { taskId: "a:cancel" } });
  });

  test.each(["/", "/api/a2a", "/v1", "/v1/extendedAgentCard", "/tasks/"])(
    "%s is unknown",
    (path) => {
      expect(matchRest(aRequest({ path }))).toBeUndefined();
    },
  );

  test.each(ROUTES.map(({ paths }) => paths["1.0"]))(
    "below /console and /convoke has no tenant: %s there is not of this binding",
    (path) => {
      for (const name of ["console", "convoke"]) {
        expect(matchRest(aRequest({ path: `/${name}${path}` }))).toBeUndefined();
      }
    },
  );
});
