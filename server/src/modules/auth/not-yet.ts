/** While the handlers are being written; gone at the end. */
export const withNotYet = (handlers: object) =>
  new Proxy(handlers, { get: (h, verb) => Reflect.get(h, verb) ?? (async () => Promise.reject(new Error('not yet'))) }) as never
