import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** A setting that the operator has to correct. The message names the setting and says what is wrong, without values that may be secret. */
export class InvalidSettingError extends Error {
  override name = 'InvalidSettingError'
}

const maxCharacters = 100
const isSecret = (name: string) => /KEY|TOKEN|SECRET|PASSWORD|DSN/.test(name)
const hasPassword = (value: string) => value.includes('@')

/** Returns a message such as `SHOAL_PORT is "abc", but must be a whole number from 0 to 65535.` Omits values that may be secret. */
export function invalidSettingMessage(name: string, value: string, allowed: string): string {
  if (isSecret(name) || hasPassword(value)) return `${name} must be ${allowed}. (Its value is not shown.)`
  const shown = value.length > maxCharacters ? `${value.slice(0, maxCharacters)}…` : value
  return `${name} is ${JSON.stringify(shown)}, but must be ${allowed}.`
}

/** Describes the values that the schema of a setting allows, for use after "must be". */
export function describeAllowed(schema: z.ZodType): string {
  const input = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const output = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })
  const values = output.enum ?? input.enum
  if (values) return joinWithOr(values.filter((value) => value !== ''))
  if (output.type === 'array' && typeof output.items === 'object' && 'enum' in output.items)
    return `one or more of ${(output.items.enum ?? []).join(', ')}, separated by commas`
  if (output.anyOf?.every((part) => 'const' in part || isNumeric(part)))
    return joinWithOr(output.anyOf.map((part) => ('const' in part ? part.const : describeNumbers(part))))
  if (isNumeric(output)) return describeNumbers(output)
  if (output.format === 'uri') return 'a URL such as https://shoal.example.com'
  return output.minLength ? `at least ${output.minLength} characters long` : 'a valid value'
}

const isNumeric = ({ type }: z.core.JSONSchema.BaseSchema) => type === 'integer' || type === 'number'

const joinWithOr = (values: unknown[]) =>
  [values.slice(0, -1).join(', '), String(values.at(-1))].filter(Boolean).join(' or ')

function describeNumbers({ type, minimum, maximum, exclusiveMinimum }: z.core.JSONSchema.BaseSchema): string {
  const kind = type === 'integer' ? 'a whole number' : 'a number'
  if (exclusiveMinimum !== undefined) return `${kind} above ${exclusiveMinimum}`
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER
  return isBounded ? `${kind} from ${minimum} to ${maximum}` : `${kind} of at least ${minimum}`
}

/** Reads the file that a setting names. @throws InvalidSettingError if it cannot be read */
export function readFileOfSetting(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const allowed = `a file that the server can read (${errorCodeOf(error)})`
    throw new InvalidSettingError(invalidSettingMessage(name, file, allowed), { cause: error })
  }
}

/** Returns the code of a failed system call, such as ENOENT; `unknown reason` if the error has no code. */
export const errorCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
