import type { Readable } from 'node:stream'
import { RegistryError } from './registry-error.ts'
import { type RegistryHttp, type RegistryResponse, delay, isTemporary } from './registry-http.ts'

/** Content to upload. `open` is called once for each attempt. */
export type BlobContent = { digest: string; size: number; open: () => Readable }

export type UploadTarget = { repository: string; host: string; signal: AbortSignal }

const ATTEMPTS = 5
const FIRST_DELAY_MS = 500

/**
 * Uploads a blob as a stream, with bounded memory. An interrupted upload starts again from the beginning, because registries discard
 * the received part or the URL of the upload.
 * @throws RegistryError
 */
export async function uploadBlob(http: RegistryHttp, target: UploadTarget, content: BlobContent): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await uploadOnce(http, target, content)
      return
    } catch (error) {
      target.signal.throwIfAborted()
      // The registry may have restarted and lost the upload.
      const isUploadLost = error instanceof RegistryError && [404, 416].includes(error.status)
      if (attempt === ATTEMPTS || !(isUploadLost || isTemporary(error))) throw error
    }
    await delay(FIRST_DELAY_MS * 2 ** (attempt - 1), target.signal)
  }
}

async function uploadOnce(
  http: RegistryHttp,
  { repository, host, signal }: UploadTarget,
  { digest, size, open }: BlobContent,
): Promise<void> {
  const purpose = `push a layer to ${host}/${repository}`
  const shared = { purpose, scopes: [`repository:${repository}:pull,push`], signal }
  const emptyBody = { 'content-length': '0' }
  const opened = await http.send({
    ...shared,
    method: 'POST',
    url: `/v2/${repository}/blobs/uploads/`,
    headers: emptyBody,
  })
  const bodies: Readable[] = []
  try {
    const sent = await http.send({
      ...shared,
      method: 'PATCH',
      url: await nextUrl(purpose, opened),
      headers: { 'content-type': 'application/octet-stream', 'content-length': String(size) },
      body: () => {
        const body = open()
        bodies.push(body)
        return body
      },
      mayRetry: false,
    })
    const end = new URL(await nextUrl(purpose, sent))
    end.searchParams.set('digest', digest)
    const completed = await http.send({ ...shared, method: 'PUT', url: end.href, headers: emptyBody, mayRetry: false })
    await completed.body.dump()
  } finally {
    for (const body of bodies) body.destroy()
  }
}

/** Discards the body, and returns the URL at which the upload continues. @throws RegistryError if the response has none */
async function nextUrl(purpose: string, { headers, url, body }: RegistryResponse): Promise<string> {
  await body.dump()
  const { location } = headers
  if (location !== undefined) return new URL(location, url).href
  throw new RegistryError(`Could not ${purpose}: the registry did not return a location`, { status: 200 })
}
