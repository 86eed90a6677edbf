export function required(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set. Locally: export ${name}=…; in the cloud: sqd secrets set ${name} …`)
  return value
}

/** An empty variable counts as unset, so that the manifest may fall back to ''. */
export function optionalInteger(name: string): number | undefined {
  const value = process.env[name]
  if (!value) return undefined
  if (!/^\d+$/.test(value)) throw new Error(`${name} must be a whole number, got ${value}`)
  return Number(value)
}
