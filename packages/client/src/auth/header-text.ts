/** Whether a header can carry the token. What cannot, an error would quote. */
export function isToken(token: string): boolean {
  return /^[\u0021-\u007E]+$/.test(token);
}

/** Whether it can be the name of a header, a query parameter or a cookie. */
export function isName(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name);
}

/** Whether it can be the value of a header. */
export function isHeaderValue(value: string): boolean {
  return /^[\u0020-\u007E\t]*$/.test(value);
}
