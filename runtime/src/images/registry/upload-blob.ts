import type { Readable } from 'node:stream'
import { RegistryError } from './registry-error.ts'
import { type RegistryHttp, type RegistryResponse, delay, isTemporary } from './registry-http.ts'

/** Content to upload. `open` returns the bytes from `start` to the end. */
export type BlobContent = { digest: string; size: number; open: (start: number) => Readable }

const ATTEMPTS = 5
const FIRST_DELAY_MS = 500

/**
 * Uploads a blob as a stream. After an interruption it asks how much has arrived and continues from there, or begins a new upload if
 * the registry no longer knows this one.
 * @throws RegistryError
 */
export async function uploadBlob(
  http: RegistryHttp,
  { repository, host, signal }: { repository: string; host: string; signal: AbortSignal },
  content: BlobContent,
): Promise<void> {
  const purpose = `push a layer to ${host}/${repository}`
  const shared = { purpose, scopes: [`repository:${repository}:pull,push`], signal }
  const begin = async (): Promise<string> =>
    locationOf(
      purpose,
      await http.send({
        ...shared,
        method: 'POST',
        url: `/v2/${repository}/blobs/uploads/`,
        headers: { 'content-length': '0' },
      }),
    )
  let url = await begin()
  let offset = 0
  for (let attempt = 1; ; attempt++) {
    try {
      if (offset < content.size) url = await sendRest(url, offset)
      offset = content.size
      await finish(url)
      return
    } catch (error) {
      signal.throwIfAborted()
      const isUnknown = error instanceof RegistryError && [404, 416].includes(error.status)
      if (attempt === ATTEMPTS || !(isUnknown || isTemporary(error))) throw error
      await delay(FIRST_DELAY_MS * 2 ** (attempt - 1), signal)
      const state = isUnknown ? null : await stateOf(url)
      url = state?.url ?? (await begin())
      offset = state?.offset ?? 0
    }
  }

  async function sendRest(to: string, start: number): Promise<string> {
    const body: { stream: Readable | null } = { stream: null }
    try {
      const response = await http.send({
        ...shared,
        method: 'PATCH',
        url: to,
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(content.size - start),
          // Registries differ in whether they accept a range for content that arrives in one piece.
          ...(start === 0 ? {} : { 'content-range': `${start}-${content.size - 1}` }),
        },
        body: () => (body.stream = content.open(start)),
        isRepeated: false,
      })
      return locationOf(purpose, response)
    } finally {
      body.stream?.destroy()
    }
  }

  async function finish(to: string): Promise<void> {
    const target = new URL(to)
    target.searchParams.set('digest', content.digest)
    const response = await http.send({
      ...shared,
      method: 'PUT',
      url: target.href,
      headers: { 'content-length': '0', 'content-type': 'application/octet-stream' },
      isRepeated: false,
    })
    await response.body.dump()
  }

  /** Returns null if the registry does not know the upload. */
  async function stateOf(of: string): Promise<{ url: string; offset: number } | null> {
    const response = await http.send({ ...shared, method: 'GET', url: of, accepts: [400, 404, 405] })
    await response.body.dump()
    if (response.status >= 400) return null
    // `0-0` is what registries answer for an upload without bytes.
    const last = Number(/(\d+)$/.exec(response.headers['range'] ?? '')?.[1] ?? 0)
    return { url: new URL(response.headers['location'] ?? of, of).href, offset: last === 0 ? 0 : last + 1 }
  }
}

/** @throws RegistryError if the response does not say where to continue */
function locationOf(purpose: string, { headers, url, body }: RegistryResponse): string {
  void body.dump().catch(() => undefined)
  const { location } = headers
  if (location === undefined)
    throw new RegistryError(`Could not ${purpose}: the registry did not return a location`, { status: 200 })
  return new URL(location, url).href
}
