import http, { type IncomingMessage } from 'node:http'
import https, { type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import type { KubeConfig } from '@kubernetes/client-node'
import type { KubeObject, NewObject } from '../objects/object-types.ts'
import { ClusterUnreachable, KubeError } from './kube-error.ts'
import { type ObjectKind, kindOf, objectPath } from './kinds.ts'

const FIELD_MANAGER = 'shoal'
const DEADLINE_MS = 15_000
const PAGE_SIZE = 500

export type Query = Record<string, string>
export type KubeList<T> = { metadata: { resourceVersion: string; continue?: string }; items: T[] }

type Request = { method: string; path: string; query?: Query; body?: unknown; type?: string }

/**
 * Sends requests to an API server: server-side apply, create, delete, list, and streams for watches and logs. Every method throws
 * `KubeError` if the server refuses the request, and `ClusterUnreachable` if it does not respond in time.
 */
export class KubeClient {
  readonly #config: KubeConfig
  readonly #agents = [new http.Agent({ keepAlive: true }), new https.Agent({ keepAlive: true })] as const
  readonly #url: URL
  readonly #hasProxy: boolean

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster()
    if (!cluster) throw new Error('The kubeconfig has no current context with a cluster')
    this.#config = config
    this.#url = new URL(cluster.server)
    this.#hasProxy = Boolean(cluster.proxyUrl)
  }

  /** Creates the object, or changes it to contain these fields, which `manager` then owns. */
  apply<T extends KubeObject>(object: NewObject, manager = FIELD_MANAGER): Promise<T> {
    const query = { fieldManager: manager, force: 'true' }
    return this.#json({
      method: 'PATCH',
      path: pathOf(object),
      query,
      body: object,
      type: 'application/apply-patch+yaml',
    })
  }

  /** Creates the object. @throws KubeError `AlreadyExists` */
  create<T extends KubeObject>(object: NewObject): Promise<T> {
    const path = objectPath(kindOf(object), object.metadata.namespace)
    return this.#json({ method: 'POST', path, query: { fieldManager: FIELD_MANAGER }, body: object })
  }

  /**
   * Deletes the object, by default after everything it owns. Returns its last state; null if it does not exist.
   * With `gracePeriodSeconds` 0, a pod is deleted even if its host cannot confirm that it has ended.
   */
  async delete(
    kind: ObjectKind,
    namespace: string | undefined,
    name: string,
    options: { propagationPolicy?: 'Foreground' | 'Background'; gracePeriodSeconds?: number } = {},
  ): Promise<KubeObject | null> {
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Foreground', ...options }
    try {
      return await this.#json({ method: 'DELETE', path: objectPath(kind, namespace, name), body })
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return null
      throw error
    }
  }

  /** Lists all objects, of all namespaces unless one is given. The list is consistent, and not older than this call. */
  async list<T extends KubeObject>(
    kind: ObjectKind,
    query: Query,
    namespace?: string,
    signal?: AbortSignal,
  ): Promise<KubeList<T>> {
    const items: T[] = []
    let next = ''
    for (;;) {
      const page: KubeList<T> = await this.#json(
        {
          method: 'GET',
          path: objectPath(kind, namespace),
          query: { ...query, limit: String(PAGE_SIZE), ...(next ? { continue: next } : {}) },
        },
        signal,
      )
      items.push(...page.items)
      next = page.metadata.continue ?? ''
      if (next === '') return { metadata: page.metadata, items }
    }
  }

  /** Sends a POST request that stores no object, such as an access review. */
  review<T>(path: string, body: unknown): Promise<T> {
    return this.#json({ method: 'POST', path, body })
  }

  /** Reads a resource that is not in JSON, such as a log. */
  async readText(path: string, query: Query): Promise<string> {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    return await text(await this.open(path, query, signal)).catch((error) => unreachable(this.#url, error))
  }

  /**
   * Opens a stream. Abort `signal` to end it. TCP keepalive detects a lost connection within a minute, even if no data is sent.
   */
  async open(path: string, query: Query, signal: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#send({ method: 'GET', path, query }, signal)
    if (response.statusCode === 200) return response
    throw errorOf(response, await text(response).catch(() => ''))
  }

  /** Ends idle connections. */
  close(): void {
    for (const agent of this.#agents) agent.destroy()
  }

  async #json<T>(request: Request, signal?: AbortSignal): Promise<T> {
    const deadline = AbortSignal.timeout(DEADLINE_MS)
    const response = await this.#send(request, signal ? AbortSignal.any([deadline, signal]) : deadline)
    const body = await text(response).catch((error) => unreachable(this.#url, error))
    if ((response.statusCode ?? 500) >= 300) throw errorOf(response, body)
    return JSON.parse(body) as T
  }

  async #send({ method, path, query, body, type }: Request, signal: AbortSignal): Promise<IncomingMessage> {
    const options: RequestOptions = { headers: {} }
    await this.#config.applyToHTTPSOptions(options)
    const isTls = this.#url.protocol === 'https:'
    if (!this.#hasProxy) options.agent = isTls ? this.#agents[1] : this.#agents[0]
    const url = new URL(`${this.#url.pathname.replace(/\/$/, '')}${path}`, this.#url)
    for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
    const content = body === undefined ? '' : JSON.stringify(body)
    const headers = {
      ...(options.headers as Record<string, string>),
      accept: 'application/json',
      // For a DELETE request, Node does not set `content-length` itself.
      ...(body === undefined
        ? {}
        : { 'content-type': type ?? 'application/json', 'content-length': String(Buffer.byteLength(content)) }),
    }
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const request = (isTls ? https : http).request(url, { ...options, method, headers, signal })
      request.on('socket', (socket) => socket.setKeepAlive(true, 15_000))
      request.on('response', resolve)
      request.on('error', reject)
      request.end(content)
    }).catch((error) => unreachable(this.#url, error))
  }
}

const pathOf = (object: NewObject): string =>
  objectPath(kindOf(object), object.metadata.namespace, object.metadata.name)

function unreachable(url: URL, cause: unknown): never {
  const reason = cause instanceof Error ? cause.message : String(cause)
  throw new ClusterUnreachable(`The cluster's API server at ${url.host} does not respond: ${reason}`, { cause })
}

function errorOf(response: IncomingMessage, body: string): KubeError {
  const status = response.statusCode ?? 500
  try {
    const { reason, message } = JSON.parse(body) as { reason?: string; message?: string }
    return new KubeError(status, reason ?? '', message ?? body)
  } catch {
    return new KubeError(status, '', body.trim() || `HTTP status ${status}`)
  }
}
