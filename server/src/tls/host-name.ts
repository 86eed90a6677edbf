/** Returns the name in a Host header in lower case, without its port and a trailing dot; empty without a header. */
export const nameOf = (host: string | undefined): string =>
  (host ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
