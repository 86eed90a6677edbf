import { contract, openApi } from '@shoal/contract'
import { apiAreas } from './areas.ts'
import { schemaText, type Schema } from './schema-text.ts'

type Operation = {
  operationId: string
  tags: string[]
  summary: string
  'x-access': string
  'x-token-scope'?: string
  parameters: { name: string; in: 'path' | 'query'; required: boolean; schema: Schema; description?: string }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

const paths = openApi(contract, '')['paths'] as Record<string, Record<string, Operation>>

/**
 * Returns the Markdown of the page about one area of the API, with those of its endpoints that the server's OpenAPI document contains.
 * Omits the second entry of an endpoint, which has a path without `/v1` (`.short`).
 */
export function areaPage(area: string): string {
  const title = apiAreas.find(({ name }) => name === area)?.title ?? area
  const sections = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.tags.includes(area) && !operation.operationId.endsWith('.short'))
      .map(([method, operation]) => section(method, path, operation)),
  )
  return [`# ${title} API`, ...sections].join('\n\n')
}

const accessTexts: Record<string, string> = {
  public: 'everyone, without a token',
  user: 'signed-in users',
  verified: 'users with a confirmed email',
  member: 'members of the organization',
}

function section(method: string, path: string, operation: Operation): string {
  const { operationId, summary, parameters } = operation
  const scope = operation['x-token-scope']
  const access = accessTexts[operation['x-access']] ?? `members with the permission \`${operation['x-access']}\``
  const inQuery = (parameters ?? []).filter((parameter) => parameter.in === 'query')
  const body = Object.entries(operation.requestBody?.content ?? {})
  const [status = '200', response] = Object.entries(operation.responses)[0] ?? []
  const [responseType, payload] = Object.entries(response?.content ?? {})[0] ?? []
  return [
    `## ${escapeText(summary.replace(/\.$/, ''))} {#${operationId.replaceAll('.', '-').toLowerCase()}}`,
    `\`\`\`http\n${method.toUpperCase()} ${path}\n\`\`\``,
    `For ${access}.${scope === 'session' ? ' API tokens are not accepted.' : scope ? ` API tokens need the scope \`${scope}\`.` : ''}`,
    ...(inQuery.length > 0 ? [`**Query**\n\n${parameterTable(inQuery)}`] : []),
    ...body.map(([type, { schema }]) => `**Body** (\`${type}\`)\n\n\`\`\`ts\n${schemaText(schema)}\n\`\`\``),
    ...(payload
      ? [`**Response** ${status} (\`${responseType}\`)\n\n\`\`\`ts\n${schemaText(payload.schema)}\n\`\`\``]
      : []),
  ].join('\n\n')
}

function parameterTable(parameters: Operation['parameters']): string {
  const rows = parameters.map(({ name, required, schema }) => {
    const type = schemaText(schema).replaceAll('|', '\\|').replaceAll('\n', ' ')
    return `| \`${name}\`${required ? '' : ' (optional)'} | \`${type}\` | ${escapeText(schema.description ?? '')} |`
  })
  return ['| name | type | note |', '|---|---|---|', ...rows].join('\n')
}

const escapeText = (text: string) => text.replaceAll(/<(?=[a-z])/gi, '&lt;').replaceAll('{{', '&#123;&#123;')
