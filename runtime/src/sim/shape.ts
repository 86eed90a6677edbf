/** Validates a JSON value: returns an error message, or null if it is valid. `at`: name of the value for messages. */
export type ShapeCheck = (value: unknown, at: string) => string | null

export const number: ShapeCheck = (value, at) => (typeof value === 'number' ? null : `${at} must be a number`)

export const text: ShapeCheck = (value, at) => (typeof value === 'string' ? null : `${at} must be a string`)

export const lines: ShapeCheck = (value, at) =>
  Array.isArray(value) && value.every((line) => typeof line === 'string') ? null : `${at} must be an array of strings`

export const oneOf =
  (...allowed: readonly (string | boolean)[]): ShapeCheck =>
  (value, at) =>
    allowed.some((item) => item === value) ? null : `${at} must be ${allowed.join(' or ')}`

/** Accepts an object with these fields and no others. */
export const fields =
  (required: Record<string, ShapeCheck>, optional: Record<string, ShapeCheck> = {}): ShapeCheck =>
  (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${at} must be an object`
    const checks = new Map(Object.entries({ ...required, ...optional }))
    for (const [name, item] of Object.entries(value)) {
      const check = checks.get(name)
      const problem = check
        ? check(item, `${at}.${name}`)
        : `${at} has an unknown property ${name}; known: ${[...checks.keys()].join(', ')}`
      if (problem) return problem
    }
    const missing = Object.keys(required).find((name) => !(name in value))
    return missing ? `${at}.${missing} is required` : null
  }
