import { z } from 'zod'
import { endpointsOf, type Areas, type Endpoint } from './endpoint.ts'
import { ErrorBody } from './errors.ts'

/** Endpoints whose path has no `/v1` in the specification. (The server accepts all paths without it.) */
const withoutVersion = ['user.get', 'user.completeOnboarding', 'auth.signIn']

type Json = Record<string, unknown>

/** Returns an OpenAPI 3.1 document of all endpoints; `x-access` contains the endpoint's `access`. */
export function openApi(areas: Areas, version: string): Json {
  const paths: Record<string, Json> = {}
  for (const [name, e] of endpointsOf(areas)) {
    const method = e.method.toLowerCase()
    ;(paths[`/api${e.path}`] ??= {})[method] = operation(name, e)
    if (withoutVersion.includes(name))
      (paths[`/api${e.path.replace('/v1', '')}`] ??= {})[method] = {
        ...operation(name, e),
        operationId: `${name}.short`,
      }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Shoal',
      version,
      description: 'A cloud for squids that anyone can run. Unknown query parameters are refused.',
    },
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: '`Bearer` or `token` followed by a session token or an API token',
        },
      },
      schemas: { Error: jsonSchema(ErrorBody, 'output') },
    },
    paths,
  }
}

function operation(name: string, e: Endpoint): Json {
  const [area = ''] = name.split('.')
  return {
    operationId: name,
    tags: [area],
    summary: e.summary,
    'x-access': e.access,
    ...(e.access === 'public' ? {} : { security: [{ token: [] }] }),
    parameters: [...parameters('path', e.params), ...parameters('query', e.query)],
    ...requestBody(e),
    responses: {
      [e.status]: success(e),
      default: { description: 'Refused or failed', content: content({ $ref: '#/components/schemas/Error' }) },
    },
  }
}

function parameters(where: 'path' | 'query', schema: z.ZodType): Json[] {
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([key, s]) => ({
    name: s['type'] === 'array' ? `${key}[]` : key,
    in: where,
    required: where === 'path' || required.includes(key),
    schema: s,
  }))
}

function requestBody(e: Endpoint): Json {
  if (e.kind === 'upload')
    return {
      requestBody: {
        content: {
          'multipart/form-data': {
            schema: { type: 'object', properties: { file: { type: 'string', format: 'binary' } } },
          },
        },
      },
    }
  if (e.body instanceof z.ZodUndefined) return {}
  return { requestBody: { content: content(jsonSchema(e.body, 'input')) } }
}

function success(e: Endpoint): Json {
  if (e.kind === 'file') return { description: 'A file or a redirect' }
  const payload = jsonSchema(e.payload, 'output')
  if (e.kind === 'lines')
    return {
      description: 'Lines, each a JSON array',
      content: { 'application/x-ndjson': { schema: { type: 'array', items: payload } } },
    }
  return { description: 'Done', content: content({ type: 'object', required: ['payload'], properties: { payload } }) }
}

const content = (schema: Json): Json => ({ 'application/json': { schema } })

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}
