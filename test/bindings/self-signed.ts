import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const DAY_MS = 86_400_000;

/**
 * A self-signed certificate for localhost that only this process knows.
 *
 * @param daysLeft how long it is valid; below 0 if it has expired
 */
export function selfSigned(daysLeft = 1): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(oid("550403"), utf8("localhost"))));
  const body = sequence(
    tagged(0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_SHA256,
    name,
    sequence(utcTime(-9 * DAY_MS), utcTime(daysLeft * DAY_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(
      3,
      sequence(sequence(oid("551d11"), octets(sequence(der(0x82, Buffer.from("localhost")))))),
    ),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = sequence(
    body,
    ECDSA_SHA256,
    der(3, Buffer.concat([Buffer.from([0]), signature])),
  );
  const lines = certificate
    .toString("base64")
    .match(/.{1,64}/g)!
    .join("\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size =
    length < 128
      ? Buffer.from([length])
      : length < 256
        ? Buffer.from([0x81, length])
        : Buffer.from([0x82, length >> 8, length & 255]);
  return Buffer.concat([Buffer.from([tag]), size, content]);
}

function sequence(...items: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(items));
}

function set(...items: readonly Buffer[]): Buffer {
  return der(0x31, Buffer.concat(items));
}

function tagged(number: number, content: Buffer): Buffer {
  return der(0xa0 + number, content);
}

function integer(value: Buffer): Buffer {
  return der(2, value);
}

function octets(value: Buffer): Buffer {
  return der(4, value);
}

function oid(hex: string): Buffer {
  return der(6, Buffer.from(hex, "hex"));
}

function utf8(text: string): Buffer {
  return der(12, Buffer.from(text));
}

function utcTime(offsetMs: number): Buffer {
  const digits = new Date(Date.now() + offsetMs).toISOString().replaceAll(/[-:T]/g, "");
  return der(0x17, Buffer.from(`${digits.slice(2, 14)}Z`));
}

const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));
