const PREFIX = "whsec_";

/** The bytes of a signing secret: base64 after `whsec_`, as Standard Webhooks writes them, or any other text as it is. */
export function secretKey(secret: string): Uint8Array {
  if (secret === "")
    throw new TypeError("the signing secret is empty; use at least 24 random bytes");
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret, "utf8");
  const encoded = secret.slice(PREFIX.length);
  // Decoding skips what is not base64: a mistyped secret would become a shorter one.
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
    throw new TypeError(
      `a signing secret that begins with "${PREFIX}" goes on in base64; correct it or drop the prefix`,
    );
  }
  return Buffer.from(encoded, "base64");
}
