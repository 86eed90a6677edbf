/** The parts of a JSON schema that the OpenAPI document uses. */
export type Schema = {
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  format?: string
  $ref?: string
  description?: string
}

/** Returns a JSON schema as a TypeScript type, which is shorter. `indent` is the indentation of the line that contains the type. */
export function schemaText(schema: Schema, indent = ''): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) ?? 'object'
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives) return [...new Set(alternatives.map((one) => schemaText(one, indent)))].join(' | ')
  if (schema.allOf) return schema.allOf.map((one) => schemaText(one, indent)).join(' & ')
  if (schema.properties) return objectText(schema.properties, schema.required ?? [], indent)
  if (Array.isArray(schema.type)) return schema.type.map((type) => schemaText({ ...schema, type }, indent)).join(' | ')
  if (schema.type === 'array') return arrayText(schema.items ?? {}, indent)
  if (schema.type === 'object') {
    const values =
      typeof schema.additionalProperties === 'object' ? schemaText(schema.additionalProperties, indent) : 'unknown'
    return `Record<string, ${values}>`
  }
  return schema.type ?? 'unknown'
}

function arrayText(items: Schema, indent: string): string {
  const isCompound = Array.isArray(items.type) || Boolean(items.anyOf ?? items.oneOf ?? items.allOf ?? items.enum)
  const text = schemaText(items, indent)
  return isCompound ? `(${text})[]` : `${text}[]`
}

function objectText(properties: Record<string, Schema>, required: string[], indent: string): string {
  const entries = Object.entries(properties)
  if (entries.length === 0) return '{}'
  const lines = entries.map(([name, schema]) => {
    const comment = schema.description ? `  // ${schema.description.replaceAll('\n', ' ')}` : ''
    return `${indent}  ${name}${required.includes(name) ? '' : '?'}: ${schemaText(schema, `${indent}  `)}${comment}`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}
