import type { App } from '../app.ts'

/** Returns a function that calls `create` once for each key, and afterwards returns its value. Errors of `create` are not cached. */
export function oncePer<A, T>(keyOf: (argument: A) => WeakKey, create: (argument: A) => T): (argument: A) => T {
  const values = new WeakMap<WeakKey, { value: T }>()
  return (argument) => {
    const key = keyOf(argument)
    const entry = values.get(key) ?? { value: create(argument) }
    values.set(key, entry)
    return entry.value
  }
}

/** As `oncePer`, for a process. The key is the configuration, which all roles share: the worker's `App` is a different object. */
export const oncePerProcess = <A extends Pick<App, 'config'>, T>(create: (app: A) => T): ((app: A) => T) =>
  oncePer(({ config }: A) => config, create)
