/** Returns an environment variable. @throws if it is empty or unset */
export function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set. Locally: export ${name}=…; in the cloud: sqd secrets set ${name} …`)
  return value
}

/** Returns an environment variable as an integer; undefined if it is empty or unset: the manifest sets '' by default. */
export function optionalInteger(name: string): number | undefined {
  const value = process.env[name]
  if (!value) return undefined
  if (!/^\d+$/.test(value)) throw new Error(`${name} must be a whole number, got ${value}`)
  return Number(value)
}
