import { describe, expect, test } from "vitest";
import { signDelivery } from "./sign-delivery.ts";

const delivery = {
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
};

test("a delivery is signed as in the example of Standard Webhooks", () => {
  expect(signDelivery({ ...delivery, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" })).toBe(
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  );
});

test("a secret without the prefix is used as it is written", () => {
  const words = "correct horse, bättery staple";
  const encoded = `whsec_${Buffer.from(words, "utf8").toString("base64")}`;

  expect(signDelivery({ ...delivery, secret: words })).toBe(
    signDelivery({ ...delivery, secret: encoded }),
  );
});

describe("an invalid secret is an error that does not repeat it", () => {
  for (const secret of ["whsec_", "whsec_not base64!", "whsec_a-b_c", "whsec_=abc"]) {
    test(secret, () => {
      expect(() => signDelivery({ ...delivery, secret })).toThrow(
        new TypeError(
          'a signing secret that begins with "whsec_" must continue in base64; correct it or drop the prefix',
        ),
      );
    });
  }

  test("an empty one", () => {
    expect(() => signDelivery({ ...delivery, secret: "" })).toThrow("the signing secret is empty");
  });
});
