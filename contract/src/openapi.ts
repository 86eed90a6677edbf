import { z } from 'zod'
import { endpointsOf, isForOperators, type Areas, type Endpoint } from './endpoint.ts'
import { ErrorBody } from './errors.ts'

/**
 * Endpoints that the product's specification names without `/v1`. The document lists them under both paths; the server accepts every path
 * with and without it.
 */
const withShortPath = ['user.get', 'user.completeOnboarding', 'auth.signIn']

type Json = Record<string, unknown>

/**
 * Returns an OpenAPI 3.1 document of all endpoints except those for operators. `x-access` and `x-token-scope` contain the
 * endpoint's `access` and `scope`. The paths are generated on first use, because generating them would delay the start of
 * the server considerably.
 */
export function openApi(areas: Areas, version: string): Json {
  let paths: Record<string, Json> | null = null
  return {
    openapi: '3.1.0',
    info: {
      title: 'Shoal',
      version,
      description:
        'A self-hosted cloud for squids. Unknown query parameters are rejected, except by public endpoints, which ignore them.',
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
    get paths() {
      return (paths ??= pathsOf(areas))
    },
  }
}

function pathsOf(areas: Areas): Record<string, Json> {
  const paths: Record<string, Json> = {}
  for (const [name, endpoint] of endpointsOf(areas)) {
    if (isForOperators(endpoint)) continue
    const method = endpoint.method.toLowerCase()
    ;(paths[`/api${endpoint.path}`] ??= {})[method] = operation(name, endpoint)
    if (withShortPath.includes(name))
      (paths[`/api${endpoint.path.replace('/v1', '')}`] ??= {})[method] = {
        ...operation(name, endpoint),
        operationId: `${name}.short`,
      }
  }
  return paths
}

function operation(name: string, endpoint: Endpoint): Json {
  const [area = ''] = name.split('.')
  return {
    operationId: name,
    tags: [area],
    summary: endpoint.summary,
    'x-access': endpoint.access,
    ...(endpoint.scope && { 'x-token-scope': endpoint.scope }),
    ...(endpoint.access === 'public' ? {} : { security: [{ token: [] }] }),
    parameters: [...parameters('path', endpoint.params), ...parameters('query', endpoint.query)],
    ...requestBody(endpoint),
    responses: {
      [endpoint.status]: success(endpoint),
      default: { description: 'Rejected or failed', content: content({ $ref: '#/components/schemas/Error' }) },
    },
  }
}

function parameters(where: 'path' | 'query', schema: z.ZodType): Json[] {
  const { properties = {}, required = [] } = jsonSchema(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([key, property]) => ({
    name: property['type'] === 'array' ? `${key}[]` : key,
    in: where,
    required: where === 'path' || required.includes(key),
    schema: property,
  }))
}

function requestBody(endpoint: Endpoint): Json {
  if (endpoint.kind === 'upload')
    return {
      requestBody: {
        content: {
          'multipart/form-data': {
            schema: { type: 'object', properties: { file: { type: 'string', format: 'binary' } } },
          },
        },
      },
    }
  if (endpoint.body instanceof z.ZodUndefined) return {}
  return { requestBody: { content: content(jsonSchema(endpoint.body, 'input')) } }
}

function success(endpoint: Endpoint): Json {
  if (endpoint.kind === 'file') return { description: 'A file or a redirect' }
  const payload = jsonSchema(endpoint.payload, 'output')
  if (endpoint.kind === 'lines')
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
