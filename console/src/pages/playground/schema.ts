/** The type of a field as introspection describes it: `NON_NULL` and `LIST` wrap another type. */
type TypeRef = { kind: string; name: string | null; ofType?: TypeRef | null }
type Described = { name: string; description: string | null }
type Argument = Described & { type: TypeRef }
export type SchemaField = Described & { type: TypeRef; args: Argument[] }
export type SchemaType = Described & { kind: string; fields: SchemaField[]; values: Described[] }
/**
 * The types of an API: its operations first (query, mutation, subscription), then objects, interfaces, unions, enums, inputs and scalars,
 * each sorted by name. `operations` has the names of the operation types.
 */
export type Schema = { operations: string[]; types: SchemaType[] }

/** The query for the schema. Its fragment unwraps four wrappers; types in generated schemas have at most three: `[Transfer!]!`. */
export const introspectionQuery = `query Schema {
  __schema {
    queryType { name } mutationType { name } subscriptionType { name }
    types {
      kind name description
      fields { name description args { name description type { ...Ref } } type { ...Ref } }
      inputFields { name description type { ...Ref } }
      enumValues { name description }
    }
  }
}
fragment Ref on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } }`

type RawField = Described & { type: TypeRef; args?: Argument[] }
type RawType = Described & {
  kind: string
  fields: RawField[] | null
  inputFields: RawField[] | null
  enumValues: Described[] | null
}
type Operation = { name: string } | null
type RawSchema = { types: RawType[]; queryType: Operation; mutationType: Operation; subscriptionType: Operation }

const kinds = ['OBJECT', 'INTERFACE', 'UNION', 'ENUM', 'INPUT_OBJECT', 'SCALAR']

/** Converts the response to `introspectionQuery`. @throws Error with the API's message if the response contains no schema */
export function schemaOf(response: Record<string, unknown>): Schema {
  const { __schema: raw } = (response['data'] ?? {}) as { __schema?: RawSchema }
  if (!raw) throw new Error(messageOf(response) ?? 'The API returned no schema.')
  const operations = [raw.queryType, raw.mutationType, raw.subscriptionType].flatMap((type) => type?.name ?? [])
  const rank = ({ name, kind }: SchemaType) =>
    operations.includes(name) ? operations.indexOf(name) : operations.length + kinds.indexOf(kind)
  const types = raw.types
    .filter(({ name }) => !name.startsWith('__'))
    .map(({ fields, inputFields, enumValues, ...type }): SchemaType => ({
      ...type,
      fields: (fields ?? inputFields ?? []).map((field) => ({ ...field, args: field.args ?? [] })),
      values: enumValues ?? [],
    }))
    .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
  return { operations, types }
}

function messageOf({ errors }: Record<string, unknown>): string | undefined {
  const [first] = Array.isArray(errors) ? (errors as { message?: unknown }[]) : []
  return typeof first?.message === 'string' ? first.message : undefined
}

/** The notation of a type in GraphQL: `[Transfer!]!` */
export function typeText(type: TypeRef): string {
  if (type.kind === 'NON_NULL') return `${type.ofType ? typeText(type.ofType) : '?'}!`
  if (type.kind === 'LIST') return `[${type.ofType ? typeText(type.ofType) : '?'}]`
  return type.name ?? '?'
}

/** The type without its wrappers. */
export const namedType = (type: TypeRef): TypeRef => (type.ofType ? namedType(type.ofType) : type)

/** Returns the types that match: first those whose name matches, then those with a matching field, argument or value. */
export function searchTypes(types: readonly SchemaType[], search: string): SchemaType[] {
  const text = search.trim().toLowerCase()
  if (text === '') return [...types]
  const matches = ({ name }: { name: string }) => name.toLowerCase().includes(text)
  const hasMatchInside = ({ fields, values }: SchemaType) =>
    values.some(matches) || fields.some((field) => matches(field) || field.args.some(matches))
  return [...types.filter(matches), ...types.filter((type) => !matches(type) && hasMatchInside(type))]
}

/** Returns a query that works without arguments: the first list of objects, with up to three fields. */
export function exampleQuery({ types, operations }: Schema): string {
  const query = types.find(({ name }) => name === operations[0])
  for (const field of query?.fields ?? []) {
    if (!typeText(field.type).includes('[') || field.args.some(({ type }) => type.kind === 'NON_NULL')) continue
    const item = types.find(({ name }) => name === namedType(field.type).name)
    const fields = (item?.fields ?? [])
      .filter(({ type, args }) => ['SCALAR', 'ENUM'].includes(namedType(type).kind) && args.length === 0)
      .slice(0, 3)
    if (fields.length === 0) continue
    const limit = field.args.some(({ name }) => name === 'limit') ? '(limit: 10)' : ''
    return `{\n  ${field.name}${limit} {\n${fields.map(({ name }) => `    ${name}\n`).join('')}  }\n}`
  }
  return '{\n  __typename\n}'
}
