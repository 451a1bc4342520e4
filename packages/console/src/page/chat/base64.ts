const CHUNK = 32_768;

/** Bytes as base64, as a part of a message has them. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(binary);
}

/** The bytes of a part; undefined if an agent sent something else. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    // Some agents use the alphabet for URLs.
    return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
      character.charCodeAt(0),
    );
  } catch {
    return undefined;
  }
}
