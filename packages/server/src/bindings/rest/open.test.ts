import { OPERATIONS, type OperationName } from "@convoke/protocol";
import { describe, expect, test } from "vitest";
import { aRequest } from "../../http/a-request.suite.ts";
import { openRest } from "./open.ts";
import { ROUTES } from "./routes.ts";

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

          const opened = openRest(aRequest({ method, path }));

          expect(opened).toMatchObject({ version, route: { operation } });
          expect(opened?.written["tenant"]).toBeUndefined();
        });
      }
    }

    test(`${paths["1.0"]} is ${operation} of 1.0 below a tenant, too`, () => {
      const path = `/acme${paths["1.0"]}`.replace("{taskId}", "t").replace("{configId}", "c");

      expect(openRest(aRequest({ method: methods[0] ?? "", path }))).toMatchObject({
        version: "1.0",
        route: { operation },
        written: { tenant: "acme" },
      });
    });
  }

  test("names the task before its last verb", () => {
    const opened = openRest(aRequest({ method: "POST", path: "/tasks/a:cancel:cancel" }));

    expect(opened).toMatchObject({ written: { taskId: "a:cancel" } });
  });

  test.each(["/", "/api/a2a", "/v1", "/v1/extendedAgentCard", "/convoke/pushes", "/tasks/"])(
    "%s is not ours",
    (path) => {
      expect(openRest(aRequest({ path }))).toBeUndefined();
    },
  );
});
